/**
 * Keeps in the store the time up to which everything that Slack sent is stored: a restarted process or another node
 * continues from there.
 */
import type { ConnectionStore } from '../../../src/contracts/receive.ts';
import type { SharedClock } from '../../../src/lib/shared-clock.ts';
import type { Log } from '../../../src/contracts/log.ts';

/** Slack has no sessions to continue; the store's row needs a session name. */
const SESSION = { id: 'socket-mode', sequence: 0, detail: {} };

export interface PositionParts {
  connections: Pick<ConnectionStore, 'connection' | 'epochNow' | 'saveSession'>;
  /** Set to the clock that all nodes share, before the time that one of them has written is read. */
  clock: SharedClock;
  log: Log;
  saveEveryMs: number;
  /** The time up to which everything is stored, in epoch milliseconds; undefined while unknown. */
  storedUntil: () => number | undefined;
}

export class Position {
  readonly #parts: PositionParts;
  #key: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #saved = 0;

  constructor(parts: PositionParts) {
    this.#parts = parts;
  }

  /** The time that the store keeps; from now on it is written there. Throws `StoreError`. */
  async load(key: string): Promise<number | undefined> {
    const { clock, connections } = this.#parts;
    await clock.set(() => connections.epochNow());
    const record = await connections.connection(key);
    this.#key = key;
    this.#timer ??= setInterval(() => void this.save(), this.#parts.saveEveryMs).unref();
    return record?.heardAt;
  }

  /** Never throws. */
  async save(): Promise<void> {
    const until = this.#parts.storedUntil();
    if (this.#key === undefined || until === undefined || until <= this.#saved) return;
    try {
      await this.#parts.connections.saveSession(this.#key, SESSION, until);
      this.#saved = until;
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'slack_position_not_saved');
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
