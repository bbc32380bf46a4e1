/** Counts wrong tokens per address, loopback included. Only failures count: they never keep a right token out. */
import { MAX_LIMITED_ADDRESSES, WRONG_TOKENS_PER_MINUTE } from '../config.ts';

const MINUTE_MS = 60_000;

interface Bucket {
  left: number;
  at: number;
}

/** A token bucket per address. */
export class WrongTokens {
  readonly #buckets = new Map<string, Bucket>();
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /** Counts one; returns undefined while the address is within its limit, else the milliseconds until it is again. */
  count(address: string): number | undefined {
    const bucket = this.#refilled(address);
    if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * MINUTE_MS) / WRONG_TOKENS_PER_MINUTE);
    bucket.left -= 1;
    return undefined;
  }

  /** Number of addresses remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  #refilled(address: string): Bucket {
    const now = this.#monotonicMs();
    const known = this.#buckets.get(address) ?? { left: WRONG_TOKENS_PER_MINUTE, at: now };
    const gained = ((now - known.at) * WRONG_TOKENS_PER_MINUTE) / MINUTE_MS;
    const bucket = { left: Math.min(WRONG_TOKENS_PER_MINUTE, known.left + gained), at: now };
    // A map keeps insertion order, so the first key is the least recently used.
    this.#buckets.delete(address);
    this.#buckets.set(address, bucket);
    if (this.#buckets.size > MAX_LIMITED_ADDRESSES) {
      for (const oldest of this.#buckets.keys()) {
        this.#buckets.delete(oldest);
        break;
      }
    }
    return bucket;
  }
}
