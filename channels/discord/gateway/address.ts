/** What Discord's REST API says about the gateway before a connection: its address, the daily limit, the bot's intents. */
import { z } from 'zod';
import { channelUnavailable } from '../../../src/protocol/errors.ts';
import { textRef } from '../../../src/protocol/texts/say.ts';
import { SessionStartLimit } from './identify-budget.ts';
import type { DiscordRest } from '../rest/rest.ts';

/** `GATEWAY_MESSAGE_CONTENT` and `GATEWAY_MESSAGE_CONTENT_LIMITED` of an application's flags: the intent is enabled. */
const CONTENT_FLAGS = (1 << 18) | (1 << 19);

/** Maximum number of connections of one bot: enough for a bot in two million servers. */
export const MAX_SHARDS = 1_000;

const GatewayBot = z.object({
  url: z.url({ protocol: /^wss?$/ }),
  shards: z.int().min(1).max(MAX_SHARDS).catch(1),
  session_start_limit: SessionStartLimit,
});
const Application = z.object({ flags: z.number() });

/** Where sessions start, how many connections Discord asks for, and how many sessions may start (`GET /gateway/bot`). Throws `ChannelError`. */
export async function readGateway(
  rest: DiscordRest,
  signal: AbortSignal,
): Promise<{ url: string; shards: number; limit: SessionStartLimit }> {
  const answer = await rest.call({ method: 'get', path: '/gateway/bot', bucket: 'gateway', signal });
  const { data } = GatewayBot.safeParse(answer);
  if (data !== undefined) return { url: data.url, shards: data.shards, limit: data.session_start_limit };
  throw channelUnavailable(textRef('health.no_address', { network: 'Discord' }));
}

/** Whether the bot's Message Content Intent is enabled (`GET /applications/@me`). Throws `ChannelError`. */
export async function isTextAllowed(rest: DiscordRest, signal: AbortSignal): Promise<boolean> {
  const answer = await rest.call({ method: 'get', path: '/applications/@me', bucket: 'application', signal });
  return ((Application.safeParse(answer).data?.flags ?? 0) & CONTENT_FLAGS) !== 0;
}
