/** Rate limits of the fake homeserver: a bucket for the account's events, as Synapse's `rc_message`, forced 429s, and calls that came too early. */
import { Refusal } from './rooms.ts';

/** Events a second after a burst; more than Synapse's default, so that tests need not wait as long. */
const PER_SECOND = 10;
const BURST = 10;

export class Limits {
  /** 429s given, and calls made before the wait of one was over. */
  refused = 0;
  early = 0;
  readonly #isOn: boolean;
  readonly #now: () => number;
  readonly #forced: number[] = [];
  #level = 0;
  #at: number;
  #pausedUntil = 0;

  constructor(isOn: boolean, now: () => number) {
    this.#isOn = isOn;
    this.#now = now;
    this.#at = now();
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
    const forced = this.#forced.shift();
    if (forced !== undefined) this.#refuse(forced);
    if (!this.#isOn) return;
    this.#level = Math.max(0, this.#level - ((now - this.#at) / 1_000) * PER_SECOND);
    this.#at = now;
    if (this.#level + 1 > BURST) this.#refuse(((this.#level + 1 - BURST) / PER_SECOND) * 1_000);
    this.#level += 1;
  }

  #refuse(waitMs: number): never {
    this.refused += 1;
    this.#pausedUntil = this.#now() + waitMs;
    throw new Refusal(429, 'M_LIMIT_EXCEEDED', { retry_after_ms: Math.ceil(waitMs) });
  }
}
