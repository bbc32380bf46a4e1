/** Converts a Matrix homeserver's refusals and failures to `ChannelError`. */
import { z } from 'zod';
import { ChannelError, type ChannelErrorCode, channelUnavailable } from '../../src/protocol/errors.ts';
import { textRef, type TextRef } from '../../src/protocol/texts/say.ts';

export const BAD_TOKEN = textRef('health.login_token', { network: 'Matrix', variable: 'MATRIX_TOKEN' });

/** A refusal in the homeserver's format ("Standard error response"); kept as the cause of the error. */
class Refusal extends Error {
  readonly status: number;
  readonly errcode: string;

  constructor(status: number, errcode: string) {
    super(`The homeserver answered with status ${status} and ${errcode}.`);
    this.status = status;
    this.errcode = errcode;
  }
}

/** The connection broke or timed out, so that the homeserver may or may not have carried out the call. */
export class LostAnswer extends Error {}

const Body = z.object({ errcode: z.string(), retry_after_ms: z.number().optional().catch(undefined) });

/** Errors that say that the token is invalid. */
const TOKEN_ERRORS = new Set(['M_UNKNOWN_TOKEN', 'M_MISSING_TOKEN', 'M_USER_DEACTIVATED', 'M_USER_LOCKED']);

const MEANINGS: Readonly<Record<string, [ChannelErrorCode, string | TextRef]>> = {
  M_FORBIDDEN: [
    'blocked',
    'The bot is not allowed to do this in the Matrix room: it is not in it, or lacks the power.',
  ],
  M_GUEST_ACCESS_FORBIDDEN: ['blocked', 'The Matrix room admits no guests: give the bot a full account.'],
  M_USER_SUSPENDED: ['blocked', "The bot's account on the Matrix homeserver is suspended."],
  M_CONSENT_NOT_GIVEN: [
    'blocked',
    "The bot's account has not agreed to the terms of its Matrix homeserver: log in with it once and agree.",
  ],
  M_TOO_LARGE: ['rejected', 'This is too large for the Matrix homeserver.'],
  M_NOT_FOUND: ['rejected', 'The Matrix homeserver does not have this.'],
};

/** The wait in milliseconds if the homeserver reports a limit without a time. */
const LIMIT_MS = 5_000;
/** Longest wait that is respected, in milliseconds. */
const MAX_LIMIT_MS = 3_600_000;

/** The code in the homeserver's refusal; undefined for any other failure. */
export function errcodeOf(error: unknown): string | undefined {
  const cause = error instanceof ChannelError ? error.cause : error;
  return cause instanceof Refusal ? cause.errcode : undefined;
}

/** True if the token of the call is refused. */
export function isTokenError(error: unknown): boolean {
  return TOKEN_ERRORS.has(errcodeOf(error) ?? '');
}

export function isAnswerLost(error: unknown): boolean {
  return error instanceof ChannelError && error.cause instanceof LostAnswer;
}

/** The error for an answer that is not a success. */
export function refusalOf(
  status: number,
  body: unknown,
  retryAfter: string | undefined,
  now: number,
): ChannelError {
  const { data } = Body.safeParse(body);
  const cause = new Refusal(status, /^[A-Z_]{3,60}$/.exec(data?.errcode ?? '')?.[0] ?? 'no code');
  const { errcode } = cause;
  if (status === 429 || errcode === 'M_LIMIT_EXCEEDED')
    return rateLimited(data?.retry_after_ms ?? waitOf(retryAfter, now), cause);
  if (data === undefined || status >= 500)
    return channelUnavailable(
      textRef('health.answered', { network: 'Matrix', status: String(status) }),
      cause,
    );
  if (TOKEN_ERRORS.has(errcode))
    return new ChannelError('unauthorized', BAD_TOKEN, { retryable: true, cause });
  if (errcode === 'M_RESOURCE_LIMIT_EXCEEDED')
    return channelUnavailable(textRef('health.at_limit', { network: 'Matrix' }), cause);
  const [code, message] = MEANINGS[errcode] ?? [
    'rejected',
    textRef('health.refused', { network: 'Matrix', detail: errcode }),
  ];
  return new ChannelError(code, message, { cause });
}

/** `Retry-After`: seconds, or a date. In milliseconds. */
function waitOf(header: string | undefined, now: number): number {
  if (header === undefined) return LIMIT_MS;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? LIMIT_MS : ms;
}

/** A refusal that names the wait, which applies to the whole account. `local`: no call was made. */
export function rateLimited(ms: number, cause?: unknown, local = false): ChannelError {
  const retryAfterMs = Math.min(MAX_LIMIT_MS, Math.max(1, Math.ceil(ms)));
  const message = textRef('health.wait', { network: 'Matrix', ms: retryAfterMs });
  return new ChannelError('rate_limited', message, {
    retryable: true,
    retryAfterMs,
    local,
    global: true,
    cause,
  });
}
