/** The words with which servers say why an answer ended. */
import type { FinishReason } from '../../protocol/agent/provider.ts';

/** What such a word means: how a complete answer ended, that it is not complete (`broken`), or nothing known. */
export type AnswerEnd = Exclude<FinishReason, 'tool_calls'> | 'broken' | 'unknown';

/**
 * Each matched at the beginning of the word: some servers add details (`content_filter: SAFETY`). `broken` is what vLLM
 * and SGLang say of an answer that they aborted, Gemini of a call it could not read, DeepSeek when it is overloaded, Zhipu
 * of its own network, Cohere of any failure, and Ollama when the model was unloaded, or only loaded.
 */
const MEANINGS: readonly (readonly [AnswerEnd, RegExp])[] = [
  [
    'stop',
    /^(|stop(_sequence|_str|ped)?|eos(_token)?|end(_turn|_of_turn)?|complete[d]?|done|finish(ed)?|tool_(calls?|use)|function_calls?|null)$/,
  ],
  ['length', /^(length|max_(output_|new_)?tokens|model_length|model_context_window|context_(length|window))/],
  [
    'content_filter',
    /^(content_(filter|policy)|safety|image_safety|recitation|blocklist|prohibited_content|spii|sensitive|guardrail)/,
  ],
  ['refusal', /^refus/],
  [
    'broken',
    /^(error|fail|abort|cancel|user_cancel|interrupt|time_?out|server_error|internal_error|network_error|engine_error|insufficient_system_resource|malformed_|function_call_filter|unexpected_tool_call|too_many_tool_calls|(un)?load$)/,
  ],
];

/** What the word means, whatever its case. Never throws. */
export function endOf(word: string): AnswerEnd {
  const plain = word.trim().toLowerCase();
  return MEANINGS.find(([, pattern]) => pattern.test(plain))?.[0] ?? 'unknown';
}
