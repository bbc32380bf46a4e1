/** How many wrong tokens an address may try, loopback included, without ever locking out a token that was right before. */
import { createHash } from 'node:crypto';
import { MAX_LIMITED_ADDRESSES, WRONG_TOKENS_PER_MINUTE } from './config.ts';

const MINUTE_MS = 60_000;

interface Bucket {
  left: number;
  at: number;
}

/**
 * A token bucket per address. An attempt is taken before the token is looked at and given back when it was right, so
 * that a thousand guesses at once are not all looked at.
 */
export class WrongTokenLimiter {
  readonly #buckets = new Map<string, Bucket>();
  /** Digests of headers that were right since the start; no secret can be read from them. */
  readonly #proven = new Set<string>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Takes one attempt; undefined when it may be made, else the milliseconds until the next one may. */
  take(address: string, authorization: string): number | undefined {
    if (this.#proven.has(digest(authorization))) return undefined;
    const bucket = this.#refilled(address);
    if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * MINUTE_MS) / WRONG_TOKENS_PER_MINUTE);
    bucket.left -= 1;
    return undefined;
  }

  /** The attempt was right: it does not count, and this token is not limited again. */
  proved(address: string, authorization: string): void {
    const mark = digest(authorization);
    if (this.#proven.has(mark)) return;
    this.#proven.add(mark);
    forgetOldest(this.#proven);
    this.#refilled(address).left += 1;
  }

  /** The token is right no longer. */
  disproved(authorization: string): void {
    this.#proven.delete(digest(authorization));
  }

  /** Addresses remembered now. */
  get size(): number {
    return this.#buckets.size;
  }

  #refilled(address: string): Bucket {
    const now = this.#now();
    const known = this.#buckets.get(address) ?? { left: WRONG_TOKENS_PER_MINUTE, at: now };
    const gained = ((now - known.at) * WRONG_TOKENS_PER_MINUTE) / MINUTE_MS;
    const bucket = { left: Math.min(WRONG_TOKENS_PER_MINUTE, known.left + gained), at: now };
    this.#buckets.delete(address);
    this.#buckets.set(address, bucket);
    forgetOldest(this.#buckets);
    return bucket;
  }
}

/** Maps and sets keep insertion order: the first key is the one that was quiet longest. */
function forgetOldest(entries: Map<string, unknown> | Set<string>): void {
  if (entries.size <= MAX_LIMITED_ADDRESSES) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    return;
  }
}

function digest(authorization: string): string {
  return createHash('sha256').update(authorization).digest('base64');
}
