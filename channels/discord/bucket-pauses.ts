/** How long calls must wait, as Discord asked for, by rate limit bucket. */

/** Pauses remembered at once; when more are needed the oldest is forgotten. */
export const MAX_PAUSES = 1_000;

export class BucketPauses {
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds that calls of a bucket must still wait; 0 when they need not. */
  left(bucket: string): number {
    const left = (this.#until.get(bucket) ?? 0) - this.#now();
    if (left > 0) return Math.ceil(left);
    this.#until.delete(bucket);
    return 0;
  }

  pause(bucket: string, ms: number): void {
    this.#until.delete(bucket);
    const oldest = this.#until.keys().next();
    if (this.#until.size >= MAX_PAUSES && oldest.done !== true) this.#until.delete(oldest.value);
    this.#until.set(bucket, this.#now() + ms);
  }
}
