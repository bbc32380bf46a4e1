/** What was written in a thread before a message. */
import { MessageType, Routes } from 'discord.js';
import { z } from 'zod';
import type { EarlierMessage } from '../../../src/protocol/channel.ts';
import type { DiscordRest } from '../rest.ts';
import { readMessages, toEarlier } from './inbound.ts';

const Starter = z.looseObject({
  type: z.literal(MessageType.ThreadStarterMessage),
  referenced_message: z.unknown(),
});

/** The newest `limit` messages before a message, or until now; oldest first. Throws `ChannelError`. */
export async function readThread(
  rest: DiscordRest,
  botId: string,
  threadId: string,
  { messageId, limit }: { messageId: string | undefined; limit: number },
): Promise<EarlierMessage[]> {
  const query = new URLSearchParams({ limit: String(limit), ...(messageId && { before: messageId }) });
  const path = Routes.channelMessages(threadId);
  const answer = await rest.call({ method: 'get', path, bucket: `before ${threadId}`, query });
  const raw = z.array(z.unknown()).catch([]).parse(answer);
  // A thread that was started from a message begins with a line that contains that message.
  const messages = raw.map((one) => Starter.safeParse(one).data?.referenced_message ?? one);
  return readMessages(messages).flatMap((one) => toEarlier(one, botId) ?? []);
}
