/** The marks that models write into their text: where thoughts, tool calls and turns begin and end. */

/** What a mark means where it counts. */
export type Mark =
  /** A thought begins; it ends at one of `until`. */
  | { kind: 'thought'; literal: string; until: readonly string[] }
  /** The end of a thought whose beginning was part of the template. */
  | { kind: 'end_of_thought'; literal: string }
  /** The text of tool calls begins; it ends at one of `until`, or with the answer. */
  | { kind: 'calls'; literal: string; until: readonly string[] }
  /** A remainder of calls that have already been read. */
  | { kind: 'end_of_calls'; literal: string }
  /** The model ends its turn. */
  | { kind: 'end_of_turn'; literal: string }
  /** Someone else's turn begins: the model continued on its own. */
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
];

/** What ends a thought whose opening tag the template holds. */
export const ENDS_OF_THOUGHT: readonly Mark[] = THOUGHTS.flatMap(({ until }) => until).map((literal) => ({
  kind: 'end_of_thought' as const,
  literal,
}));

const CALLS: readonly Mark[] = [
  // Hermes and Qwen, GLM; Granite and Phi; Llama and Qwen-coder; Claude-like; Llama's python tag; Mistral.
  { kind: 'calls', literal: '<tool_call>', until: ['</tool_call>'] },
  { kind: 'calls', literal: '<tool_calls>', until: ['</tool_calls>'] },
  { kind: 'calls', literal: '<|tool_call|>', until: ['<|/tool_call|>'] },
  { kind: 'calls', literal: '<function=', until: ['</function>'] },
  { kind: 'calls', literal: '<function_call>', until: ['</function_call>'] },
  { kind: 'calls', literal: '<function_calls>', until: ['</function_calls>'] },
  { kind: 'calls', literal: '<invoke name=', until: ['</invoke>'] },
  { kind: 'calls', literal: '<|python_tag|>', until: ['<|eom_id|>', '<|eot_id|>'] },
  { kind: 'calls', literal: '[TOOL_CALLS]', until: ['</s>'] },
  // DeepSeek up to V3.1, V3.2; Kimi K2.
  { kind: 'calls', literal: '<｜tool▁calls▁begin｜>', until: ['<｜tool▁calls▁end｜>'] },
  { kind: 'calls', literal: '<｜tool▁call▁begin｜>', until: ['<｜tool▁call▁end｜>'] },
  { kind: 'calls', literal: '<｜DSML｜function_calls>', until: ['</｜DSML｜function_calls>'] },
  { kind: 'calls', literal: '<|tool_calls_section_begin|>', until: ['<|tool_calls_section_end|>'] },
  { kind: 'calls', literal: '<|tool_call_begin|>', until: ['<|tool_call_end|>'] },
];

const ENDS_OF_CALLS: readonly Mark[] = [
  '</tool_call>',
  '</tool_calls>',
  '</function_calls>',
  '</function>',
  '<｜tool▁calls▁end｜>',
  '<|tool_calls_section_end|>',
  '[/TOOL_CALLS]',
].map((literal) => ({ kind: 'end_of_calls', literal }));

const ENDS_OF_TURN: readonly Mark[] = [
  '<|im_end|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|end_of_turn|>',
  '<|END_OF_TURN_TOKEN|>',
  '<end_of_turn>',
  '<turn|>',
  '<eos>',
  '</s>',
  '<｜end▁of▁sentence｜>',
  '<|endofresponse|>',
  '<|end_of_role|>',
  '[/INST]',
].map((literal) => ({ kind: 'end_of_turn', literal }));

const ROLES: readonly Mark[] = [
  '<|im_start|>',
  '<|start_header_id|>',
  '<start_of_turn>',
  '<|turn>',
  '<|user|>',
  '<｜User｜>',
  '[INST]',
  '<|start_of_role|>',
].map((literal) => ({ kind: 'role', literal }));

/** Headers of the harmony format. */
const HEADERS: readonly Mark[] = ['<|start|>', '<|channel|>'].map((literal) => ({ kind: 'header', literal }));

const MENTIONS: readonly Mark[] = THOUGHTS.map(({ literal }) => ({ kind: 'mention', literal }));

/** Before any of the answer was written. */
export const AT_START: readonly Mark[] = [
  ...THOUGHTS,
  ...ENDS_OF_THOUGHT,
  ...HEADERS,
  ...CALLS,
  ...ENDS_OF_CALLS,
  ...ENDS_OF_TURN,
];
/** In the text of the answer. */
export const IN_TEXT: readonly Mark[] = [
  ...CALLS,
  ...ENDS_OF_CALLS,
  ...ENDS_OF_TURN,
  ...ENDS_OF_THOUGHT,
  ...MENTIONS,
  { kind: 'mention', literal: '<s>' },
];
/** After the end of a turn. */
export const AFTER_TURN: readonly Mark[] = [...ENDS_OF_TURN, ...ROLES, ...HEADERS, ...ENDS_OF_CALLS];

/** The end of a harmony header. */
export const END_OF_HEADER: readonly Mark[] = [{ kind: 'end_of_header', literal: '<|message|>' }];

/** What a harmony message of the given recipient or channel ends with. */
export const ENDS_OF_MESSAGE = ['<|end|>', '<|call|>', '<|return|>', '<|start|>', '<|channel|>'] as const;
