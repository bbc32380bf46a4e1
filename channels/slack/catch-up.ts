/** What was missed while not connected: read chat by chat, each before anything newer in it is committed. */
import { z } from 'zod';
import type { ChannelDeps } from '../../src/protocol/channel.ts';
import { HEARD_WITHIN_MS, MAX_MISSED_AGE_MS } from '../../src/protocol/channel-parts.ts';
import { isRetryable, toGatewayError } from '../../src/protocol/errors.ts';
import { parseAddress, type Place } from '../../src/protocol/message.ts';
import { backoffMs } from '../../src/lib/async/backoff.ts';
import { retryWhile } from '../../src/lib/async/retry.ts';
import { pause, sleep } from '../../src/lib/async/sleep.ts';
import { type RawMessage, readMessage } from './events.ts';
import { targetOf } from './sending.ts';
import type { SlackApi, SlackTiming } from './web-api.ts';

/** Chats and threads read after one outage, the most recently used first: at 48 a minute this takes four minutes. */
export const MAX_CHATS_READ = 200;
/** Messages per call, and calls per chat or thread. */
const PAGE = 100;
export const MAX_PAGES = 5;

/** Reading starts this long before the time that was reached: the clocks of Slack and this machine differ. */
const LOOK_BACK_MS = 2 * 60_000;

const Page = z.object({
  messages: z.array(z.unknown()),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional().catch(undefined),
});

/** Longest wait before the store is asked again for the chats to read, in milliseconds. */
const RETRY_CAP_MS = 30_000;

export class Gaps {
  readonly #api: SlackApi;
  readonly #deps: ChannelDeps;
  readonly #timing: SlackTiming;
  readonly #signal: AbortSignal;
  readonly #commit: (message: RawMessage) => Promise<void>;
  /** Resolves once it is known which chats may have gaps. */
  #listed: Promise<void> = Promise.resolve();
  /** Reads the gap in a chat, once. */
  readonly #reads = new Map<string, () => Promise<void>>();

  /** `commit` commits a missed message; it throws the signal's reason. */
  constructor(
    api: SlackApi,
    deps: ChannelDeps,
    timing: SlackTiming,
    signal: AbortSignal,
    commit: (message: RawMessage) => Promise<void>,
  ) {
    this.#api = api;
    this.#deps = deps;
    this.#timing = timing;
    this.#signal = signal;
    this.#commit = commit;
  }

  /** Reads everything since `heardAt`; returns in how many chats something was left out. Throws the signal's reason. */
  async close(heardAt: number): Promise<number> {
    const truncated = { chats: 0 };
    this.#listed = this.#list(heardAt, truncated);
    await this.#listed;
    for (const read of this.#reads.values()) await read();
    return truncated.chats;
  }

  /** Waits until a chat has no gap. Throws the signal's reason. */
  async before(chatId: string): Promise<void> {
    await this.#listed;
    await this.#reads.get(chatId)?.();
  }

  async #list(heardAt: number, truncated: { chats: number }): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      this.#signal.throwIfAborted();
      try {
        const { chats, leftOut } = await this.#chatsToRead(heardAt);
        truncated.chats += leftOut;
        for (const [chatId, places] of chats) {
          let reading: Promise<void> | undefined;
          const read = async (): Promise<void> => {
            const { messages, isWhole } = await this.#missedIn(places, heardAt);
            if (!isWhole) truncated.chats += 1;
            for (const message of messages) await this.#commit(message);
            this.#reads.delete(chatId);
          };
          this.#reads.set(chatId, () => (reading ??= read()));
        }
        return;
      } catch (error) {
        this.#signal.throwIfAborted();
        this.#deps.log.warn({ err: toGatewayError(error) }, 'slack_catch_up_delayed');
        await pause(backoffMs(attempt, this.#timing.retryBaseMs, RETRY_CAP_MS), this.#signal);
      }
    }
  }

  /** The chats to read, each with its parts, and how many were left out. Throws `StoreError`. */
  async #chatsToRead(heardAt: number): Promise<{ chats: Map<string, Place[]>; leftOut: number }> {
    const { connections, gateway, log } = this.#deps;
    const range = { since: this.#timing.epochNow() - HEARD_WITHIN_MS, limit: MAX_CHATS_READ };
    const [recent, groups] = await Promise.all([
      connections.heardChats('slack', range),
      gateway.groups('slack'),
    ]);
    const places = new Map<string, Place>();
    for (const { address } of recent.chats) places.set(address, parseAddress(address));
    for (const chatId of groups) places.set(`slack:${chatId}`, { channel: 'slack', chatId });
    const readable = [...places.values()].slice(0, MAX_CHATS_READ);
    const leftOut = recent.total - recent.chats.length + places.size - readable.length;
    log.info({ chats: readable.length, leftOut, heardAt }, 'slack_catch_up');
    return { chats: Map.groupBy(readable, ({ chatId }) => chatId), leftOut };
  }

  /** The messages of a chat and its threads since `heardAt`, oldest first, and whether any were left out. Throws only the signal's reason. */
  async #missedIn(
    places: readonly Place[],
    heardAt: number,
  ): Promise<{ messages: RawMessage[]; isWhole: boolean }> {
    const since = Math.max(heardAt - LOOK_BACK_MS, this.#timing.epochNow() - MAX_MISSED_AGE_MS);
    const all = new Map<string, RawMessage>();
    let isWhole = true;
    for (const place of places) {
      try {
        if (!(await this.#readPlace(place, since, all))) isWhole = false;
      } catch (error) {
        this.#signal.throwIfAborted();
        const { chatId, threadId } = place;
        this.#deps.log.warn({ err: error, chatId, threadId }, 'slack_chat_unreadable');
        isWhole = false;
      }
    }
    // A thread's first message is returned with its replies, however old it is.
    const recent = [...all.values()].filter(({ ts }) => Number(ts) * 1_000 >= since);
    return { messages: recent.toSorted((one, other) => Number(one.ts) - Number(other.ts)), isWhole };
  }

  /** Reads the messages of a chat or thread into `all`; false if there is more. */
  async #readPlace(place: Place, since: number, all: Map<string, RawMessage>): Promise<boolean> {
    const { chatId, threadId } = place;
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const answer = await retryWhile(isRetryable, () => this.#readPage(place, since, cursor), this.#signal);
      const { messages = [], response_metadata: more } = Page.safeParse(answer).data ?? {};
      for (const message of messages.flatMap((one) => readMessage(one, chatId) ?? []))
        all.set(message.ts, message);
      cursor = more?.next_cursor;
      if (cursor === undefined || cursor === '') return true;
    }
    this.#deps.log.warn({ chatId, threadId }, 'slack_history_truncated');
    return false;
  }

  async #readPage(place: Place, since: number, cursor: string | undefined): Promise<unknown> {
    await sleep(this.#timing.historySpacingMs, this.#signal);
    const { channel, thread_ts: ts } = targetOf(place);
    const range = { channel, oldest: (since / 1_000).toFixed(6), limit: PAGE, cursor: cursor || undefined };
    return ts === undefined
      ? await this.#api.call('conversations.history', range)
      : await this.#api.call('conversations.replies', { ...range, ts });
  }
}
