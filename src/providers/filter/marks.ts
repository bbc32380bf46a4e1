/** The marks that models write into their text: where thoughts, tool calls and turns begin and end. */

/** Begins a call, or text for everyone. */
export const FUNCTIONARY = '>>>';

export const FOR_ALL = 'all\n';

/** How calls begin and end; without an end, where their first bracket closes. `atLine`: only where a line begins. */
type CallSyntax = readonly [openings: readonly string[], closings: readonly string[], atLine?: true];

/**
 * Hermes, Qwen, ERNIE, EXAONE 4, SmolLM3, Granite 4, Cogito, Step 3.5, MiMo, GLM (`tool_call`); Jamba, Hunyuan, MiniMax
 * M1, Apriel (`tool_calls`); Granite 20B; Olmo 3, Claude-like (`function_calls`); DeepSeek V3.2 and V4, GigaChat 3.5;
 * MiniMax M2, Seed-OSS, LongCat, Nemotron, MiroThinker.
 */
const CALL_TAGS = [
  'tool_call tool_calls function_call function_calls ｜DSML｜function_calls ｜DSML｜tool_calls ｜GCML｜tool_calls',
  'minimax:tool_call seed:tool_call longcat_tool_call TOOLCALL toolcall use_mcp_tool',
];

const CALL_SYNTAXES: readonly CallSyntax[] = [
  ...words(CALL_TAGS).map((name): CallSyntax => [[`<${name}>`], [`</${name}>`]]),
  // Granite 3, Phi-4-mini.
  [['<|tool_call|>'], ['<|/tool_call|>']],
  // Llama 3.1, Functionary 3.1, Qwen-coder without its wrapper; MiniCPM5; Claude-like.
  [['<function=', '<function name='], ['</function>']],
  [['<invoke name='], ['</invoke>']],
  // GigaChat 3.
  [['<|function_call|>'], ['<|message_sep|>']],
  [['function call<|role_sep|>'], ['<|message_sep|>'], true],
  // Llama 3.1 and 4.
  [['<|python_tag|>'], ['<|eom_id|>', '<|eot_id|>']],
  [['<|python_start|>'], ['<|python_end|>']],
  // Mistral.
  [['[TOOL_CALLS]'], ['</s>']],
  // DeepSeek up to V3.1, as it writes its own tokens and as it spells them; Step 3.
  [
    ['▁', '_', ' ', '\\_'].map((gap) => `<｜tool${gap}calls${gap}begin｜>`).concat('<｜tool▁calls｜>'),
    ['▁', '_', ' ', '\\_'].map((gap) => `<｜tool${gap}calls${gap}end｜>`),
  ],
  [['<｜tool▁call▁begin｜>'], ['<｜tool▁call▁end｜>']],
  // Kimi K2, Kimi K3.
  [['<|tool_calls_section_begin|>'], ['<|tool_calls_section_end|>']],
  [['<|tool_call_begin|>'], ['<|tool_call_end|>']],
  [['<|open|>tools<|sep|>'], ['<|close|>tools<|sep|>']],
  // MiniMax M3.
  [[']<]minimax[>[<tool_call>'], [']<]minimax[>[</tool_call>']],
  // FireFunction, Phi-4-mini.
  [['functools['], []],
  // Command R7B and A; Command R.
  [['<|START_ACTION|>'], ['<|END_ACTION|>']],
  [['Action: ```json', 'Action:```json', 'Action:\n```json'], ['```'], true],
  // FunctionGemma, Gemma 4.
  [['<start_function_call>'], ['<end_function_call>']],
  [['<|tool_call>'], ['<tool_call|>']],
  // LM Studio's own prompt for models without tools.
  [['[TOOL_REQUEST]'], ['[END_TOOL_REQUEST]']],
  // InternLM, Intern-S1; LFM2, MiniCPM 3 and 4; Pangu; Apertus.
  [['<|action_start|>'], ['<|action_end|>']],
  [['<|tool_call_start|>'], ['<|tool_call_end|>']],
  [['[unused11]'], ['[unused12]']],
  [['<|tools_prefix|>'], ['<|tools_suffix|>']],
  // Functionary 3.2 and 2.
  [[FUNCTIONARY], []],
  [['<|from|>assistant', '<|from|> assistant'], [], true],
  // CWM, Solar, PLaMo, Inkling, HyperCLOVA X, Qwen-Agent.
  [['<tool: '], ['</tool>']],
  [['<|tool_call:start|>'], ['<|tool_call:end|>']],
  [['<|plamo:begin_tool_requests:plamo|>'], ['<|plamo:end_tool_requests:plamo|>']],
  [['<|content_invoke_tool_json|>', '<|message_model|>'], ['<|end_message|>']],
  [['-> tool/function_call'], [], true],
  [['✿FUNCTION✿'], []],
];

function words(lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.split(' '));
}

/** What a mark means where it counts. */
export type Mark =
  /** A thought begins; it ends at one of `until`. */
  | { kind: 'thought'; literal: string; until: readonly string[] }
  /** The end of a thought whose beginning was part of the template. */
  | { kind: 'end_of_thought'; literal: string }
  /** The text of tool calls begins; it ends at one of `until`, or without any where its first bracket closes, or with the answer. */
  | { kind: 'calls'; literal: string; until: readonly string[]; atLine: true | undefined }
  /** A remainder of calls that have already been read. */
  | { kind: 'end_of_calls'; literal: string }
  /** The text of the answer begins, which ends with `end`, if that is written. */
  | { kind: 'wrapper'; literal: string; end: string }
  | { kind: 'end_of_wrapper'; literal: string }
  /** The model ends its turn. */
  | { kind: 'end_of_turn'; literal: string }
  /** Someone else's turn openings: the model continued on its own. */
  | { kind: 'role'; literal: string }
  /** A header of the harmony format begins (gpt-oss); `<|message|>` ends it. */
  | { kind: 'header'; literal: string }
  | { kind: 'end_of_header'; literal: string }
  /** Means nothing, but shows that the answer talks about markup. */
  | { kind: 'mention'; literal: string };

const THOUGHTS: readonly (Mark & { kind: 'thought' })[] = [
  ...['think', 'thinking', 'thought', 'reasoning', 'seed:think'].map((name) => ({
    kind: 'thought' as const,
    literal: `<${name}>`,
    until: [`</${name}>`],
  })),
  // Magistral; Kimi; MedGemma; Gemma 4; Cohere.
  { kind: 'thought', literal: '[THINK]', until: ['[/THINK]'] },
  { kind: 'thought', literal: '◁think▷', until: ['◁/think▷'] },
  { kind: 'thought', literal: '<unused94>thought', until: ['<unused95>'] },
  { kind: 'thought', literal: '<|channel>thought', until: ['<channel|>'] },
  { kind: 'thought', literal: '<|START_THINKING|>', until: ['<|END_THINKING|>'] },
  // Apertus; Kimi K3.
  { kind: 'thought', literal: '<|inner_prefix|>', until: ['<|inner_suffix|>'] },
  { kind: 'thought', literal: '<|open|>think<|sep|>', until: ['<|close|>think<|sep|>'] },
];

/** What ends a thought whose opening tag the template holds. */
export const ENDS_OF_THOUGHT = marksOf(
  'end_of_thought',
  THOUGHTS.flatMap(({ until }) => until),
);

export const CALLS: readonly (Mark & { kind: 'calls' })[] = CALL_SYNTAXES.flatMap(
  ([openings, until, atLine]) =>
    openings.map((literal) => ({ kind: 'calls' as const, literal, until, atLine })),
);

const TURN_ENDINGS = words([
  '<|im_end|> <|eot_id|> <|eom_id|> <|end|> <|return|> <|call|> <|endoftext|> <|end_of_text|>',
  '<|end_of_turn|> <|END_OF_TURN_TOKEN|> <end_of_turn> <turn|> <eos> </s> <｜end▁of▁sentence｜>',
  '<|endofresponse|> <|end_of_role|> [/INST] <|eot|> <|END_RESPONSE|> <|END_TEXT|> <|assistant_end|>',
  '<|end_of_msg|> <|close|>response<|sep|> <|close|>message<|sep|> <|message_sep|> <seed:eos> [e~[',
  '<|plamo:tag|> <|stop|>',
]);

const ENDS_OF_TURN = marksOf('end_of_turn', TURN_ENDINGS);

/** What is left of calls that were read: the ends of syntaxes within others. */
const ENDS_OF_CALLS = marksOf(
  'end_of_calls',
  [...CALL_SYNTAXES.flatMap(([, closings]) => closings), '[/TOOL_CALLS]'].filter(
    (literal) => literal !== '```' && !TURN_ENDINGS.includes(literal),
  ),
);

/** What some templates put around the text of an answer. */
const WRAPPERS: readonly Mark[] = [
  // ERNIE 4.5; Command R7B and A, unless their template begins it; Kimi K3.
  ['<response>', '</response>'],
  ['<|START_RESPONSE|>', '<|END_RESPONSE|>'],
  ['<|START_TEXT|>', '<|END_TEXT|>'],
  ['<|open|>response<|sep|>', '<|close|>response<|sep|>'],
].map(([literal = '', end = '']) => ({ kind: 'wrapper', literal, end }));

const ROLES = marksOf(
  'role',
  words([
    '<|im_start|> <|start_header_id|> <start_of_turn> <|turn> <|user|> <｜User｜> [INST]',
    '<|start_of_role|>',
  ]),
);

const HEADERS = marksOf('header', ['<|start|>', '<|channel|>']);

/** Marks of a kind that says it all. */
function marksOf(
  kind: 'end_of_thought' | 'end_of_turn' | 'end_of_calls' | 'role' | 'header' | 'mention',
  literals: readonly string[],
): readonly Mark[] {
  return literals.map((literal) => ({ kind, literal }));
}

/** Before any of the answer was written. */
export const AT_START: readonly Mark[] = [
  ...WRAPPERS,
  ...THOUGHTS,
  ...ENDS_OF_THOUGHT,
  ...HEADERS,
  ...CALLS,
  ...ENDS_OF_CALLS,
  ...ENDS_OF_TURN,
];
/** In the text of the answer, where a line begins. */
export const AT_LINE: readonly Mark[] = [
  ...CALLS,
  ...ENDS_OF_CALLS,
  ...ENDS_OF_TURN,
  ...ENDS_OF_THOUGHT,
  { kind: 'end_of_wrapper', literal: '</response>' },
  ...marksOf('mention', THOUGHTS.map(({ literal }) => literal).concat('<s>')),
];
/** In the text of the answer, elsewhere. */
export const IN_TEXT: readonly Mark[] = AT_LINE.filter((mark) => !('atLine' in mark && mark.atLine === true));
/** After the end of a turn. */
export const AFTER_TURN: readonly Mark[] = [
  ...ENDS_OF_TURN,
  ...ROLES,
  ...HEADERS,
  ...CALLS,
  ...ENDS_OF_CALLS,
];

/** The end of a harmony header. */
export const END_OF_HEADER: readonly Mark[] = [{ kind: 'end_of_header', literal: '<|message|>' }];

/** What a harmony message of the given recipient or channel ends with. */
export const ENDS_OF_MESSAGE = ['<|end|>', '<|call|>', '<|return|>', '<|start|>', '<|channel|>'] as const;
