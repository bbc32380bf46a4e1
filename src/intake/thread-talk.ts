/** Threads of groups: what was said there before someone asked, and who may go on without naming the bot. */
import type { Channel, EarlierMessage } from '../protocol/channel.ts';
import { toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import { type Address, addressOf, type InboundMessage } from '../protocol/message.ts';
import { type GroupChatStore, MAX_OBSERVED, type QuestionStore } from '../protocol/store/group-chats.ts';
import type { SessionStore } from '../protocol/store/ledger.ts';
import { waitAtMost } from '../lib/async/sleep.ts';
import { TtlCache } from '../lib/ttl-cache.ts';
import { observedMessage } from './observed-message.ts';

/** Threads that are remembered, and for how long in milliseconds; for any other, the platform is asked. */
export const MAX_THREADS = 10_000;
const REMEMBERED_MS = 24 * 3_600_000;
/** Longest wait for the platform, in milliseconds: the chat waits for it. */
const READ_MS = 5_000;
/** Name of the bot among the members of a thread. */
const OWN_NAME = 'you';

/** In place of an asker: other people, or no one, have written there last. */
const OTHERS = '';

/** Who wrote last in a thread, and when, in epoch milliseconds of the platform. */
interface LastWriter {
  asker: string;
  at: number;
}

interface ThreadDeps {
  channels: ReadonlyMap<string, Channel>;
  ledger: SessionStore;
  store: { groupChats: GroupChatStore; questions: Pick<QuestionStore, 'questionsAmong'> };
  log: Log;
  monotonicNow: () => number;
}

/** What is known of threads. A process that has not followed a thread reads it once. */
export class ThreadTalk {
  readonly #deps: ThreadDeps;
  /** Who asked last, if no one else has written since; else `OTHERS`. */
  readonly #askers: TtlCache<LastWriter>;

  constructor(deps: ThreadDeps) {
    this.#deps = deps;
    this.#askers = new TtlCache(REMEMBERED_MS, MAX_THREADS, deps.monotonicNow);
  }

  /** Whether a message that does not name the bot continues its sender's talk with it. Throws only `StoreError`. */
  async isFollowUp(message: InboundMessage): Promise<boolean> {
    const channel = this.#channelOf(message);
    if (channel === undefined) return false;
    const address = addressOf(message);
    const mayFollow = channel.capabilities.followUps === true && message.fromBot !== true;
    const { asker, at = 0 } = this.#askers.get(address) ?? {};
    if (message.isEdit === true) return mayFollow && asker === message.senderId;
    // It begins its thread, or the platform delivers it again: what was written before a question does not follow it.
    if (message.threadId === message.messageId || message.timestamp < at) return false;
    if (mayFollow && message.senderId === (asker ?? (await this.#askerOf(message, address)))) return true;
    this.#askers.set(address, { asker: OTHERS, at: message.timestamp });
    return false;
  }

  /** Keeps what was said in a thread since the bot's last answer for the turn of a message, which is about to be accepted. Throws only `StoreError`. */
  async enter(message: InboundMessage): Promise<void> {
    if (this.#channelOf(message) === undefined) return;
    const address = addressOf(message);
    const { asker } = this.#askers.get(address) ?? {};
    const isRead = message.threadId === message.messageId || (asker !== undefined && asker !== OTHERS);
    if (!isRead && !(await this.#keepEarlier(message, address))) return;
    const writer = message.fromBot === true ? OTHERS : message.senderId;
    this.#askers.set(address, { asker: writer, at: message.timestamp });
  }

  /** The channel of a thread that can be read; undefined for every other place. */
  #channelOf({ channel, place, threadId, isGuest }: InboundMessage): Channel | undefined {
    if (place !== 'group' || threadId === undefined || isGuest === true) return undefined;
    const known = this.#deps.channels.get(channel);
    return known?.before === undefined ? undefined : known;
  }

  /** False if the platform did not answer: the question is answered without what was said before it. */
  async #keepEarlier(message: InboundMessage, address: Address): Promise<boolean> {
    const { ledger, store } = this.#deps;
    const { channel, chatId } = message;
    const key = await ledger.sessionOf(address);
    const [session, earlier] = await Promise.all([ledger.session(key), this.#read(message)]);
    if (earlier === undefined) return false;
    const missed =
      session === undefined ? earlier : earlier.slice(earlier.findLastIndex(({ isOwn }) => isOwn) + 1);
    // What waits for its own answer, or has it and is not shown yet, is no talk of others.
    const ids = missed.map(({ id }) => id);
    const questions = new Set(session && (await store.questions.questionsAmong(key, ids)));
    const observed = missed
      .filter(({ id }) => !questions.has(id))
      .map((one) => observedMessage(one.isOwn ? { ...one, senderName: OWN_NAME } : one))
      .filter(({ content }) => content !== '');
    await store.groupChats.keepObserved({ channel, chatId }, address, observed);
    return true;
  }

  /** Read from the thread: the last one who wrote before the bot's last message, if only they have written since. */
  async #askerOf(message: InboundMessage, address: Address): Promise<string> {
    const { ledger } = this.#deps;
    if ((await ledger.session(await ledger.sessionOf(address))) === undefined) return OTHERS;
    const earlier = (await this.#read(message)) ?? [];
    const answer = earlier.findLastIndex(({ isOwn }) => isOwn);
    const asker = earlier.slice(0, Math.max(0, answer)).findLast(({ isOwn }) => !isOwn)?.senderId ?? OTHERS;
    return earlier.slice(answer + 1).every(({ senderId }) => senderId === asker) ? asker : OTHERS;
  }

  /** Undefined if the platform does not answer. Never throws. */
  async #read(message: InboundMessage): Promise<EarlierMessage[] | undefined> {
    const { channels, log } = this.#deps;
    const { channel, chatId, threadId, messageId } = message;
    try {
      const reading = channels.get(channel)?.before?.(message, messageId, MAX_OBSERVED) ?? [];
      const earlier = await waitAtMost(READ_MS, Promise.resolve(reading));
      if (earlier !== 'late') return earlier;
      log.warn({ channel, chatId, threadId, waitedMs: READ_MS }, 'thread_read_too_slow');
    } catch (error) {
      log.warn({ err: toGatewayError(error), channel, chatId, threadId }, 'thread_not_read');
    }
    return undefined;
  }
}
