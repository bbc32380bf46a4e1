/** Models that read little at once: what the operator is told about them. */

/** A window below this has room for little more than the system prompt and the tools, in tokens. */
export const SMALL_WINDOW = 8_192;

/** What to do about a small window. */
export const LARGER_WINDOW =
  'load the model with a larger window (llama-server: -c, vLLM: --max-model-len, LM Studio: Context Length), or set MODEL to another one';

/** What a small window costs; undefined for one that is large enough. */
export function smallWindowText(model: string, contextWindow: number): string | undefined {
  if (contextWindow >= SMALL_WINDOW) return undefined;
  return (
    `The window of ${model} is small (${contextWindow} tokens): it is offered only the most important tools directly and ` +
    'has to look the others up, and long chats are summarized after a few messages.'
  );
}
