/** Messages on their way into the gateway: in order per chat, acknowledged to Slack once they are committed. */
import { toGatewayError } from '../../src/protocol/errors.ts';
import type { Log } from '../../src/protocol/log.ts';
import type { InboundMessage } from '../../src/protocol/message.ts';
import type { Receipt } from '../../src/protocol/receive.ts';
import { backoffMs } from '../../src/lib/async/backoff.ts';
import { KeyedLock } from '../../src/lib/async/keyed-lock.ts';
import { sleep, waitAtMost } from '../../src/lib/async/sleep.ts';

/** Messages that wait while the store is unavailable; further ones are read from the history later. */
export const MAX_WAITING = 1_000;
const RETRY_BASE_MS = 250;
const RETRY_CAP_MS = 10_000;
const CLOSE_MS = 2_000;

export class Inbox {
  readonly #publish: (message: InboundMessage) => Promise<Receipt>;
  readonly #log: Log;
  readonly #epochNow: () => number;
  readonly #signal: AbortSignal;
  readonly #lock = new KeyedLock();
  readonly #work = new Set<Promise<void>>();
  /** Arrival times of the waiting events, in milliseconds of `epochNow`, oldest first. */
  readonly #arrivals = new Map<symbol, number>();
  /** When the first event was rejected; undefined if none was. */
  #rejectedAt: number | undefined;

  constructor(
    publish: (message: InboundMessage) => Promise<Receipt>,
    log: Log,
    epochNow: () => number,
    signal: AbortSignal,
  ) {
    this.#publish = publish;
    this.#log = log;
    this.#epochNow = epochNow;
    this.#signal = signal;
  }

  /**
   * Queues an event and returns at once; rejects it when too many wait. `read` returns the message of the event,
   * undefined if there is nothing to commit; `acknowledge` is called once it is committed or permanently refused.
   */
  push(chatId: string, read: () => Promise<InboundMessage | undefined>, acknowledge: () => void): void {
    if (this.#arrivals.size >= MAX_WAITING) {
      this.#rejectedAt ??= this.#epochNow();
      return;
    }
    const id = Symbol(chatId);
    this.#arrivals.set(id, this.#epochNow());
    const take = async (): Promise<void> => {
      const message = await read();
      if (message !== undefined) await this.commit(message);
      acknowledge();
    };
    const task = this.#lock
      .run(chatId, this.#signal, take)
      .catch((error: unknown) => {
        if (!this.#signal.aborted) this.#log.error({ err: error, chatId }, 'slack_message_dropped');
      })
      .finally(() => {
        this.#arrivals.delete(id);
        this.#work.delete(task);
      });
    this.#work.add(task);
  }

  /** Everything that arrived before this time is stored, in milliseconds of `epochNow`. */
  get storedUntil(): number {
    const [oldest = this.#epochNow()] = this.#arrivals.values();
    return Math.min(oldest, this.#rejectedAt ?? oldest);
  }

  /** When the gap caused by rejected messages began; reported once, as soon as there is room again. */
  takeGap(): number | undefined {
    if (this.#rejectedAt === undefined || this.#arrivals.size > MAX_WAITING / 2) return undefined;
    const since = this.#rejectedAt;
    this.#rejectedAt = undefined;
    return since;
  }

  /** Waits at most 2 s for commits in flight and for `others`; the signal must have been aborted. Never throws. */
  async close(others: readonly Promise<void>[]): Promise<void> {
    await waitAtMost(CLOSE_MS, Promise.all([...this.#work, ...others]));
  }

  /** Publishes a message, and retries until it is committed or permanently refused. Throws only the signal's reason. */
  async commit(message: InboundMessage): Promise<void> {
    const { chatId } = message;
    for (let attempt = 0; ; attempt += 1) {
      this.#signal.throwIfAborted();
      try {
        await this.#publish(message);
        return;
      } catch (error) {
        const failure = toGatewayError(error);
        if (!failure.retryable) {
          this.#log.error({ err: failure, chatId }, 'slack_message_dropped');
          return;
        }
        this.#log.warn({ err: failure, chatId }, 'slack_message_delayed');
        await sleep(backoffMs(attempt, RETRY_BASE_MS, RETRY_CAP_MS), this.#signal);
      }
    }
  }
}
