/** Joins the packets of an answer while the event loop is behind: a chunk of several tokens costs everyone after it less. */
import { type Clock, systemClock } from '../../lib/clock.ts';

/**
 * Longest time to hold a packet, in milliseconds. A thousand streams on two busy cores get a token each 60 ms: at 30 ms
 * there was nothing to join, and each token was a write of its own.
 */
export const MAX_JOIN_MS = 100;
/** Event loop delay above which packets are joined, in milliseconds. */
export const LOAD_DELAY_MS = 5;
/** Answers whose deadline is near are read together, so that there are few timers. */
const TIMER_TOLERANCE_MS = 10;

/** Shared by the answers of a server. While the event loop keeps up, nothing is held. */
export class PacketJoiner {
  readonly #loopDelayMs: () => number;
  readonly #clock: Clock;
  /** In the order they were held. */
  #held: { release: () => void; since: number }[] = [];
  #hasTimer = false;

  /** `loopDelayMs` is the recent delay of the event loop; called for every packet, so it must be cheap. */
  constructor(loopDelayMs: () => number = () => 0, clock: Clock = systemClock) {
    this.#loopDelayMs = loopDelayMs;
    this.#clock = clock;
  }

  get isLoaded(): boolean {
    return this.#loopDelayMs() > LOAD_DELAY_MS;
  }

  /** Calls `release` once a packet that is held from now on must not wait any longer. */
  hold(release: () => void): void {
    this.#held.push({ release, since: this.#clock.monotonicMs() });
    if (!this.#hasTimer) this.#wakeIn(MAX_JOIN_MS);
  }

  #wakeIn(ms: number): void {
    this.#hasTimer = true;
    this.#clock.after(ms, () => this.#releaseDue());
  }

  #releaseDue(): void {
    const now = this.#clock.monotonicMs();
    const leftMs = (since: number): number => since + MAX_JOIN_MS - now;
    const next = this.#held.findIndex(({ since }) => leftMs(since) > TIMER_TOLERANCE_MS);
    const due = this.#held.splice(0, next < 0 ? this.#held.length : next);
    const [first] = this.#held;
    this.#hasTimer = false;
    if (first !== undefined) this.#wakeIn(leftMs(first.since));
    for (const { release } of due) release();
  }
}
