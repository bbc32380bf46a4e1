/** The errors that may leave a module; other errors are converted where they occur. */
import { hideAddresses } from '../lib/connection-url.ts';
import { inEnglish, type Say, textRef, type TextRef, type Value } from './texts/say.ts';

/** What an error contains besides its message. */
export interface ErrorDetails {
  /** True when the same call may succeed later without any change. */
  retryable?: boolean;
  /** Milliseconds that the other side asked us to wait; only with `retryable`. */
  retryAfterMs?: number;
  /** The error that led here; kept for the log, never shown to a user. */
  cause?: unknown;
}

/** Base of the family. The message names the variable, file or command that fixes the problem, and never contains a secret. */
export class GatewayError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** The message for people in their language; `message` is the same in English. */
  readonly textRef: TextRef | undefined;

  constructor(code: string, message: string | TextRef, details: ErrorDetails = {}) {
    const ref = typeof message === 'string' ? undefined : message;
    super(
      typeof message === 'string' ? message : inEnglish.text(message),
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.name = new.target.name;
    this.code = code;
    this.textRef = ref;
    this.retryable = details.retryable ?? false;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** A field of a request that cannot be honored here. `field` is its name in the contracts; the message says why, without the name. */
export class FieldError extends GatewayError {
  readonly field: string;

  constructor(field: string, message: string, details: ErrorDetails = {}) {
    super('unsupported_value', message, details);
    this.field = field;
  }
}

/** The configuration is invalid; the message lists every error by the name of its variable or file. */
export class ConfigError extends GatewayError {}

export type ChannelErrorCode =
  /** The platform asks for a pause; `retryAfterMs` says how long. */
  | 'rate_limited'
  /** The user blocked the bot or the bot was removed from the chat. */
  | 'blocked'
  /** The message to edit is gone or can no longer be edited: send the text again. */
  | 'message_gone'
  /** The thread or the message replied to is gone: send without it. */
  | 'place_gone'
  /** The platform could not parse the markup: send the same text plain. */
  | 'bad_markup'
  /** The chat moved; `ChannelError.movedTo` names the new chat id. */
  | 'chat_moved'
  /** The platform refuses the bot token; it is retried, because it may be accepted later (`DEAD_AFTER_MS`). */
  | 'unauthorized'
  /** Another process holds the connection (Telegram's 409). */
  | 'conflict'
  /** The platform did not answer or answered 5xx; for a send, the outcome is known to be "not applied". */
  | 'unavailable'
  /** A send was written, but its response lost: it may or may not be visible (Telegram's ambiguous window). */
  | 'outcome_unknown'
  /** The platform refused permanently (too long, no permission, malformed): a retry cannot help. */
  | 'rejected';

/** A channel's platform refused or failed a call. */
export class ChannelError extends GatewayError {
  declare readonly code: ChannelErrorCode;
  readonly movedTo: string | undefined;
  /** With `rate_limited`: the pause is for the whole bot, not just for one chat (Discord's `global`). */
  readonly global: boolean;
  /** With `rate_limited`: no call was made, because the platform had announced the limit. It was not too fast. */
  readonly local: boolean;

  constructor(
    code: ChannelErrorCode,
    message: string | TextRef,
    details: ErrorDetails & { movedTo?: string; global?: boolean; local?: boolean } = {},
  ) {
    super(code, message, details);
    this.movedTo = details.movedTo;
    this.global = details.global ?? false;
    this.local = details.local ?? false;
  }
}

/**
 * True if a chat is closed to the bot, so that no one can read an answer there. A missing permission is another thing:
 * people can give it, and answers are kept for an hour.
 */
export function isClosedChat(error: unknown): boolean {
  return error instanceof ChannelError && error.code === 'blocked' && !error.retryable;
}

/** The error for a platform that cannot be reached or does not answer: worth another attempt. */
export function channelUnavailable(message: string | TextRef, cause?: unknown): ChannelError {
  return new ChannelError('unavailable', message, { retryable: true, cause });
}

export type ProviderErrorCode =
  /** No chunk within the first-chunk limit (N-61). */
  | 'timeout_first_chunk'
  /** No further chunk within the gap limit (N-62). */
  | 'timeout_chunk'
  /** The prompt does not fit the model's window (B-11). */
  | 'context_overflow'
  /** The server is down, refuses, or is overloaded. */
  | 'unavailable'
  /** The model needs more memory than the server's machine has free. */
  | 'out_of_memory'
  /** The server asks for a pause (429); `retryAfterMs` says how long, if the server says so. */
  | 'rate_limited'
  /** The account at the server has nothing left to spend: no retry helps until someone pays. */
  | 'quota_exceeded'
  | 'unauthorized'
  /** The server does not know the model; the message names the command that pulls it. */
  | 'unknown_model'
  /** The request is not one this model can serve (no tools, no thinking, malformed). */
  | 'bad_request'
  | 'bad_response'
  | 'aborted';

/** A model server failed a call. */
export class ProviderError extends GatewayError {
  declare readonly code: ProviderErrorCode;
  /** What people read about it, if that says more than the sentence of its code: nothing about addresses or keys. */
  readonly forPeople: TextRef | undefined;
  /** With `context_overflow`: the window that the server named, in tokens. */
  readonly window: number | undefined;

  constructor(
    code: ProviderErrorCode,
    message: string | TextRef,
    details: ErrorDetails & { forPeople?: TextRef | undefined; window?: number } = {},
  ) {
    super(code, message, details);
    this.forPeople = details.forPeople;
    this.window = details.window;
  }
}

/** A tool could not do its work; the message is what the model reads (B-48). */
export class ToolError extends GatewayError {}

/** The store failed: unreachable (`unavailable`, retryable), without writes (`read_only`, retryable), newer than this program (`schema_newer`), or locked (`home_locked`). */
export class StoreError extends GatewayError {}

/** A fenced commit was refused because the lane now belongs to another node: write nothing more, drop the work. */
export class FencedError extends StoreError {
  constructor(lane: string, cause?: unknown) {
    super('fenced', `Lane ${lane} belongs to another node now; this node's work on it is void.`, { cause });
  }
}

/** What an error says, to be worded for its reader; a string if it is not one of the gateway's texts. */
export function messageOf({ textRef: ref, message }: GatewayError): TextRef | string {
  return ref ?? message;
}

/** True when the same call may succeed later. */
export function isRetryable(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.retryable;
}

/** Turns anything thrown into a member of the family; a member is returned unchanged. Never throws. */
export function toGatewayError(error: unknown, code = 'internal'): GatewayError {
  if (error instanceof GatewayError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new GatewayError(code, message, { cause: error });
}

/** Who reads an error: someone who runs the gateway (an owner, an admin token), or anyone who writes to it. */
export type ErrorReader = 'operator' | 'person';

/** An owner reads as an operator where no one else reads it: in a private chat, or over HTTP with an admin token. */
export function readerOf({
  owner,
  place,
}: {
  owner: boolean;
  place?: 'private' | 'group' | undefined;
}): ErrorReader {
  return owner && place === 'private' ? 'operator' : 'person';
}

/** Model failures whose sentence ends in advice, which is left out where the retry time is known. */
const WITH_ADVICE = [
  'timeout_first_chunk',
  'timeout_chunk',
  'unavailable',
  'out_of_memory',
  'bad_response',
] as const satisfies readonly ProviderErrorCode[];

/**
 * The only place where an error is worded for a reader. Operators read the message, which names addresses and settings;
 * people read what happened and when to try again, without addresses of model servers, because chats are kept on other
 * people's machines. For a message without a translation, operators read both. Never throws.
 */
export function wordError(error: GatewayError, reader: ErrorReader, say: Say = inEnglish): string {
  if (reader === 'person') {
    const message = messageForPerson(error);
    return typeof message === 'string' ? message : say.text(message);
  }
  if (!(error instanceof ProviderError))
    return error.textRef === undefined ? error.message : say.text(error.textRef);
  if (error.textRef !== undefined) return say.text(withoutAddresses(error.textRef));
  const detail = hideAddresses(error.message);
  return say.language === 'en' ? detail : say('failure.detailed', { what: failureText(error), detail });
}

/** The text without addresses in its values; its sentences stay whole, whatever a language writes next to a value. */
function withoutAddresses({ key, values = {} }: TextRef): TextRef {
  const entries = Object.entries(values).map(([name, value]): [string, Value] => {
    if (typeof value === 'object') return [name, withoutAddresses(value)];
    return [name, typeof value === 'string' ? hideAddresses(value) : value];
  });
  return { key, values: Object.fromEntries(entries) };
}

/** What a person reads about an error, to be worded later; a string if its message is in no table. Never throws. */
export function messageForPerson(error: GatewayError): TextRef | string {
  if (error instanceof ProviderError) return failureText(error);
  if (error.textRef !== undefined) return error.textRef;
  if (error instanceof StoreError) return textRef('failure.store');
  if (error instanceof ConfigError) return textRef('failure.config');
  return error.message;
}

/** What people read about a failed model call: nothing about servers, addresses and settings. */
function failureText({ code, retryAfterMs, forPeople }: ProviderError): TextRef {
  if (forPeople !== undefined) return forPeople;
  if (retryAfterMs === undefined) return textRef(`failure.${code}`);
  const withAdvice = WITH_ADVICE.find((one) => one === code);
  const what = textRef(withAdvice === undefined ? `failure.${code}` : `failure.${withAdvice}_plain`);
  return textRef('failure.try_in', { what, time: timeText(retryAfterMs) });
}

/** A time to wait, rounded up: seconds below two minutes, minutes below two hours, then hours. */
export function timeText(ms: number): TextRef {
  const seconds = Math.max(1, Math.ceil(ms / 1_000));
  if (seconds < 120) return textRef('time.seconds', { seconds });
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 120) return textRef('time.minutes', { count: minutes });
  return textRef('time.hours', { count: Math.ceil(minutes / 60) });
}

/** The code of a system or library error, such as `ENOENT`; '' if it has none. Never throws. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** What `work` gives, or `fallback` if it fails with one of these codes. Throws its other errors. */
export async function unless<T, Other>(
  codes: readonly string[],
  work: Promise<T>,
  fallback: Other,
): Promise<T | Other> {
  try {
    return await work;
  } catch (error) {
    if (codes.includes(errorCode(error))) return fallback;
    throw error;
  }
}

/**
 * A module of a package that `npm ci --omit=optional` leaves out. Throws `GatewayError('not_installed')` with the command that
 * brings it when it is missing. `purpose` begins the sentence: `Reading a picture`.
 */
export async function optionalModule<Module>(
  loading: Promise<Module>,
  purpose: string,
  command = 'npm ci',
): Promise<Module> {
  return await loading.catch((cause: unknown) => {
    if (errorCode(cause) !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const text = `${purpose} needs packages that were left out of this installation: "${command}" brings them`;
    throw new GatewayError('not_installed', text, { cause });
  });
}
