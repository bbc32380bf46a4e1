/** Rate limit of one chat or one bot: a declared interval, multiplied by a slowdown that grows with refusals. */

/** Each refusal doubles the interval, up to this many times the declared one. */
export const MAX_SLOWDOWN = 8;

/** After this long without a refusal the interval shrinks a little, in milliseconds. */
export const RECOVER_MS = 60_000;

const SLOWER = 2;
const FASTER = 0.9;

/** Added to every pause, because the platform's clock and ours differ. */
const PAUSE_MARGIN_MS = 50;

export class RateLimit {
  readonly #declaredMs: number;
  #slowdown = 1;
  #due = 0;
  #pausedUntil = 0;
  /** Monotonic time at which the slowdown last changed. */
  #changedAt = 0;

  constructor(declaredMs: number) {
    this.#declaredMs = declaredMs;
  }

  /** The interval in force, in milliseconds. */
  get intervalMs(): number {
    return this.#declaredMs * this.#slowdown;
  }

  /** Monotonic time before which no call may start at all. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  /** Monotonic time at which the next call may start; `burst` calls may come early, as long as the average is kept. */
  readyAt(burst: number): number {
    return Math.max(this.#pausedUntil, this.#due - burst * this.intervalMs);
  }

  /** Counts a call that starts now. */
  count(now: number): void {
    if (this.#slowdown > 1 && now - this.#changedAt > RECOVER_MS) {
      this.#slowdown = Math.max(1, this.#slowdown * FASTER);
      this.#changedAt = now;
    }
    this.#due = Math.max(now, this.#due) + this.intervalMs;
  }

  /** Applies a refusal of the platform: no call for `retryAfterMs`, and slower from then on. */
  slowDown(now: number, retryAfterMs: number): void {
    // A refusal of a call that was in flight when the pause began does not count again.
    if (now >= this.#pausedUntil) this.#slowdown = Math.min(MAX_SLOWDOWN, this.#slowdown * SLOWER);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + retryAfterMs + PAUSE_MARGIN_MS);
    this.#changedAt = now;
  }

  /** True when the limit has no state to keep: a new one would behave the same. */
  isFresh(now: number): boolean {
    const forgotten = this.#slowdown === 1 || now - this.#changedAt > RECOVER_MS * 10;
    return forgotten && this.readyAt(0) <= now;
  }
}
