/**
 * Reads what was said while there was no connection: in the channels, direct messages and threads in which the bot is
 * used.
 */
import { z } from 'zod';
import type { ConnectionStore } from '../../../src/protocol/receive.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { parseAddress, type Place } from '../../../src/protocol/message.ts';
import { sleep } from '../../../src/lib/async/sleep.ts';
import { type RawMessage, readMessage } from '../events.ts';
import { targetOf } from '../message-fields.ts';
import type { SlackApi } from '../web-api.ts';
import { isRetryable } from '../../../src/protocol/errors.ts';
import { retryWhile } from '../../../src/lib/async/retry.ts';

/** Chats whose session changed within this time are read, no matter how long ago messages were missed in them. */
const HEARD_WITHIN_MS = 30 * 24 * 3_600_000;
/**
 * Maximum number of chats and threads read after one outage, the most recently used first: at 48 a minute this takes
 * four minutes.
 */
export const MAX_CHATS_READ = 200;
/** Messages per call, and calls per chat or thread. */
const PAGE = 100;
export const MAX_PAGES = 5;
/** Older messages are not answered: after seven days the gateway forgets which ones it has answered. */
const MAX_AGE_MS = 6 * 24 * 3_600_000;
/**
 * Reading starts this long before the time up to which everything was received: the clocks of Slack and this machine
 * differ.
 */
const LOOK_BACK_MS = 2 * 60_000;

const Page = z.object({
  messages: z.array(z.unknown()),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional().catch(undefined),
});

export interface CatchUpParts {
  api: Pick<SlackApi, 'call'>;
  connections: Pick<ConnectionStore, 'heardChats'>;
  gateway: Pick<GatewayApi, 'groups'>;
  log: Log;
  epochNow: () => number;
  signal: AbortSignal;
  /** Minimum time between two calls, in milliseconds: `conversations.history` is in Tier 3, 50 calls a minute. */
  spacingMs: number;
}

/** What to read of each chat: the chat itself, and threads in it; and how many were left out. */
export interface ToRead {
  chats: Map<string, Place[]>;
  leftOut: number;
}

/** The chats that were used most recently or are allowed. Throws `StoreError`. */
export async function chatsToRead(
  { connections, gateway, log, epochNow }: CatchUpParts,
  heardAt: number,
): Promise<ToRead> {
  const range = { since: epochNow() - HEARD_WITHIN_MS, limit: MAX_CHATS_READ };
  const [heard, groups] = await Promise.all([
    connections.heardChats('slack', range),
    gateway.groups('slack'),
  ]);
  const places = new Map<string, Place>();
  for (const { address } of heard.chats) places.set(address, parseAddress(address));
  for (const chatId of groups) places.set(`slack:${chatId}`, { channel: 'slack', chatId });
  const read = [...places.values()].slice(0, MAX_CHATS_READ);
  const leftOut = heard.total - heard.chats.length + places.size - read.length;
  log.info({ chats: read.length, leftOut, heardAt }, 'slack_catch_up');
  const chats = Map.groupBy(read, ({ chatId }) => chatId);
  return { chats, leftOut };
}

/** The messages of a chat and its threads since `heardAt`, oldest first, and whether any were left out. Throws only the signal's reason. */
export async function missedIn(
  parts: CatchUpParts,
  places: readonly Place[],
  heardAt: number,
): Promise<{ messages: RawMessage[]; isWhole: boolean }> {
  const since = Math.max(heardAt - LOOK_BACK_MS, parts.epochNow() - MAX_AGE_MS);
  const all = new Map<string, RawMessage>();
  let isWhole = true;
  for (const place of places) {
    try {
      isWhole &&= await readPlace(parts, place, since, all);
    } catch (error) {
      parts.signal.throwIfAborted();
      parts.log.warn({ err: error, chatId: place.chatId, threadId: place.threadId }, 'slack_chat_unreadable');
      isWhole = false;
    }
  }
  // A thread's first message is returned with its replies, however old it is.
  const recent = [...all.values()].filter(({ ts }) => Number(ts) * 1_000 >= since);
  return { messages: recent.toSorted((one, other) => Number(one.ts) - Number(other.ts)), isWhole };
}

/** False if there is more. */
async function readPlace(
  parts: CatchUpParts,
  place: Place,
  since: number,
  all: Map<string, RawMessage>,
): Promise<boolean> {
  const { chatId, threadId } = place;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await retryWhile(isRetryable, () => ask(parts, place, since, cursor), parts.signal);
    const { messages = [], response_metadata: more } = Page.safeParse(answer).data ?? {};
    for (const message of messages.flatMap((one) => readMessage(one, chatId) ?? []))
      all.set(message.ts, message);
    cursor = more?.next_cursor;
    if (cursor === undefined || cursor === '') return true;
  }
  parts.log.warn({ chatId, threadId }, 'slack_history_truncated');
  return false;
}

async function ask(
  { api, spacingMs, signal }: CatchUpParts,
  place: Place,
  since: number,
  cursor: string | undefined,
): Promise<unknown> {
  await sleep(spacingMs, signal);
  const { channel, thread_ts: ts } = targetOf(place);
  const range = { channel, oldest: (since / 1_000).toFixed(6), limit: PAGE, ...(cursor && { cursor }) };
  return ts === undefined
    ? await api.call('conversations.history', range)
    : await api.call('conversations.replies', { ...range, ts });
}
