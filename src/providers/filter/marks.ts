/** The marks that models write into their text: where thoughts, tool calls and turns begin and end. */

interface CallSyntax {
  openings: readonly string[];
  /** Without any, it ends where its first bracket closes. */
  closings: readonly string[];
  /** It counts only where a line begins. */
  atLine?: true;
}

/** Begins a call, or text for everyone. */
export const FUNCTIONARY = '>>>';

export const FOR_ALL = 'all\n';

const CALL_SYNTAXES: readonly CallSyntax[] = [
  // Hermes, Qwen, ERNIE, EXAONE 4, SmolLM3, Granite 4, Cogito; with tags inside: Qwen-coder, Step 3.5, MiMo; with pairs: GLM.
  { openings: ['<tool_call>'], closings: ['</tool_call>'] },
  // Jamba, Hunyuan, MiniMax M1, Apriel.
  { openings: ['<tool_calls>'], closings: ['</tool_calls>'] },
  // Granite 3, Phi-4-mini.
  { openings: ['<|tool_call|>'], closings: ['<|/tool_call|>'] },
  // Llama 3.1, Functionary 3.1, Qwen-coder without its wrapper; MiniCPM5.
  { openings: ['<function=', '<function name='], closings: ['</function>'] },
  // Granite 20B; GigaChat 3.
  { openings: ['<function_call>'], closings: ['</function_call>'] },
  { openings: ['<|function_call|>'], closings: ['<|message_sep|>'] },
  { openings: ['function call<|role_sep|>'], closings: ['<|message_sep|>'], atLine: true },
  // Olmo 3, Claude-like.
  { openings: ['<function_calls>'], closings: ['</function_calls>'] },
  { openings: ['<invoke name='], closings: ['</invoke>'] },
  // Llama 3.1 and 4.
  { openings: ['<|python_tag|>'], closings: ['<|eom_id|>', '<|eot_id|>'] },
  { openings: ['<|python_start|>'], closings: ['<|python_end|>'] },
  // Mistral.
  { openings: ['[TOOL_CALLS]'], closings: ['</s>'] },
  // DeepSeek up to V3.1, as it writes its own tokens and as it spells them; Step 3.
  {
    openings: [
      '<｜tool▁calls▁begin｜>',
      '<｜tool_calls_begin｜>',
      '<｜tool calls begin｜>',
      '<｜tool\\_calls\\_begin｜>',
      '<｜tool▁calls｜>',
    ],
    closings: [
      '<｜tool▁calls▁end｜>',
      '<｜tool_calls_end｜>',
      '<｜tool calls end｜>',
      '<｜tool\\_calls\\_end｜>',
    ],
  },
  { openings: ['<｜tool▁call▁begin｜>'], closings: ['<｜tool▁call▁end｜>'] },
  // DeepSeek V3.2 and V4, GigaChat 3.5.
  { openings: ['<｜DSML｜function_calls>'], closings: ['</｜DSML｜function_calls>'] },
  { openings: ['<｜DSML｜tool_calls>'], closings: ['</｜DSML｜tool_calls>'] },
  { openings: ['<｜GCML｜tool_calls>'], closings: ['</｜GCML｜tool_calls>'] },
  // Kimi K2, Kimi K3.
  { openings: ['<|tool_calls_section_begin|>'], closings: ['<|tool_calls_section_end|>'] },
  { openings: ['<|tool_call_begin|>'], closings: ['<|tool_call_end|>'] },
  { openings: ['<|open|>tools<|sep|>'], closings: ['<|close|>tools<|sep|>'] },
  // MiniMax M2 and M3, Seed-OSS, LongCat.
  { openings: ['<minimax:tool_call>'], closings: ['</minimax:tool_call>'] },
  { openings: [']<]minimax[>[<tool_call>'], closings: [']<]minimax[>[</tool_call>'] },
  { openings: ['<seed:tool_call>'], closings: ['</seed:tool_call>'] },
  { openings: ['<longcat_tool_call>'], closings: ['</longcat_tool_call>'] },
  // Nemotron.
  { openings: ['<TOOLCALL>'], closings: ['</TOOLCALL>'] },
  { openings: ['<toolcall>'], closings: ['</toolcall>'] },
  // FireFunction, Phi-4-mini.
  { openings: ['functools['], closings: [] },
  // Command R7B and A; Command R.
  { openings: ['<|START_ACTION|>'], closings: ['<|END_ACTION|>'] },
  { openings: ['Action: ```json', 'Action:```json', 'Action:\n```json'], closings: ['```'], atLine: true },
  // FunctionGemma, Gemma 4.
  { openings: ['<start_function_call>'], closings: ['<end_function_call>'] },
  { openings: ['<|tool_call>'], closings: ['<tool_call|>'] },
  // LM Studio's own prompt for models without tools.
  { openings: ['[TOOL_REQUEST]'], closings: ['[END_TOOL_REQUEST]'] },
  // InternLM, Intern-S1.
  { openings: ['<|action_start|>'], closings: ['<|action_end|>'] },
  // LFM2, MiniCPM 3 and 4; Pangu.
  { openings: ['<|tool_call_start|>'], closings: ['<|tool_call_end|>'] },
  { openings: ['[unused11]'], closings: ['[unused12]'] },
  // Apertus.
  { openings: ['<|tools_prefix|>'], closings: ['<|tools_suffix|>'] },
  // Functionary 3.2 and 2.
  { openings: [FUNCTIONARY], closings: [] },
  { openings: ['<|from|>assistant', '<|from|> assistant'], closings: [], atLine: true },
  // MiroThinker, CWM, Solar, PLaMo, Inkling, HyperCLOVA X, Qwen-Agent.
  { openings: ['<use_mcp_tool>'], closings: ['</use_mcp_tool>'] },
  { openings: ['<tool: '], closings: ['</tool>'] },
  { openings: ['<|tool_call:start|>'], closings: ['<|tool_call:end|>'] },
  { openings: ['<|plamo:begin_tool_requests:plamo|>'], closings: ['<|plamo:end_tool_requests:plamo|>'] },
  { openings: ['<|content_invoke_tool_json|>', '<|message_model|>'], closings: ['<|end_message|>'] },
  { openings: ['-> tool/function_call'], closings: [], atLine: true },
  { openings: ['✿FUNCTION✿'], closings: [] },
];

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
export const ENDS_OF_THOUGHT: readonly Mark[] = THOUGHTS.flatMap(({ until }) => until).map((literal) => ({
  kind: 'end_of_thought' as const,
  literal,
}));

export const CALLS: readonly (Mark & { kind: 'calls' })[] = CALL_SYNTAXES.flatMap(
  ({ openings, closings, atLine }) =>
    openings.map((literal) => ({ kind: 'calls' as const, literal, until: closings, atLine })),
);

const ENDS_OF_TURN: readonly Mark[] = [
  '<|im_end|> <|eot_id|> <|eom_id|> <|end|> <|return|> <|call|> <|endoftext|> <|end_of_text|>',
  '<|end_of_turn|> <|END_OF_TURN_TOKEN|> <end_of_turn> <turn|> <eos> </s> <｜end▁of▁sentence｜>',
  '<|endofresponse|> <|end_of_role|> [/INST] <|eot|> <|END_RESPONSE|> <|END_TEXT|> <|assistant_end|>',
  '<|end_of_msg|> <|close|>response<|sep|> <|close|>message<|sep|> <|message_sep|> <seed:eos> [e~[',
  '<|plamo:tag|> <|stop|>',
]
  .flatMap((line) => line.split(' '))
  .map((literal) => ({ kind: 'end_of_turn', literal }));

/** What is left of calls that were read: the ends of syntaxes within others. */
const ENDS_OF_CALLS: readonly Mark[] = [...CALL_SYNTAXES.flatMap(({ closings }) => closings), '[/TOOL_CALLS]']
  .filter((literal) => literal !== '```' && !ENDS_OF_TURN.some((mark) => mark.literal === literal))
  .map((literal) => ({ kind: 'end_of_calls', literal }));

/** What some templates put around the text of an answer. */
const WRAPPERS: readonly Mark[] = [
  // ERNIE 4.5; Command R7B and A, unless their template begins it; Kimi K3.
  ['<response>', '</response>'],
  ['<|START_RESPONSE|>', '<|END_RESPONSE|>'],
  ['<|START_TEXT|>', '<|END_TEXT|>'],
  ['<|open|>response<|sep|>', '<|close|>response<|sep|>'],
].map(([literal = '', end = '']) => ({ kind: 'wrapper', literal, end }));

const ROLES: readonly Mark[] = [
  '<|im_start|> <|start_header_id|> <start_of_turn> <|turn> <|user|> <｜User｜> [INST]',
  '<|start_of_role|>',
]
  .flatMap((line) => line.split(' '))
  .map((literal) => ({ kind: 'role', literal }));

const HEADERS: readonly Mark[] = ['<|start|>', '<|channel|>'].map((literal) => ({ kind: 'header', literal }));

const MENTIONS: readonly Mark[] = THOUGHTS.map(({ literal }) => ({ kind: 'mention', literal }));

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
const ENDS_OF_WRAPPERS: readonly Mark[] = [{ kind: 'end_of_wrapper', literal: '</response>' }];
/** In the text of the answer, where a line begins. */
export const AT_LINE: readonly Mark[] = [
  ...CALLS,
  ...ENDS_OF_CALLS,
  ...ENDS_OF_TURN,
  ...ENDS_OF_THOUGHT,
  ...ENDS_OF_WRAPPERS,
  ...MENTIONS,
  { kind: 'mention', literal: '<s>' },
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
