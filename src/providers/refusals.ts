/** What the refusals of model servers have in common: how they are worded, when to retry, what the model cannot do. */
import { ProviderError, type ProviderErrorCode, timeText } from '../protocol/errors.ts';
import { textRef, type TextRef } from '../protocol/texts/say.ts';
import { clip, type Where } from './errors.ts';
import { fieldsOf, listOf, textOf, wordOf } from './answers/read-fields.ts';
import { hideAddresses } from '../lib/connection-url.ts';
import { parseJson } from '../lib/json/json.ts';

/** How servers say that a prompt does not fit; each group of words is bounded, so that matching is linear. */
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

/** An answer that is not 200. */
export interface Refusal {
  status: number;
  /** The body, clipped. */
  text: string;
  /** Milliseconds after which the server wants to be asked again, if it says so. */
  retryAfterMs?: number | undefined;
}

/** A server refused a request that it may accept with less in it. */
export class RefusalError extends ProviderError {
  /** The server's words. */
  readonly reason: string;
  /** It reports a failure of its own: a refusal of this request only if it says the same again. */
  readonly isFailure: boolean;

  constructor(
    code: 'bad_request' | 'unavailable' | 'bad_response',
    message: TextRef,
    reason: string,
    isFailure = false,
  ) {
    super(code, message, { retryable: isFailure });
    // Callers know one kind of error.
    this.name = ProviderError.name;
    this.reason = reason;
    this.isFailure = isFailure;
  }
}

/** Ollama, llama.cpp, vLLM and the libraries underneath. */
const OUT_OF_MEMORY =
  /requires more (system |gpu |video )?memory|out of memory|(not enough|insufficient) (system |gpu |video )?memory|cudaMalloc failed|(unable|failed) to allocate .{0,40}(memory|buffer)/i;

const QUOTA =
  /insufficient_(quota|balance|credits|funds)|insufficient (balance|credits|funds)|billing_(hard_limit|not_active)|credit balance is too low/i;

/** Servers that are full for the moment, with a status that does not say so (Groq's 498, a 400 of a router). */
const FULL =
  /(at|over|exceed\w{0,6}|insufficient|no|limited) (the )?(\w{1,20} ){0,2}capacity|capacity (is )?(exceeded|reached)|overloaded|(try|retry) again (later|shortly|soon|in)/i;

/** A route that a server does not have. */
const NOT_FOUND =
  /not.{0,3}found|no (such )?(route|path|url)|cannot (get|post)|unknown (route|path|url|endpoint)/i;

/** What a server says that has failed without a reason. */
const NO_WORDS = /^\W*(internal (server )?error|unknown error|server error|error)?\W*(\(.{0,60}\))?$/i;

/** Failures of a proxy or of a server that starts or is full: the same words again are no refusal. */
const OUTAGES: ReadonlySet<number> = new Set([
  408, 425, 429, 498, 499, 502, 503, 504, 507, 520, 521, 522, 523, 524, 529, 530,
]);

/**
 * The error of a refusal that means the same everywhere: too long, a quota, a pause, a failure, or a bad request;
 * undefined for others. `serverText` is its text (`saidIn`).
 */
export function commonRefusal(
  where: Where,
  refusal: Refusal,
  serverText: string | undefined,
): ProviderError | undefined {
  const { status, text, retryAfterMs } = refusal;
  const reason = serverText ?? text;
  if (status === 402 || QUOTA.test(reason)) return failed(where, 'quota_exceeded', refusal, reason);
  if (status === 429 && !isTooLargeAtOnce(reason)) return failed(where, 'rate_limited', refusal, reason);
  const overflow = overflowIn(where, reason, text);
  if (overflow !== undefined) return overflow;
  const noMemory = status >= 500 ? outOfMemoryIn(where, reason) : undefined;
  if (noMemory !== undefined) return noMemory;
  if (OUTAGES.has(status) || FULL.test(reason)) return failed(where, 'unavailable', refusal, reason);
  if (status >= 500 && status !== 501) {
    const isSilent = serverText === undefined || retryAfterMs !== undefined || NO_WORDS.test(serverText);
    if (isSilent) return failed(where, 'unavailable', refusal, reason);
    return new RefusalError('unavailable', answered(where, refusal, reason), reason, true);
  }
  if (!isRefusal(status, serverText, text)) return undefined;
  const message = textRef('provider.refused', { host: where.host, status, reason: clip(reason) });
  return new RefusalError('bad_request', message, reason);
}

/** Whether the server understood the request and refuses it; else it may be no model server at all. */
function isRefusal(status: number, serverText: string | undefined, text: string): boolean {
  if (status === 404) return serverText !== undefined && !NOT_FOUND.test(serverText);
  if (serverText !== undefined || status === 413) return true;
  // Servers written in Rust answer with plain text; a page is that of a proxy or of another kind of server.
  return (status === 400 || status === 422) && text.trim() !== '' && !text.trimStart().startsWith('<');
}

/** The error for a model that does not fit the memory of its machine, when that is what the server said. */
function outOfMemoryIn({ host, model }: Where, reason: string): ProviderError | undefined {
  if (!OUT_OF_MEMORY.test(reason)) return undefined;
  const message = textRef('provider.little_memory', { host, model: `${model}`, reason: clip(reason) });
  return new ProviderError('out_of_memory', message, { retryable: true });
}

function failed(where: Where, code: ProviderErrorCode, refusal: Refusal, reason: string): ProviderError {
  const { retryAfterMs } = refusal;
  const retryable = code !== 'quota_exceeded';
  return new ProviderError(code, answered(where, refusal, reason), {
    retryable,
    retryAfterMs: retryable ? retryAfterMs : undefined,
    forPeople: retryable ? undefined : inWords(textRef('failure.quota_exceeded'), reason),
  });
}

function answered({ host, setting }: Where, { status, retryAfterMs }: Refusal, reason: string): TextRef {
  const about = { host, setting, status, reason: clip(reason) };
  if (retryAfterMs === undefined) return textRef('provider.answered', about);
  return textRef('provider.answered_later', { ...about, time: timeText(retryAfterMs) });
}

/** A sentence for anyone with the server's own words after it, if they say anything. */
export function inWords(sentence: TextRef, reason: string): TextRef {
  const words = publicWords(reason);
  return words === undefined ? sentence : textRef('failure.in_words', { what: sentence, words });
}

/** A server's words for anyone, clipped, without keys and addresses; undefined if they say no more than the status. */
export function publicWords(reason: string): string | undefined {
  const words = clip(hideAddresses(reason.slice(0, MAX_CLEANED).replaceAll(KEY_LIKE, '…')).trim());
  return words === '' || NO_WORDS.test(words) || words.startsWith('<') ? undefined : words;
}

/** How much of a server's text is searched for keys and addresses, in characters: more than is repeated. */
const MAX_CLEANED = 1_000;
/** Keys, also in part: servers repeat the one that they refuse, with stars in the middle. */
const KEY_LIKE = /\b(?:sk|gsk|pk|xai|key|hf|AIza)[-_][\w*.-]{4,}|[\w:.-]{0,64}\*{3,}[\w:.*-]*/g;

/** Statuses that mean no more, within an answer, than that it was broken off: the end of this answer, not of the server. */
const BROKE_OFF = new Set([500]);

/**
 * The error in an answer with status 200: its code counts as the status, if it has one. `refusedBy` makes a status's
 * error, `broken` is the sentence without one.
 */
export function midwayRefusal(
  where: Where,
  data: string,
  refusedBy: (where: Where, refusal: Refusal) => ProviderError,
  broken: (reason: string) => TextRef,
): ProviderError {
  const reason = saidIn(data) ?? data;
  const status = statusIn(data);
  if (status !== undefined && !BROKE_OFF.has(status)) return refusedBy(where, { status, text: data });
  const specific = overflowIn(where, reason, data) ?? outOfMemoryIn(where, reason);
  if (specific !== undefined) return specific;
  if (QUOTA.test(reason)) return failed(where, 'quota_exceeded', { status: 200, text: data }, reason);
  if (NO_WORDS.test(reason))
    return new ProviderError('bad_response', broken(clip(reason)), { retryable: true });
  return new RefusalError('bad_response', broken(clip(reason)), reason, true);
}

/**
 * The text of an error body, with type and code; undefined for another body. Servers write `{"error": {"message"}}`,
 * `{"error": "…"}`, `{"message"}` (vLLM), `{"detail"}` (FastAPI, a text or a list), or one of these in an array
 * (Gemini).
 */
export function saidIn(body: string): string | undefined {
  // A page from a proxy or another kind of server is not JSON.
  return textOfError(parseJson(body));
}

/** What servers write in place of a status, in the code or the type of an error. */
const STATUS_WORDS: readonly (readonly [number, RegExp])[] = [
  [429, /^(rate_?limit|too_many_requests)/i],
  [402, /^(insufficient_(quota|balance|credits|funds)|billing)/i],
  [401, /^(authentication_error|invalid_api_key|unauthorized)/i],
  [503, /^(overloaded|service_unavailable|unavailable)/i],
];

/** The status of an error after status 200, by its code, status or type: a number or a usual word. Never throws. */
export function statusIn(body: string): number | undefined {
  const fields = fieldsOf(listOf(parseJson(body))[0]);
  const error = fieldsOf(listOf(fields?.['error'])[0]) ?? fields;
  const words = [
    error?.['code'],
    error?.['status'],
    error?.['type'],
    fields?.['code'],
    fields?.['status'],
    error?.['status_code'],
    fields?.['status_code'],
  ];
  for (const word of words.map(wordOf)) {
    const status = /^[45]\d\d$/.test(word)
      ? Number(word)
      : STATUS_WORDS.find(([, each]) => each.test(word))?.[0];
    if (status !== undefined) return status;
  }
  return undefined;
}

/** The text of an error that was read as JSON; undefined when it is not one. */
function textOfError(json: unknown): string | undefined {
  const body = fieldsOf(listOf(json)[0]);
  if (body === undefined) return undefined;
  const error = body['error'] ?? body['detail'] ?? body['errors'];
  if (typeof error === 'string' && error !== '') return error;
  const inner = fieldsOf(listOf(error)[0]) ?? body;
  const message = textOf(inner['message'] ?? inner['msg'] ?? body['message']);
  // FastAPI names the field apart from its sentence.
  const place = listOf(inner['loc']).map(wordOf).join('.');
  const kinds = [inner['type'], inner['code'], inner['status'], place];
  const kind = kinds.filter((each) => typeof each === 'string' && each !== '').join(', ');
  if (message !== '') return kind === '' ? message : `${message} (${kind})`;
  // An object without a message still shows that this is an error.
  if (error !== undefined && error !== null) return JSON.stringify(error);
  const title = textOf(body['title'] ?? body['reason'] ?? body['msg']);
  return title === '' ? undefined : title;
}

/** `Retry-After` (RFC 9110 §10.2.3: seconds or a date) or OpenAI's `retry-after-ms`, in milliseconds from `epochNow`. */
export function readRetryAfter(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  epochNow: number,
): number | undefined {
  const ms = Number.parseFloat(String(headers['retry-after-ms'] ?? ''));
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const header = String(headers['retry-after'] ?? '').trim();
  if (header === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - epochNow);
}

/** The error of a prompt that does not fit; undefined for others. `body` is the answer, if longer than `reason`. */
export function overflowIn({ model }: Where, reason: string, body = reason): ProviderError | undefined {
  if (!isTooLargeAtOnce(reason) && !OVERFLOWS.some((overflow) => overflow.test(reason))) return undefined;
  const message = textRef('provider.prompt_too_long', { model: `${model}`, reason: clip(reason) });
  const window = windowIn(reason) ?? windowIn(body);
  return new ProviderError('context_overflow', message, { window });
}

/** True for a refusal that reads like a pause but is about the size of this one request. */
function isTooLargeAtOnce(reason: string): boolean {
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
