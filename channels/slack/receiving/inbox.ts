/** Messages on their way into the gateway: in order per chat, acknowledged to Slack once they are committed. */
import { toGatewayError } from '../../../src/protocol/errors.ts';
import type { Log } from '../../../src/protocol/log.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import type { Receipt } from '../../../src/protocol/receive.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import { KeyedLock } from '../../../src/lib/async/keyed-lock.ts';
import { pause, sleep } from '../../../src/lib/async/sleep.ts';

/**
 * Messages that wait while the store is unavailable; further ones are not acknowledged, and are read from the history
 * later.
 */
export const MAX_WAITING = 1_000;
const RETRY_BASE_MS = 250;
const RETRY_CAP_MS = 10_000;
/** How long `close` waits for commits in flight. */
const CLOSE_MS = 2_000;

export interface InboxParts {
  log: Log;
  signal: AbortSignal;
  epochNow: () => number;
  /** Commits a message in the gateway. */
  publish: (message: InboundMessage) => Promise<Receipt>;
}

/** One event in the queue. */
export interface Work {
  chatId: string;
  /** The message of the event; undefined if there is nothing to commit. */
  read: () => Promise<InboundMessage | undefined>;
  /** Called once it is committed or permanently refused. */
  stored: () => void;
}

export class Inbox {
  readonly #parts: InboxParts;
  readonly #lock = new KeyedLock();
  readonly #work = new Set<Promise<void>>();
  /** Arrival times of the waiting events, in milliseconds of `epochNow`, oldest first. */
  readonly #arrivals = new Map<symbol, number>();
  /** When the first event was rejected; undefined if none was. */
  #turnedAwayAt: number | undefined;

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  /** Queues an event and returns at once; false when too many wait. */
  push(work: Work): boolean {
    const { epochNow, signal } = this.#parts;
    if (this.#arrivals.size >= MAX_WAITING) {
      this.#turnedAwayAt ??= epochNow();
      return false;
    }
    const id = Symbol(work.chatId);
    this.#arrivals.set(id, epochNow());
    const task = this.#lock
      .run(work.chatId, signal, () => this.#takeOne(work))
      .catch((error: unknown) => {
        if (!signal.aborted)
          this.#parts.log.error({ err: error, chatId: work.chatId }, 'slack_message_dropped');
      })
      .finally(() => {
        this.#arrivals.delete(id);
        this.#work.delete(task);
      });
    this.#work.add(task);
    return true;
  }

  /** Everything that arrived before this time is stored, in milliseconds of `epochNow`. */
  get storedUntil(): number {
    const [oldest = this.#parts.epochNow()] = this.#arrivals.values();
    return Math.min(oldest, this.#turnedAwayAt ?? oldest);
  }

  /** When the gap caused by rejected messages began; reported once, as soon as there is room again. */
  takeGap(): number | undefined {
    if (this.#turnedAwayAt === undefined || this.#arrivals.size > MAX_WAITING / 2) return undefined;
    const since = this.#turnedAwayAt;
    this.#turnedAwayAt = undefined;
    return since;
  }

  /** Waits at most 2 s for commits in flight and for `others`; the signal must have been aborted. Never throws. */
  async close(others: readonly Promise<void>[]): Promise<void> {
    const limit = new AbortController();
    await Promise.race([Promise.all([...this.#work, ...others]), pause(CLOSE_MS, limit.signal)]);
    limit.abort();
  }

  /** Publishes a message, and retries until it is committed or permanently refused. Throws only the signal's reason. */
  async commit(message: InboundMessage): Promise<void> {
    const { signal, log, publish } = this.#parts;
    const { chatId } = message;
    for (let attempt = 0; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        await publish(message);
        return;
      } catch (thrown) {
        const error = toGatewayError(thrown);
        if (!error.retryable) {
          log.error({ err: error, chatId }, 'slack_message_dropped');
          return;
        }
        log.warn({ err: error, chatId }, 'slack_message_delayed');
        await sleep(backoffMs(attempt, RETRY_BASE_MS, RETRY_CAP_MS), signal);
      }
    }
  }

  async #takeOne({ read, stored }: Work): Promise<void> {
    const message = await read();
    if (message !== undefined) await this.commit(message);
    stored();
  }
}
