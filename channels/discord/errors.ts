/** Converts Discord's refusals and failures to `ChannelError`. */
import {
  DiscordAPIError,
  GatewayCloseCodes,
  HTTPError,
  RateLimitError,
  RESTJSONErrorCodes as Codes,
  type RESTOptions,
} from 'discord.js';
import { z } from 'zod';
import {
  ChannelError,
  type ChannelErrorCode,
  channelUnavailable,
  messageOf,
} from '../../src/protocol/errors.ts';
import { textRef, type TextRef } from '../../src/protocol/texts/say.ts';
import { parseJson } from '../../src/lib/json/json.ts';

export const BAD_TOKEN = textRef('health.portal_token', {
  network: 'Discord',
  variable: 'DISCORD_BOT_TOKEN',
});

/** The wait in milliseconds if Discord reports a write limit (20028) without a time. */
const WRITE_LIMIT_MS = 5_000;

const OLD_MESSAGE = 'Discord accepts no more edits of this message, because it is over an hour old.';

/** What Discord's error codes mean for the gateway. */
const MEANINGS = new Map<number | string, [ChannelErrorCode, string | TextRef]>([
  [
    Codes.UnknownChannel,
    ['blocked', 'Discord does not know this channel: it was deleted, or the bot was removed from it.'],
  ],
  [Codes.UnknownMessage, ['message_gone', 'The Discord message no longer exists.']],
  [Codes.UnknownWebhook, ['message_gone', 'The reply to this Discord command can no longer be edited.']],
  [
    Codes.UnknownInteraction,
    ['message_gone', 'The Discord command expired before it was acknowledged (3 seconds).'],
  ],
  [Codes.ChannelSendRateLimit, ['rate_limited', 'Discord limits writes to this channel.']],
  [Codes.MaximumNumberOfEditsToMessagesOlderThanOneHourReached, ['message_gone', OLD_MESSAGE]],
  [
    Codes.InteractionHasAlreadyBeenAcknowledged,
    ['rejected', 'The Discord command was already acknowledged.'],
  ],
  [Codes.MissingAccess, ['blocked', textRef('health.unseen', { network: 'Discord' })]],
  [
    Codes.CannotEditMessageAuthoredByAnotherUser,
    ['message_gone', 'The Discord message was written by someone else and cannot be edited.'],
  ],
  [Codes.CannotSendAnEmptyMessage, ['rejected', 'Discord does not accept an empty message.']],
  [
    Codes.CannotSendMessagesToThisUser,
    ['blocked', 'This person does not accept direct messages from the bot on Discord.'],
  ],
  [Codes.MissingPermissions, ['blocked', textRef('health.forbidden', { network: 'Discord' })]],
  [
    Codes.InvalidWebhookToken,
    ['message_gone', 'This Discord command is over 15 minutes old: its reply can no longer be edited.'],
  ],
  [Codes.InvalidActionOnArchivedThread, ['blocked', textRef('health.archived', { network: 'Discord' })]],
  [Codes.ThreadLocked, ['blocked', textRef('health.locked', { network: 'Discord' })]],
  [
    Codes.MessageWasBlockedByAutomaticModeration,
    ['rejected', "Discord's AutoMod blocked the text: the server's rules forbid something in it."],
  ],
]);

/** Converts any error of a REST call to a `ChannelError` whose cause is the original error. */
export function toChannelError(error: unknown): ChannelError {
  if (error instanceof ChannelError) return error;
  if (error instanceof RateLimitError) {
    const retryAfterMs = Math.ceil(Math.max(error.retryAfter, error.sublimitTimeout, 1));
    return rateLimited(retryAfterMs, { local: true, cause: error });
  }
  if (error instanceof DiscordAPIError) return fromRefusal(error);
  if (error instanceof HTTPError) {
    const status = String(error.status);
    return channelUnavailable(textRef('health.answered', { network: 'Discord', status }), error);
  }
  return channelUnavailable(textRef('health.unreachable', { network: 'Discord' }), error);
}

function fromRefusal(error: DiscordAPIError): ChannelError {
  const { code, status } = error;
  const [meaning, text] = MEANINGS.get(code) ?? [];
  if (meaning !== undefined && text !== undefined) {
    return meaning === 'rate_limited'
      ? rateLimited(WRITE_LIMIT_MS, { cause: error })
      : new ChannelError(meaning, text, { retryable: isMissingPermission(error), cause: error });
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

/** Converts the refusal of an edit, after which a new message can show the text. Returns other errors unchanged. */
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
  const { MissingAccess, MissingPermissions, InvalidActionOnArchivedThread, ThreadLocked } = Codes;
  return hasCode(error, MissingAccess, MissingPermissions, InvalidActionOnArchivedThread, ThreadLocked);
}

/** True for a Discord error with one of these codes. */
export function hasCode(error: unknown, ...codes: number[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}

const Limited = z.object({
  retry_after: z.number().optional(),
  global: z.boolean().default(false),
  code: z.number().optional(),
});

/** Reads a 429 (Discord's documentation, "Rate Limits"). `retryAfterMs` is undefined if it names no time. */
export async function fromTooMany(
  response: Awaited<ReturnType<RESTOptions['makeRequest']>>,
): Promise<ChannelError> {
  const body = Limited.safeParse(parseJson(await response.text())).data;
  if (body?.code === Codes.MaximumNumberOfEditsToMessagesOlderThanOneHourReached)
    return new ChannelError('message_gone', OLD_MESSAGE);
  const seconds = Math.max(Number(response.headers.get('Retry-After') ?? 0) || 0, body?.retry_after ?? 0);
  return new ChannelError('rate_limited', 'Discord asks for a pause.', {
    retryable: true,
    ...(seconds > 0 && { retryAfterMs: Math.ceil(seconds * 1_000) }),
    global: body?.global ?? false,
  });
}

/** A refusal that names the wait. `local`: the call is not made at all, because Discord has asked the bot to wait. */
export function rateLimited(
  retryAfterMs: number,
  details: { local?: boolean; global?: boolean; cause?: unknown } = {},
): ChannelError {
  const message = textRef('health.wait', { network: 'Discord', ms: retryAfterMs });
  return new ChannelError('rate_limited', message, { retryable: true, retryAfterMs, ...details });
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

/** The refusal of a token, if that is why an attempt to connect failed; undefined for anything that is worth a retry. */
export function refusedToken(error: unknown): ChannelError | undefined {
  return error instanceof ChannelError && error.code === 'unauthorized' ? error : undefined;
}
