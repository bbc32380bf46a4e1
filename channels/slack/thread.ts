/** What was written in a thread before a message (`conversations.replies`). */
import { z } from 'zod';
import type { EarlierMessage } from '../../src/protocol/channel.ts';
import type { Place } from '../../src/protocol/message.ts';
import { type RawMessage, readMessage } from './events.ts';
import { peopleIn, type Self, toEarlier } from './inbound.ts';
import type { People } from './people.ts';
import { targetOf } from './sending.ts';
import type { SlackApi } from './web-api.ts';

/** Messages per call, and calls for one span of time. */
export const PAGE = 200;
export const MAX_PAGES = 5;
/**
 * Slack gives a thread from its beginning. The end of a longer one is read from ever longer spans before it, in seconds,
 * until one has enough messages.
 */
const SPANS_S = [60, 3_600, 86_400, 30 * 86_400, Number.POSITIVE_INFINITY];

const Page = z.object({
  messages: z.array(z.unknown()).catch([]),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional().catch(undefined),
});

/** What reading a thread needs. */
interface ThreadReader {
  api: SlackApi;
  people: People;
  self: Self;
  epochNow: () => number;
}

/** The newest `limit` messages before a message, or until now; oldest first. Throws `ChannelError`. */
export async function readThread(
  { api, people, self, epochNow }: ThreadReader,
  place: Place,
  messageId: string | undefined,
  limit: number,
): Promise<EarlierMessage[]> {
  const { channel, thread_ts: ts } = targetOf(place);
  const range = { channel, ts, limit: PAGE, latest: messageId };
  let { messages, isMore } = await readPages(api, range, 1);
  const endS = messageId === undefined ? epochNow() / 1_000 : Number(messageId);
  for (const spanS of isMore ? SPANS_S : []) {
    const oldest = Math.max(0, endS - spanS).toFixed(6);
    ({ messages, isMore } = await readPages(api, { ...range, oldest }, MAX_PAGES));
    // Every page begins with the thread's first message.
    if (messages.filter((one) => one.ts !== ts).length >= limit) break;
  }
  const newest = messages.slice(-limit);
  const names = await people.names(newest.flatMap(peopleIn));
  return newest.flatMap((one) => toEarlier(one, self, names) ?? []);
}

/** The messages of a range, oldest first, at most `most` pages; `isMore`: there are later ones in it. */
async function readPages(
  api: SlackApi,
  range: { channel: string; latest: string | undefined } & Record<string, unknown>,
  most: number,
): Promise<{ messages: RawMessage[]; isMore: boolean }> {
  const read = new Map<string, RawMessage>();
  let cursor: string | undefined;
  for (let page = 0; page < most; page += 1) {
    const { messages, response_metadata: more } = Page.parse(
      await api.call('conversations.replies', { ...range, cursor }),
    );
    for (const one of messages.flatMap((raw) => readMessage(raw, range.channel) ?? []))
      if (range.latest === undefined || Number(one.ts) < Number(range.latest)) read.set(one.ts, one);
    cursor = more?.next_cursor || undefined;
    if (cursor === undefined) break;
  }
  return { messages: [...read.values()], isMore: cursor !== undefined };
}
