/**
 * What was missed while there was no connection: read chat by chat, and within a chat before anything newer is
 * committed.
 */
import { toGatewayError } from '../../../src/protocol/errors.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import { pause } from '../../../src/lib/async/sleep.ts';
import type { RawMessage } from '../events.ts';
import { type CatchUpParts, chatsToRead, missedIn } from './catch-up.ts';

/** Longest wait before the store is asked again for the chats to read, in milliseconds. */
const RETRY_CAP_MS = 30_000;

export interface GapsParts extends CatchUpParts {
  /** Wait before the store is asked again for the chats to read, in milliseconds. */
  retryBaseMs: number;
  /** Commits a missed message. Throws the signal's reason. */
  commit: (message: RawMessage) => Promise<void>;
}

export class Gaps {
  readonly #parts: GapsParts;
  /** Resolves once it is known which chats may have gaps. */
  #listed: Promise<void> = Promise.resolve();
  /** Reads the gap in a chat, once. */
  readonly #reads = new Map<string, () => Promise<void>>();

  constructor(parts: GapsParts) {
    this.#parts = parts;
  }

  /**
   * Reads everything since `heardAt`; returns the number of chats of which something was left out. Throws the
   * signal's reason.
   */
  async close(heardAt: number): Promise<number> {
    const left = { out: 0 };
    this.#listed = this.#list(heardAt, left);
    await this.#listed;
    for (const read of this.#reads.values()) await read();
    return left.out;
  }

  /** Waits until a chat has no gap. Throws the signal's reason. */
  async before(chatId: string): Promise<void> {
    await this.#listed;
    await this.#reads.get(chatId)?.();
  }

  async #list(heardAt: number, left: { out: number }): Promise<void> {
    const { signal, log, retryBaseMs } = this.#parts;
    for (let attempt = 0; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        const { chats, leftOut } = await chatsToRead(this.#parts, heardAt);
        left.out += leftOut;
        for (const [chatId, places] of chats) {
          let reading: Promise<void> | undefined;
          const read = async (): Promise<void> => {
            const { messages, isWhole } = await missedIn(this.#parts, places, heardAt);
            if (!isWhole) left.out += 1;
            for (const message of messages) await this.#parts.commit(message);
            this.#reads.delete(chatId);
          };
          this.#reads.set(chatId, () => (reading ??= read()));
        }
        return;
      } catch (error) {
        signal.throwIfAborted();
        log.warn({ err: toGatewayError(error) }, 'slack_catch_up_delayed');
        await pause(backoffMs(attempt, retryBaseMs, RETRY_CAP_MS), signal);
      }
    }
  }
}
