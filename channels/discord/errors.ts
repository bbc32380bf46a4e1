/** Discord's refusals and failures, turned once into the gateway's `ChannelError`. */
import { DiscordAPIError, GatewayCloseCodes, HTTPError, RateLimitError } from 'discord.js';
import { ChannelError } from '../../src/contracts/errors.ts';
import type { ChannelErrorCode } from '../../src/contracts/errors.ts';

const BAD_TOKEN =
  'Discord refused the bot token: copy the one from the Developer Portal (your application, Bot, Reset Token) into DISCORD_BOT_TOKEN and restart.';

/** The wait when Discord names a write limit (20028) without a time. */
const WRITE_LIMIT_MS = 5_000;

/** JSON error codes (Discord's documentation, "JSON Error Codes") and what they mean for the gateway. */
const MEANINGS: Readonly<Record<number, [ChannelErrorCode, string]>> = {
  10_003: ['blocked', 'Discord does not know this channel: it was deleted, or the bot was removed from it.'],
  10_008: ['message_gone', 'The Discord message no longer exists.'],
  10_015: ['message_gone', 'The reply to this Discord command can no longer be edited.'],
  10_062: ['message_gone', 'The Discord command expired before it was acknowledged (3 seconds).'],
  20_028: ['rate_limited', 'Discord limits writes to this channel.'],
  40_060: ['rejected', 'The Discord command was already acknowledged.'],
  50_001: ['blocked', 'The bot cannot see this Discord channel: give it the permission View Channel.'],
  50_005: ['message_gone', 'The Discord message belongs to somebody else and cannot be edited.'],
  50_006: ['rejected', 'Discord does not take an empty message.'],
  50_007: ['blocked', 'This person takes no direct messages from the bot on Discord.'],
  50_013: [
    'rejected',
    'The bot may not do this on Discord: give it the permission Send Messages in this channel.',
  ],
  50_027: [
    'message_gone',
    'The reply to this Discord command can no longer be edited: its 15 minutes are over.',
  ],
  50_083: ['rejected', 'The Discord thread is archived: unarchive it to write there.'],
};

/** Turns whatever a REST call threw into a `ChannelError`. The foreign error stays as its cause. */
export function toChannelError(error: unknown): ChannelError {
  if (error instanceof ChannelError) return error;
  if (error instanceof RateLimitError) {
    const retryAfterMs = Math.ceil(Math.max(error.retryAfter, error.sublimitTimeout, 1));
    return rateLimited(retryAfterMs, error);
  }
  if (error instanceof DiscordAPIError) return fromRefusal(error);
  if (error instanceof HTTPError)
    return unavailable(`Discord answered with status ${error.status}; the call is tried again.`, error);
  // What @discordjs/rest says once a 401 has made it forget the token: nothing more is sent with it.
  if (error instanceof Error && error.message.startsWith('Expected token to be set'))
    return new ChannelError('unauthorized', BAD_TOKEN, { cause: error });
  return unavailable('Discord cannot be reached; the call is tried again.', error);
}

function fromRefusal(error: DiscordAPIError): ChannelError {
  const known = typeof error.code === 'number' ? MEANINGS[error.code] : undefined;
  if (known !== undefined) {
    const [code, message] = known;
    return code === 'rate_limited'
      ? rateLimited(WRITE_LIMIT_MS, error)
      : new ChannelError(code, message, { cause: error });
  }
  if (error.status === 401) return new ChannelError('unauthorized', BAD_TOKEN, { cause: error });
  if (error.status === 429) return rateLimited(WRITE_LIMIT_MS, error);
  if (error.message.includes('message_reference'))
    return new ChannelError('place_gone', 'The Discord message to reply to is gone.', { cause: error });
  return new ChannelError('rejected', `Discord refused the call: ${error.message.slice(0, 300)}`, {
    cause: error,
  });
}

export function rateLimited(retryAfterMs: number, cause?: unknown): ChannelError {
  const message = `Discord asks to wait ${retryAfterMs} ms.`;
  return new ChannelError('rate_limited', message, { retryable: true, retryAfterMs, cause });
}

function unavailable(message: string, cause: unknown): ChannelError {
  return new ChannelError('unavailable', message, { retryable: true, cause });
}

/** True when the connection broke or timed out, so that nobody knows whether Discord did what was asked. */
export function isAnswerLost(error: unknown): boolean {
  return error instanceof ChannelError && error.code === 'unavailable' && !(error.cause instanceof HTTPError);
}

/** Gateway close codes after which a reconnect cannot help, and what to do about each. */
const FATAL_CLOSES: ReadonlyMap<number, [ChannelErrorCode, string]> = new Map([
  [GatewayCloseCodes.AuthenticationFailed, ['unauthorized', BAD_TOKEN]],
  [
    GatewayCloseCodes.DisallowedIntents,
    [
      'rejected',
      'Discord refused the bot its messages (4014): switch on "Message Content Intent" in the Developer Portal (your application, Bot, Privileged Gateway Intents) and restart.',
    ],
  ],
  [
    GatewayCloseCodes.ShardingRequired,
    ['rejected', 'Discord demands sharding (4011): Parley serves bots in fewer than 2,500 servers.'],
  ],
  [GatewayCloseCodes.InvalidShard, ['rejected', 'Discord refused the shard (4010): update Parley.']],
  [
    GatewayCloseCodes.InvalidAPIVersion,
    ['rejected', 'Discord refused the API version (4012): update Parley.'],
  ],
  [GatewayCloseCodes.InvalidIntents, ['rejected', 'Discord refused the intents (4013): update Parley.']],
]);

/** What an unrecoverable gateway close code means; undefined for all others. */
export function fatalClose(code: number): ChannelError | undefined {
  const fatal = FATAL_CLOSES.get(code);
  return fatal === undefined ? undefined : new ChannelError(...fatal);
}

/** What a failed login means: fatal for a refused token, else undefined: try again. */
export function fatalLogin(error: unknown): ChannelError | undefined {
  const refused = error instanceof Error && 'code' in error && error.code === 'TokenInvalid';
  return refused ? new ChannelError('unauthorized', BAD_TOKEN, { cause: error }) : undefined;
}
