/** Prompts that do not fit: the words in which servers refuse them, and the window that some of these words name. */
import { ProviderError } from '../contracts/errors.ts';
import { textRef } from '../contracts/texts/say.ts';
import { clip, type Where } from './errors.ts';

/**
 * Prompts that do not fit, as the servers say it: each word group has a bounded length, so that matching is
 * linear.
 */
const OVERFLOWS: readonly RegExp[] = [
  // llama-server, Ollama, llama-cpp-python
  /exceed_context_size|exceeds the available context|longer than the context length|exceed context window|exceeded (max )?context length/i,
  // OpenAI, vLLM, SGLang, OpenRouter, DeepSeek, Mistral
  /context[_ ]length[_ ]exceeded|maximum context length|exceeds? the (model's )?(maximum )?(context (window|length)|allowed length)/i,
  /longer than the (maximum model length|model's context length)|too long to fit into the model|context length is only/i,
  // LM Studio
  /greater than the context length|context (length )?of only|reached context length|context (the )?overflows|context size has been exceeded/i,
  // tabbyAPI (exllama)
  /greater than (the )?max_seq_len/i,
  // Anthropic, Bedrock, GitHub Models
  /prompt is too long|input is too long|input length and .{0,20}max_tokens.{0,20} exceed|tokens_limit_reached/i,
  // Gemini, Cohere, Copilot, DashScope
  /input token count.{0,40}exceeds the maximum|number of tokens in the prompt cannot exceed|prompt token count.{0,20} exceeds the limit|range of input length should be/i,
  // xAI, Groq, text-generation-inference, Kimi, MiniMax
  /maximum prompt length|reduce the length of the (messages|prompt)|tokens \+ .{0,3}max_new_tokens|token limit exceeded|exceeded model token limit|context window exceeds/i,
];

/** A request that is larger than what the account may send in a minute: waiting does not make it fit (Groq, OpenAI). */
const TOO_LARGE_AT_ONCE = /request too large for .{0,200}tokens per min(ute)?\b/i;

/** How servers name the window, in tokens. */
const WINDOWS: readonly RegExp[] = [
  // llama-server's field, and LM Studio's "(n_keep: 9000>= n_ctx: 4096)".
  /\bn_ctx"?\s{0,2}[:=]\s{0,2}(\d{1,9})/i,
  /available context size \((\d{1,9})/i,
  /exceed context window of (\d{1,9})/i,
  /maximum context length (?:is|of) (\d{1,9})|(\d{1,9}) maximum context length/i,
  /context length (?:is|of) only (\d{1,9})|\(context length (\d{1,9})\)|model's context length \((\d{1,9})/i,
  /maximum model length of (\d{1,9})|maximum allowed length \((\d{1,9})/i,
  /greater than (?:the )?max_seq_len \(?(\d{1,9})/i,
  /(?:too long|exceed context limit)[^>]{0,60}> (\d{1,9})/i,
  /maximum number of tokens allowed \((\d{1,9})|prompt cannot exceed (\d{1,9})|exceeds the limit of (\d{1,9})|input length should be \[\d+, (\d{1,9})\]/i,
  /maximum prompt length is (\d{1,9})|exceeded model token limit: (\d{1,9})|while limit is (\d{1,9})|max size: (\d{1,9}) tokens/i,
  /max_new_tokens. must be <= (\d{1,9})/i,
  /tokens per min(?:ute)? \(TPM\): limit (\d{1,9})/i,
];

/** A window below this is no window, but a slip of the server, in tokens. */
export const MIN_NAMED_WINDOW = 256;

/**
 * The error for a prompt that does not fit, when that is what the server said; undefined when it is not. `body` is
 * the whole answer, if it has more than `reason`.
 */
export function overflowIn({ model }: Where, reason: string, body = reason): ProviderError | undefined {
  if (!isTooLargeAtOnce(reason) && !OVERFLOWS.some((overflow) => overflow.test(reason))) return undefined;
  const message = textRef('provider.prompt_too_long', { model: `${model}`, reason: clip(reason) });
  const window = windowIn(reason) ?? windowIn(body);
  return new ProviderError('context_overflow', message, { ...(window !== undefined && { window }) });
}

/** True for a refusal that reads like a pause but is about the size of this one request. */
export function isTooLargeAtOnce(reason: string): boolean {
  return TOO_LARGE_AT_ONCE.test(reason);
}

/** The window that a refusal names, in tokens; undefined when it names none that could be one. */
function windowIn(text: string): number | undefined {
  for (const pattern of WINDOWS) {
    const digits = pattern
      .exec(text)
      ?.slice(1)
      .find((group) => group !== undefined);
    const tokens = Number(digits);
    if (digits !== undefined && Number.isSafeInteger(tokens) && tokens >= MIN_NAMED_WINDOW) return tokens;
  }
  return undefined;
}
