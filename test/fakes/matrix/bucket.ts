/** A bucket like Synapse's `rc_message`: this many calls at once, and each returns after its time. */

export interface BucketLimit {
  perSecond: number;
  burst: number;
}

export class Bucket {
  readonly #limit: BucketLimit;
  #level = 0;
  #at = 0;

  constructor(limit: BucketLimit) {
    this.#limit = limit;
  }

  /** Counts a call and returns 0; or the milliseconds until one may pass. A refused call does not count. */
  take(now: number): number {
    const { perSecond, burst } = this.#limit;
    this.#level = Math.max(0, this.#level - ((now - this.#at) / 1_000) * perSecond);
    this.#at = now;
    const over = this.#level + 1 - burst;
    // Sums of fractions are inexact.
    if (over > 1e-6) return Math.ceil((over / perSecond) * 1_000);
    this.#level += 1;
    return 0;
  }
}
