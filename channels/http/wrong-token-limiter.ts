/** A rate limit on wrong tokens per address, loopback included; tokens that were valid before are not limited. */
import { createHash } from 'node:crypto';
import { MAX_LIMITED_ADDRESSES, WRONG_TOKENS_PER_MINUTE } from './config.ts';

const MINUTE_MS = 60_000;

interface Bucket {
  left: number;
  at: number;
}

/**
 * A token bucket per address. An attempt is taken before the token is checked and returned when it was valid, so that
 * simultaneous guesses are not all checked.
 */
export class WrongTokenLimiter {
  readonly #buckets = new Map<string, Bucket>();
  /** Digests of headers that were valid since the start. */
  readonly #valid = new Set<string>();
  readonly #epochNow: () => number;

  constructor(epochNow: () => number = Date.now) {
    this.#epochNow = epochNow;
  }

  /** Takes one attempt; gives undefined when it may be made, else the milliseconds until the next one. */
  takeAttempt(address: string, authorization: string): number | undefined {
    if (this.#valid.has(digest(authorization))) return undefined;
    const bucket = this.#refilled(address);
    if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * MINUTE_MS) / WRONG_TOKENS_PER_MINUTE);
    bucket.left -= 1;
    return undefined;
  }

  /** Returns the attempt: the token was valid and is not limited any more. */
  recordValid(address: string, authorization: string): void {
    const key = digest(authorization);
    if (this.#valid.has(key)) return;
    this.#valid.add(key);
    dropOldest(this.#valid);
    this.#refilled(address).left += 1;
  }

  /** Limits the token again: it is no longer valid. */
  recordInvalid(authorization: string): void {
    this.#valid.delete(digest(authorization));
  }

  /** Number of addresses remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  #refilled(address: string): Bucket {
    const now = this.#epochNow();
    const known = this.#buckets.get(address) ?? { left: WRONG_TOKENS_PER_MINUTE, at: now };
    const gained = ((now - known.at) * WRONG_TOKENS_PER_MINUTE) / MINUTE_MS;
    const bucket = { left: Math.min(WRONG_TOKENS_PER_MINUTE, known.left + gained), at: now };
    this.#buckets.delete(address);
    this.#buckets.set(address, bucket);
    dropOldest(this.#buckets);
    return bucket;
  }
}

/** Maps and sets keep insertion order, so the first key is the least recently used. */
function dropOldest(entries: Map<string, unknown> | Set<string>): void {
  if (entries.size <= MAX_LIMITED_ADDRESSES) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    return;
  }
}

function digest(authorization: string): string {
  return createHash('sha256').update(authorization).digest('base64');
}
