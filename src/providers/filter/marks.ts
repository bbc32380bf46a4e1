/** The marks that models write into their text: where thoughts, tool calls and turns begin and end. */
import { CALL_SYNTAXES } from './syntaxes.ts';

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
  ({ begins, ends, atLine }) =>
    begins.map((literal) => ({ kind: 'calls' as const, literal, until: ends, atLine })),
);

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
  '<|eot|>',
  '<|END_RESPONSE|>',
  '<|END_TEXT|>',
  '<|assistant_end|>',
  '<|end_of_msg|>',
  '<|close|>response<|sep|>',
  '<|close|>message<|sep|>',
  '<|message_sep|>',
  '<seed:eos>',
  '[e~[',
  '<|plamo:tag|>',
  '<|stop|>',
].map((literal) => ({ kind: 'end_of_turn', literal }));

/** What is left of calls that were read: the ends of syntaxes within others. */
const ENDS_OF_CALLS: readonly Mark[] = [...CALL_SYNTAXES.flatMap(({ ends }) => ends), '[/TOOL_CALLS]']
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
