/** Converts Discord's refusals and failures to `ChannelError`. */
import { DiscordAPIError, HTTPError, RateLimitError } from '@discordjs/rest';
import { GatewayCloseCodes } from 'discord-api-types/v10';
import { z } from 'zod';
import {
  ChannelError,
  type ChannelErrorCode,
  channelUnavailable,
  messageOf,
} from '../../src/protocol/errors.ts';
import { textRef, type TextRef } from '../../src/protocol/texts/say.ts';
import { PrivateFieldError } from './gateway/private-fields.ts';
import { parseJson } from '../../src/lib/json/json.ts';

export const BAD_TOKEN = textRef('health.portal_token', {
  network: 'Discord',
  variable: 'DISCORD_BOT_TOKEN',
});

/** The wait in milliseconds if Discord reports a write limit (20028) without a time. */
const WRITE_LIMIT_MS = 5_000;

/** JSON error codes (Discord's documentation, "JSON Error Codes") and what they mean for the gateway. */
const MEANINGS: Readonly<Record<number, [ChannelErrorCode, string | TextRef]>> = {
  10_003: ['blocked', 'Discord does not know this channel: it was deleted, or the bot was removed from it.'],
  10_008: ['message_gone', 'The Discord message no longer exists.'],
  10_015: ['message_gone', 'The reply to this Discord command can no longer be edited.'],
  10_062: ['message_gone', 'The Discord command expired before it was acknowledged (3 seconds).'],
  20_028: ['rate_limited', 'Discord limits writes to this channel.'],
  30_046: ['message_gone', 'Discord accepts no more edits of this message, because it is over an hour old.'],
  40_060: ['rejected', 'The Discord command was already acknowledged.'],
  50_001: ['blocked', textRef('health.unseen', { network: 'Discord' })],
  50_005: ['message_gone', 'The Discord message was written by someone else and cannot be edited.'],
  50_006: ['rejected', 'Discord does not accept an empty message.'],
  50_007: ['blocked', 'This person takes no direct messages from the bot on Discord.'],
  50_013: ['blocked', textRef('health.forbidden', { network: 'Discord' })],
  50_027: [
    'message_gone',
    'The reply to this Discord command can no longer be edited: its 15 minutes have passed.',
  ],
  50_083: ['blocked', textRef('health.archived', { network: 'Discord' })],
  160_005: ['blocked', textRef('health.locked', { network: 'Discord' })],
  200_000: ['rejected', "Discord's AutoMod blocked the text: the server's rules forbid something in it."],
};

/** Converts any error of a REST call to a `ChannelError` whose cause is the original error. */
export function toChannelError(error: unknown): ChannelError {
  if (error instanceof ChannelError) return error;
  if (error instanceof RateLimitError) {
    const retryAfterMs = Math.ceil(Math.max(error.retryAfter, error.sublimitTimeout, 1));
    return heldBack(retryAfterMs, error);
  }
  if (error instanceof DiscordAPIError) return fromRefusal(error);
  if (error instanceof HTTPError)
    return channelUnavailable(
      textRef('health.answered', { network: 'Discord', status: String(error.status) }),
      error,
    );
  return channelUnavailable(textRef('health.unreachable', { network: 'Discord' }), error);
}

function fromRefusal(error: DiscordAPIError): ChannelError {
  const { code, status } = error;
  const known = typeof code === 'number' ? MEANINGS[code] : undefined;
  if (known !== undefined) {
    const [meaning, message] = known;
    return meaning === 'rate_limited'
      ? rateLimited(WRITE_LIMIT_MS, error)
      : new ChannelError(meaning, message, { retryable: isMissingPermission(error), cause: error });
  }
  if (status === 401) return new ChannelError('unauthorized', BAD_TOKEN, { cause: error });
  // Discord's own refusals are JSON with a number; this one came from a server in front of it.
  if (typeof code !== 'number')
    return channelUnavailable(textRef('health.foreign', { network: 'Discord' }), error);
  if (error.message.includes('message_reference'))
    return new ChannelError('place_gone', 'The Discord message to reply to is gone.', { cause: error });
  const isPlace = status === 403 || status === 404;
  const message = textRef('health.refused', { network: 'Discord', detail: error.message.slice(0, 300) });
  return new ChannelError(isPlace ? 'blocked' : 'rejected', message, { cause: error });
}

/**
 * Converts the refusal of an edit: whatever it forbids, the text can still be shown in a new message. Returns other
 * errors unchanged.
 */
export function toEditError(error: unknown): unknown {
  if (!(error instanceof ChannelError)) return error;
  if (error.code !== 'rejected' && error.code !== 'blocked') return error;
  return new ChannelError('message_gone', messageOf(error), { cause: error.cause });
}

/** True if the message to change is gone or can no longer be changed. */
export function isGone(error: unknown): boolean {
  return error instanceof ChannelError && error.code === 'message_gone';
}

/** True if people can fix the refusal by giving the bot a permission. */
export function lacksPermission({ code, cause }: ChannelError): boolean {
  return code === 'blocked' && isMissingPermission(cause);
}

function isMissingPermission(error: unknown): boolean {
  return [50_001, 50_013, 50_083, 160_005].some((code) => hasCode(error, code));
}

/** True for a Discord error with this JSON error code. */
export function hasCode(error: unknown, code: number): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

const Limited = z.object({
  retry_after: z.number().optional(),
  global: z.boolean().default(false),
  code: z.number().optional(),
});

/** Reads a 429 (Discord's documentation, "Rate Limits"). `retryAfterMs` is undefined if it names no time. */
export async function fromTooMany(
  response: Pick<Response, 'text'> & { headers: { get(name: string): string | null } },
): Promise<ChannelError> {
  const body = Limited.safeParse(parseJson(await response.text())).data;
  if (body?.code === 30_046) return new ChannelError(...(MEANINGS[30_046] ?? ['message_gone', '']));
  const seconds = Math.max(Number(response.headers.get('Retry-After') ?? 0) || 0, body?.retry_after ?? 0);
  const retryAfterMs = seconds > 0 ? Math.ceil(seconds * 1_000) : undefined;
  return new ChannelError('rate_limited', 'Discord asks to wait.', {
    retryable: true,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    global: body?.global ?? false,
  });
}

/** A call that is not made at all, because Discord has asked the bot to wait. */
export function heldBack(retryAfterMs: number, cause?: unknown): ChannelError {
  const message = textRef('health.wait', { network: 'Discord', ms: retryAfterMs });
  return new ChannelError('rate_limited', message, { retryable: true, retryAfterMs, local: true, cause });
}

/** A refusal that names the wait. */
function rateLimited(retryAfterMs: number, cause?: unknown): ChannelError {
  const message = textRef('health.wait', { network: 'Discord', ms: retryAfterMs });
  return new ChannelError('rate_limited', message, { retryable: true, retryAfterMs, cause });
}

/** True if the connection broke or timed out, so that Discord may or may not have carried out the call. */
export function isAnswerLost(error: unknown): boolean {
  if (!(error instanceof ChannelError) || error.code !== 'unavailable') return false;
  const { cause } = error;
  return !(cause instanceof HTTPError || cause instanceof DiscordAPIError || cause instanceof ChannelError);
}

/** The health of a bot that has just started. */
export const CONNECTING = textRef('health.connecting', { network: 'Discord' });

/** The health of a bot whose privileged intent Discord refuses (close code 4014). */
export const NO_MESSAGE_CONTENT = textRef('health.no_content', { network: 'Discord' });

/** Gateway close codes after which a reconnect cannot help, and how to fix each. */
const FATAL_CLOSES: ReadonlyMap<number, [ChannelErrorCode, string | TextRef]> = new Map([
  [GatewayCloseCodes.AuthenticationFailed, ['unauthorized', BAD_TOKEN]],
  [GatewayCloseCodes.ShardingRequired, ['rejected', textRef('health.more_shards', { network: 'Discord' })]],
  [GatewayCloseCodes.InvalidShard, ['rejected', textRef('health.bad_shard', { network: 'Discord' })]],
  [GatewayCloseCodes.InvalidAPIVersion, ['rejected', textRef('health.bad_version', { network: 'Discord' })]],
  [GatewayCloseCodes.InvalidIntents, ['rejected', textRef('health.bad_intents', { network: 'Discord' })]],
]);

/** The meaning of an unrecoverable gateway close code; undefined for all others. */
export function fatalClose(code: number): ChannelError | undefined {
  const fatal = FATAL_CLOSES.get(code);
  return fatal === undefined ? undefined : new ChannelError(...fatal);
}

/**
 * The meaning of a failed attempt to connect: a refused token or a different discord.js version; undefined for
 * anything else, which should be retried soon.
 */
export function fatalError(error: unknown): ChannelError | undefined {
  if (error instanceof PrivateFieldError)
    return new ChannelError('rejected', error.message, { cause: error });
  return error instanceof ChannelError && error.code === 'unauthorized' ? error : undefined;
}
