/** What the refusals of model servers have in common: how they are worded, when to retry, what the model cannot do. */
import { ProviderError, timeText } from '../contracts/errors.ts';
import type { ProviderErrorCode } from '../contracts/errors.ts';
import { textRef } from '../contracts/texts/say.ts';
import type { TextRef } from '../contracts/texts/say.ts';
import { clip } from './errors.ts';
import type { Where } from './errors.ts';
import { fieldsOf, listOf, textOf, wordOf } from './answers/read-fields.ts';
import { isTooLargeAtOnce, overflowIn } from './overflow.ts';
import { parseJson } from '../lib/json/json.ts';

/** An answer that is not 200. */
export interface Refusal {
  status: number;
  /** The body, clipped. */
  text: string;
  /** Milliseconds after which the server wants to be asked again, if it says so. */
  retryAfterMs?: number | undefined;
}

/** A part of a request that some models or servers refuse, and that can be left out or written differently. */
export type RefusedFeature = 'tools' | 'thinking' | 'temperature' | 'max_tokens' | 'pictures';

/** A model or its server refused a part of the request; without that part the call may succeed. */
export class FeatureError extends ProviderError {
  readonly feature: RefusedFeature;

  constructor(feature: RefusedFeature, message: TextRef) {
    super('bad_request', message);
    this.feature = feature;
  }
}

/** Ollama, llama.cpp, vLLM and the libraries underneath. */
const OUT_OF_MEMORY =
  /requires more (system |gpu |video )?memory|out of memory|(not enough|insufficient) (system |gpu |video )?memory|cudaMalloc failed|(unable|failed) to allocate .{0,40}(memory|buffer)/i;

const QUOTA =
  /insufficient_(quota|balance|credits|funds)|insufficient (balance|credits|funds)|billing_(hard_limit|not_active)|credit balance is too low/i;

/** llama-server reports this with a 500. */
const NO_PICTURES =
  /(image|vision|multi-?modal)( input)?s? (is|are) not supported|(does not|doesn't|not) support (image|vision|multi-?modal)|not a (multi-?modal|vision) model|unknown variant .image_url|mmproj|image_url.{0,40}(not supported|unsupported|not allowed)/i;

const FEATURES: readonly { feature: RefusedFeature; pattern: RegExp }[] = [
  { feature: 'max_tokens', pattern: /use .{0,3}max_completion_tokens/i },
  {
    feature: 'tools',
    pattern:
      /(does not|doesn't|not) support (the )?(tools?|function)\b|(tools?|tool use|tool calling|function calling) (is|are) not (supported|available|enabled)|support(s)? tool use|--enable-auto-tool-choice|tool-call-parser|--jinja/i,
  },
  {
    feature: 'thinking',
    pattern:
      /(does not|doesn't|not) support (thinking|reasoning)|(thinking|reasoning) (is|are) not supported|chat_template_kwargs/i,
  },
  {
    feature: 'temperature',
    pattern:
      /temperature.{0,5} (does not support|is not supported|is deprecated)|unsupported (value|parameter).{0,5}temperature/i,
  },
];

/**
 * The error for a refusal that means the same from every server: too long, a quota, a pause, a missing feature, a
 * server failure. `serverText` is its text, as `saidIn` reads it. Undefined for any other.
 */
export function commonRefusal(
  where: Where,
  refusal: Refusal,
  serverText: string | undefined,
): ProviderError | undefined {
  const { status, text } = refusal;
  const reason = serverText ?? text;
  const refused = textRef('provider.refused', { host: where.host, status, reason: clip(reason) });
  if (status === 402 || QUOTA.test(reason)) return failed(where, 'quota_exceeded', refusal, reason);
  if (status === 429 && !isTooLargeAtOnce(reason)) return failed(where, 'rate_limited', refusal, reason);
  const overflow = overflowIn(where, reason, text);
  if (overflow !== undefined) return overflow;
  if (serverText !== undefined && NO_PICTURES.test(serverText)) return new FeatureError('pictures', refused);
  const noMemory = status >= 500 ? outOfMemoryIn(where, reason) : undefined;
  if (noMemory !== undefined) return noMemory;
  if ((status >= 500 && status !== 501) || status === 408 || status === 425 || status === 499)
    return failed(where, 'unavailable', refusal, reason);
  const lacking =
    serverText === undefined ? undefined : FEATURES.find((each) => each.pattern.test(serverText));
  return lacking && new FeatureError(lacking.feature, refused);
}

/** The error for a model that does not fit the memory of its machine, when that is what the server said. */
export function outOfMemoryIn({ host, model }: Where, reason: string): ProviderError | undefined {
  if (!OUT_OF_MEMORY.test(reason)) return undefined;
  const message = textRef('provider.little_memory', { host, model: `${model}`, reason: clip(reason) });
  return new ProviderError('out_of_memory', message, { retryable: true });
}

function failed(where: Where, code: ProviderErrorCode, refusal: Refusal, reason: string): ProviderError {
  const { status, retryAfterMs } = refusal;
  const { host, setting } = where;
  const about = { host, setting, status, reason: clip(reason) };
  const message =
    retryAfterMs === undefined
      ? textRef('provider.answered', about)
      : textRef('provider.answered_later', { ...about, time: timeText(retryAfterMs) });
  const retryable = code !== 'quota_exceeded';
  return new ProviderError(code, message, {
    retryable,
    ...(retryable && retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/**
 * The text of an error body, with type and code if it has them; undefined when the body is not an error. Servers write
 * `{"error": {"message"}}`, `{"error": "…"}`, `{"message"}` (vLLM), `{"detail"}` (FastAPI, a text or a list), or one of
 * these in an array (Gemini).
 */
export function saidIn(body: string): string | undefined {
  // A page from a proxy or another kind of server is not JSON.
  return textOfError(parseJson(body));
}

/** The text of an error that was read as JSON; undefined when it is not one. */
function textOfError(json: unknown): string | undefined {
  const body = fieldsOf(listOf(json)[0]);
  if (body === undefined) return undefined;
  const error = body['error'] ?? body['detail'] ?? body['errors'];
  if (typeof error === 'string' && error !== '') return error;
  const inner = fieldsOf(listOf(error)[0]) ?? body;
  const message = textOf(inner['message'] ?? inner['msg'] ?? body['message']);
  const kinds = [inner['type'], inner['code'], inner['status']].filter((kind) => typeof kind === 'string');
  const kind = kinds.map(wordOf).join(', ');
  if (message !== '') return kind === '' ? message : `${message} (${kind})`;
  // An object without a message still shows that this is an error.
  return error === undefined || error === null ? undefined : JSON.stringify(error);
}

/** `Retry-After` (RFC 9110 §10.2.3: seconds or a date) or OpenAI's `retry-after-ms`, in milliseconds from `epochNow`. */
export function readRetryAfter(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  epochNow: number,
): number | undefined {
  const ms = Number.parseFloat(String(headers['retry-after-ms'] ?? ''));
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const given = String(headers['retry-after'] ?? '').trim();
  if (given === '') return undefined;
  const seconds = Number(given);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000);
  const at = Date.parse(given);
  return Number.isNaN(at) ? undefined : Math.max(0, at - epochNow);
}
