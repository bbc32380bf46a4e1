/** How long calls must wait at Discord's request, by rate limit bucket. */

/** Maximum number of buckets remembered; when more are needed the oldest is forgotten. */
export const MAX_PAUSES = 1_000;

/** Minimum wait after a refusal that names no time, in milliseconds; doubled after each further one, up to the cap. */
export const UNNAMED_WAIT_MS = 5_000;
const UNNAMED_CAP_MS = 60_000;

/** Refusals without a time in a row that are waited out; after those the call counts as failed. */
export const MAX_UNNAMED = 8;

interface Bucket {
  until: number;
  /** Refusals without a time since the last call that was not refused. */
  unnamed: number;
}

export class BucketPauses {
  readonly #buckets = new Map<string, Bucket>();
  readonly #monotonicNow: () => number;

  constructor(monotonicNow: () => number) {
    this.#monotonicNow = monotonicNow;
  }

  /** How many milliseconds calls of a bucket must still wait; 0 if they need not. */
  left(bucket: string): number {
    return Math.max(0, Math.ceil((this.#buckets.get(bucket)?.until ?? 0) - this.#monotonicNow()));
  }

  /**
   * Records a refusal, and returns the wait for it in milliseconds: `askedMs`, or our own choice; undefined once
   * those are used up.
   */
  refused(bucket: string, askedMs: number | undefined): number | undefined {
    const unnamed = askedMs === undefined ? (this.#buckets.get(bucket)?.unnamed ?? 0) + 1 : 0;
    const ms = askedMs ?? Math.min(UNNAMED_CAP_MS, UNNAMED_WAIT_MS * 2 ** (unnamed - 1));
    this.#buckets.delete(bucket);
    const oldest = this.#buckets.keys().next();
    if (this.#buckets.size >= MAX_PAUSES && oldest.done !== true) this.#buckets.delete(oldest.value);
    this.#buckets.set(bucket, { until: this.#monotonicNow() + ms, unnamed });
    return unnamed > MAX_UNNAMED ? undefined : ms;
  }

  /** Records a call that was not refused. */
  passed(bucket: string): void {
    if (this.left(bucket) === 0) this.#buckets.delete(bucket);
  }
}
