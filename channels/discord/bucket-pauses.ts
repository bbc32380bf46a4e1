/** Until when which calls must wait: a short memory of what Discord asked for. */

/** BucketPauses remembered at once; when more are needed the oldest is forgotten. */
export const MAX_PAUSES = 1_000;

export class BucketPauses {
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds that a bucket must still wait; 0 when it is open. */
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
