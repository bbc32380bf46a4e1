/** Reads the messages of a channel or thread, and what was written in a thread before a message. */
import { MessageType, Routes } from 'discord.js';
import { z } from 'zod';
import type { EarlierMessage } from '../../../src/protocol/channel.ts';
import type { DiscordRest } from '../rest.ts';
import { readMessages, toEarlier } from './inbound.ts';

const Starter = z.looseObject({
  type: z.literal(MessageType.ThreadStarterMessage),
  referenced_message: z.unknown(),
});

/**
 * At most `limit` messages of a channel or thread, unread (`GET /channels/{id}/messages`): those nearest `before` or
 * `after`, else the newest. `bucket` names their rate limit. Throws `ChannelError`.
 */
export async function listMessages(
  rest: DiscordRest,
  channelId: string,
  range: { limit: number; before?: string | undefined; after?: string | undefined },
  { bucket, signal }: { bucket: string; signal?: AbortSignal },
): Promise<unknown[]> {
  const { limit, ...ends } = range;
  const query = new URLSearchParams({ limit: String(limit) });
  for (const [name, id] of Object.entries(ends)) if (id !== undefined) query.set(name, id);
  const path = Routes.channelMessages(channelId);
  return z
    .array(z.unknown())
    .catch([])
    .parse(await rest.call({ method: 'get', path, bucket, query, signal }));
}

/** The newest `limit` messages before a message, or until now; oldest first. Throws `ChannelError`. */
export async function readThread(
  rest: DiscordRest,
  botId: string,
  threadId: string,
  { messageId, limit }: { messageId: string | undefined; limit: number },
): Promise<EarlierMessage[]> {
  const range = { limit, before: messageId };
  const raw = await listMessages(rest, threadId, range, { bucket: `before ${threadId}` });
  // A thread that was started from a message begins with a line that contains that message.
  const messages = raw.map((one) => Starter.safeParse(one).data?.referenced_message ?? one);
  return readMessages(messages).flatMap((one) => toEarlier(one, botId) ?? []);
}
