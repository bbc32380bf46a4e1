/** Rate limits of the fake homeserver: a bucket for the account's events, forced 429s, and calls that came too early. */
import { Bucket, type BucketLimit } from './bucket.ts';
import { Refusal } from './rooms.ts';

/** Synapse's default. */
export const SYNAPSE: BucketLimit = { perSecond: 0.2, burst: 10 };
/** Of a homeserver that is set up for bots: tests that need just any limit do not wait long. */
const GENEROUS: BucketLimit = { perSecond: 10, burst: 10 };

export class Limits {
  /** 429s returned, and calls made before the wait of one was over. */
  refused = 0;
  early = 0;
  readonly #bucket: Bucket | undefined;
  readonly #now: () => number;
  readonly #forced: number[] = [];
  #pausedUntil = 0;

  constructor(limits: boolean | BucketLimit, now: () => number) {
    if (limits !== false) this.#bucket = new Bucket(limits === true ? GENEROUS : limits);
    this.#now = now;
  }

  /** The next event gets a 429. */
  force(retryAfterMs: number): void {
    this.#forced.push(retryAfterMs);
  }

  /** Throws the refusal of a call that may not pass. */
  check(limit: 'send' | 'join' | undefined): void {
    if (limit !== 'send') return;
    const now = this.#now();
    if (now < this.#pausedUntil) {
      this.early += 1;
      this.#refuse(this.#pausedUntil - now);
    }
    const waitMs = this.#forced.shift() ?? this.#bucket?.take(now) ?? 0;
    if (waitMs > 0) this.#refuse(waitMs);
  }

  #refuse(waitMs: number): never {
    this.refused += 1;
    this.#pausedUntil = this.#now() + waitMs;
    throw new Refusal(429, 'M_LIMIT_EXCEEDED', { retry_after_ms: Math.ceil(waitMs) });
  }
}
