/** Rate limits of the fake Slack: tiers by method and minute, posts by channel and second, forced 429s, and calls that came too early. */

/** Calls per minute of each tier ("Rate limits"). */
const TIERS = { 1: 1, 2: 20, 3: 50, 4: 100 } as const;
export type Tier = keyof typeof TIERS;

/** Posts that may arrive at once in a channel, where one per second is the rule. */
const POST_BURST = 4;

export class Limits {
  /** 429s returned, and calls made before the wait of one was over. */
  refused = 0;
  early = 0;
  readonly #isOn: boolean;
  readonly #now: () => number;
  readonly #calls = new Map<string, number[]>();
  readonly #pauses = new Map<string, number>();
  readonly #forced: { match: RegExp; retryAfterMs: number }[] = [];

  constructor(isOn: boolean, now: () => number) {
    this.#isOn = isOn;
    this.#now = now;
  }

  /** The next call of a matching method gets a 429. */
  force(match: RegExp, retryAfterMs: number): void {
    this.#forced.push({ match, retryAfterMs });
  }

  /** Seconds that the caller has to wait; undefined if the call may pass. */
  refusal(method: string, tier: Tier | 'post', channel: string): number | undefined {
    const key = tier === 'post' ? `${method} ${channel}` : method;
    const now = this.#now();
    const paused = (this.#pauses.get(key) ?? 0) - now;
    if (paused > 0) {
      this.early += 1;
      return this.#refuse(key, paused);
    }
    const forced = this.#forced.findIndex(({ match }) => match.test(method));
    if (forced !== -1) return this.#refuse(key, this.#forced.splice(forced, 1)[0]?.retryAfterMs ?? 0);
    const [calls, windowMs] = tier === 'post' ? [POST_BURST, POST_BURST * 1_000] : [TIERS[tier], 60_000];
    const recent = (this.#calls.get(key) ?? []).filter((at) => at > now - windowMs);
    this.#calls.set(key, [...recent, now]);
    const [first = now] = recent;
    if (!this.#isOn || recent.length < calls) return undefined;
    return this.#refuse(key, first + windowMs - now);
  }

  #refuse(key: string, waitMs: number): number {
    this.refused += 1;
    const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
    this.#pauses.set(key, this.#now() + waitMs);
    return seconds;
  }
}
