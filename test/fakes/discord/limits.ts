/** Rate limits of the fake Discord: buckets with headers, hidden limits, forced 429s, and a count of calls that came too early. */
import type { ServerResponse } from 'node:http';

/** At most `limit` calls of one route and channel in `windowMs`; the client learns it only from headers and 429s. */
export interface HiddenLimit {
  limit: number;
  windowMs: number;
}

/** A 429 that the test requests. `shared` is the limit of a resource that others use as well: no header announces it. */
export interface ForcedLimit {
  retryAfterMs: number;
  scope: 'user' | 'global' | 'shared';
}

interface Bucket {
  used: number;
  resetAt: number;
  pausedUntil: number;
}

const OPEN: HiddenLimit = { limit: 10_000, windowMs: 1_000 };
/** Calls with one interaction token. */
const INTERACTION: HiddenLimit = { limit: 5, windowMs: 5_000 };
/** Calls of a bot per second, over all routes; those with an interaction token do not count. */
const GLOBAL: HiddenLimit = { limit: 50, windowMs: 1_000 };

export class Limits {
  /** Calls made before the wait of a 429 was over. */
  early = 0;
  /** 429s returned. */
  refused = 0;
  /** Answers that count towards the ban for invalid requests: 401, 403, and 429 except shared ones. */
  invalid = 0;
  readonly #limits: { send?: HiddenLimit; edit?: HiddenLimit };
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  readonly #forced: ForcedLimit[] = [];
  #globalUntil = 0;
  #newest: number[] = [];

  constructor(now: () => number, limits: { send?: HiddenLimit; edit?: HiddenLimit } = {}) {
    this.#now = now;
    this.#limits = limits;
  }

  force(limit: ForcedLimit): void {
    this.#forced.push(limit);
  }

  /** Sets the rate limit headers, and returns true if it has answered with 429. */
  refuses(route: string, major: string, response: ServerResponse): boolean {
    const ofInteraction = route.includes('/webhooks/');
    const key = ofInteraction ? major : `${route} ${major}`;
    const now = this.#now();
    const rule = this.#ruleOf(route);
    const bucket = this.#buckets.get(key) ?? { used: 0, resetAt: now + rule.windowMs, pausedUntil: 0 };
    this.#buckets.set(key, bucket);
    if (bucket.resetAt <= now) Object.assign(bucket, { used: 0, resetAt: now + rule.windowMs });

    const globalUntil = ofInteraction ? 0 : this.#globalUntil;
    const paused = Math.max(bucket.pausedUntil, globalUntil);
    if (paused > now) {
      this.early += 1;
      this.#answer429(response, paused - now, globalUntil > now ? 'global' : 'user');
      return true;
    }
    const forced = this.#forced.shift();
    if (forced !== undefined) {
      if (forced.scope === 'global') this.#globalUntil = now + forced.retryAfterMs;
      else bucket.pausedUntil = now + forced.retryAfterMs;
      this.#answer429(response, forced.retryAfterMs, forced.scope);
      return true;
    }
    if (!ofInteraction && this.#isOverGlobal(now)) {
      this.#answer429(response, this.#globalUntil - now, 'global');
      return true;
    }
    bucket.used += 1;
    const left = rule.limit - bucket.used;
    const wait = Math.max(0, bucket.resetAt - now) / 1_000;
    response.setHeader('X-RateLimit-Limit', rule.limit);
    response.setHeader('X-RateLimit-Remaining', Math.max(0, left));
    response.setHeader('X-RateLimit-Reset', (bucket.resetAt / 1_000).toFixed(3));
    response.setHeader('X-RateLimit-Reset-After', wait.toFixed(3));
    response.setHeader('X-RateLimit-Bucket', Buffer.from(route).toString('hex').slice(0, 32));
    if (left >= 0) return false;
    bucket.pausedUntil = bucket.resetAt;
    this.#answer429(response, bucket.resetAt - now, 'user');
    return true;
  }

  #isOverGlobal(now: number): boolean {
    this.#newest = this.#newest.filter((at) => at > now - GLOBAL.windowMs);
    const [first = now] = this.#newest;
    const isOver = this.#newest.length >= GLOBAL.limit;
    if (isOver) this.#globalUntil = first + GLOBAL.windowMs;
    else this.#newest.push(now);
    return isOver;
  }

  #ruleOf(route: string): HiddenLimit {
    if (route.includes('/webhooks/')) return INTERACTION;
    if (route === 'POST /channels/:id/messages') return this.#limits.send ?? OPEN;
    if (route.startsWith('PATCH ')) return this.#limits.edit ?? OPEN;
    return OPEN;
  }

  #answer429(response: ServerResponse, waitMs: number, scope: ForcedLimit['scope']): void {
    this.refused += 1;
    if (scope !== 'shared') this.invalid += 1;
    const seconds = Math.max(0.001, waitMs / 1_000);
    response.setHeader('Retry-After', Math.ceil(seconds));
    response.setHeader('X-RateLimit-Scope', scope);
    if (scope === 'global') response.setHeader('X-RateLimit-Global', 'true');
    if (scope === 'user') response.setHeader('X-RateLimit-Reset-After', seconds.toFixed(3));
    if (scope === 'user') response.setHeader('X-RateLimit-Remaining', 0);
    const message =
      scope === 'shared' ? 'The resource is being rate limited.' : 'You are being rate limited.';
    response.writeHead(429, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ message, retry_after: seconds, global: scope === 'global' }));
  }
}
