/** What was written in a thread before a message (`conversations.replies`). */
import { z } from 'zod';
import type { EarlierMessage } from '../../src/protocol/channel.ts';
import type { Place } from '../../src/protocol/message.ts';
import { type RawMessage, readMessage } from './events.ts';
import { peopleIn, type Self, toEarlier } from './inbound.ts';
import type { People } from './people.ts';
import { targetOf } from './sending.ts';
import type { SlackApi } from './web-api.ts';

/** Messages per call, and calls per thread: a thread is read from its beginning, and only its end is kept. */
export const PAGE = 200;
export const MAX_PAGES = 5;

const Page = z.object({
  messages: z.array(z.unknown()).catch([]),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional().catch(undefined),
});

/** The newest `limit` messages before a message, or until now; oldest first. Throws `ChannelError`. */
export async function readThread(
  { api, people, self }: { api: SlackApi; people: People; self: Self },
  place: Place,
  messageId: string | undefined,
  limit: number,
): Promise<EarlierMessage[]> {
  const { channel, thread_ts: ts } = targetOf(place);
  let newest: RawMessage[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const range = { channel, ts, limit: PAGE, latest: messageId, cursor };
    const { messages, response_metadata: more } = Page.parse(await api.call('conversations.replies', range));
    const read = messages.flatMap((one) => readMessage(one, channel) ?? []);
    const earlier = read.filter((one) => messageId === undefined || Number(one.ts) < Number(messageId));
    // Every page begins with the thread's first message.
    newest = [...new Map([...newest, ...earlier].map((one) => [one.ts, one])).values()].slice(-limit);
    cursor = more?.next_cursor || undefined;
    if (cursor === undefined) break;
  }
  const names = await people.names(newest.flatMap(peopleIn));
  return newest.flatMap((one) => toEarlier(one, self, names) ?? []);
}
