/** How fast one chat, or one bot, may be called: a declared interval, stretched by what the platform refuses. */

/** A refused pace is doubled, up to this many times the declared interval. */
export const MAX_SLOWDOWN = 8;

/** After this long without a refusal the learned interval shrinks a little. */
export const RECOVER_MS = 60_000;

const SLOWER = 2;
const FASTER = 0.9;

/** Added to every pause: the platform's clock and ours do not tick together. */
const PAUSE_MARGIN_MS = 50;

export class RateLimit {
  readonly #declaredMs: number;
  #stretch = 1;
  #due = 0;
  #pausedUntil = 0;
  /** When the stretch last changed. */
  #changedAt = 0;

  constructor(declaredMs: number) {
    this.#declaredMs = declaredMs;
  }

  /** The interval in force, in milliseconds. */
  get intervalMs(): number {
    return this.#declaredMs * this.#stretch;
  }

  /** No call at all before this. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  /** When the next call may start; `ahead` calls may come before their time, as long as the average is kept. */
  readyAt(ahead: number): number {
    return Math.max(this.#pausedUntil, this.#due - ahead * this.intervalMs);
  }

  /** Counts a call that starts now. */
  take(now: number): void {
    if (this.#stretch > 1 && now - this.#changedAt > RECOVER_MS) {
      this.#stretch = Math.max(1, this.#stretch * FASTER);
      this.#changedAt = now;
    }
    this.#due = Math.max(now, this.#due) + this.intervalMs;
  }

  /** The platform refused: no call for `retryAfterMs`, and slower from then on. */
  refused(now: number, retryAfterMs: number): void {
    // Calls already under way when the pause began teach nothing new.
    if (now >= this.#pausedUntil) this.#stretch = Math.min(MAX_SLOWDOWN, this.#stretch * SLOWER);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + retryAfterMs + PAUSE_MARGIN_MS);
    this.#changedAt = now;
  }

  /** Nothing to remember: a new pace would behave the same. */
  isFresh(now: number): boolean {
    const forgotten = this.#stretch === 1 || now - this.#changedAt > RECOVER_MS * 10;
    return forgotten && this.readyAt(0) <= now;
  }
}
