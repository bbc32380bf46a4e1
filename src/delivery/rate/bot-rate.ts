/** How many calls a second one bot makes: learned upwards while calls wait, downwards when the platform refuses. */
import type { RateLimits } from '../../contracts/delivery.ts';
import type { CallKind } from './place-limit.ts';

/** While calls wait, the rate rises by this much per step, in calls a second, each step after this long, in milliseconds. */
const RAISE_BY = 1;
export const RAISE_EVERY_MS = 10_000;
/** The same below the usual rate, as long as the platform has refused nothing: a lower limit is met in passing, by one call or two. */
export const RAISE_SOON_MS = 150;

/** A refused rate is not reached again for this long, in milliseconds. */
const CEILING_MS = 3_600_000;

/** After a refusal the rate goes to this share of the refused one, and later rises to at most that share of it. */
const AFTER_REFUSAL = 0.8;
const BELOW_CEILING = 0.95;

/** While the platform's pause lasts the rate is this share of what it was: other places may go on. */
const DURING_PAUSE = 0.5;

/** A bot always makes at least so many calls a second; one that begins with few, at least this share of them. */
export const LEAST_PER_SECOND = 1;
const LEAST_SHARE = 0.2;

/** A bot whose calls are counted in a bucket is told the wait for each: it makes at least so many calls a second. */
const LEAST_OF_BUCKET = 0.1;

/** Calls that may go out at once after a quiet moment; in any second there are at most so many more than the rate. */
const BURST = 2;
/** Of a bucket, edits leave so many calls to first messages and finals. */
const KEPT_FROM_EDITS = 2;

/** A refusal while the bot made fewer than this share of its calls in the last second is not about its rate. */
const BUSY = 0.5;

/** So many refusals in a pause, and no call that passed, mean that the platform refuses the whole bot until it is over. */
const REFUSED_IN_PAUSE = 3;

const SECOND_MS = 1_000;

/** A refusal of the bot's rate, and what its pause has shown so far. */
interface Cut {
  /** When the rate was last lowered: calls that started before were refused for the same reason. */
  at: number;
  until: number;
  perSecond: number;
  /** Refusals of calls that started within the pause. */
  refused: number;
  /** A call that started within the pause was taken. */
  passed: boolean;
}

export class BotRate {
  readonly #most: number;
  readonly #usual: number;
  readonly #least: number;
  readonly #bucket: number | undefined;
  #perSecond: number;
  /** Monotonic time at which the bucket is full again. */
  #due = 0;
  /** All calls wait until then: the platform refuses every call of the bot. */
  #stoppedUntil = 0;
  #ceiling: { perSecond: number; until: number } | undefined;
  /** The last refusal: while its pause lasts the rate is lower. */
  #cut: Cut | undefined;
  /** Since when calls have waited without a break, and when the rate last rose. */
  #busySince: number | undefined;
  #raisedAt = 0;
  /** Times of the calls of the last second. */
  #calls: number[] = [];

  /** `bucket`: how many calls the platform takes at once, where it counts them in a bucket. */
  constructor({ start, usual = start, most }: RateLimits['callsPerSecond'], bucket?: number) {
    this.#perSecond = Math.min(start, most);
    this.#most = most;
    this.#usual = Math.min(usual, most);
    this.#bucket = bucket;
    this.#least =
      bucket === undefined ? Math.min(LEAST_PER_SECOND, this.#perSecond * LEAST_SHARE) : LEAST_OF_BUCKET;
  }

  /** The rate in force, in calls a second. */
  perSecond(now: number): number {
    return this.#cut !== undefined && now < this.#cut.until ? this.#cut.perSecond : this.#perSecond;
  }

  /** Monotonic time at which the next call may start. */
  readyAt(now: number, kind: CallKind = 'final'): number {
    const kept = this.#bucket !== undefined && kind === 'edit' ? KEPT_FROM_EDITS : 0;
    const early = Math.max(0, (this.#bucket ?? BURST) - 1 - kept);
    return Math.max(this.#stoppedUntil, this.#due - (early * SECOND_MS) / this.perSecond(now));
  }

  /** True when a call now would keep nobody waiting. */
  isIdle(now: number): boolean {
    return Math.max(this.#stoppedUntil, this.#due) <= now;
  }

  /** Counts a call that starts now. */
  count(now: number): void {
    this.#due = Math.max(now, this.#due) + SECOND_MS / this.perSecond(now);
    this.#calls = this.#calls.filter((at) => now - at < SECOND_MS);
    this.#calls.push(now);
  }

  /** Takes the last count back: no call was made. */
  giveBack(now: number): void {
    this.#due -= SECOND_MS / this.perSecond(now);
    this.#calls.pop();
  }

  /** Notes whether calls wait for this rate; while they do it rises, soon to the usual rate, then slowly, staying below what was refused. */
  noteWaiting(now: number, waiting: boolean): void {
    if (!waiting) {
      this.#busySince = undefined;
      return;
    }
    this.#busySince ??= now;
    const ceiling = this.#ceiling !== undefined && now < this.#ceiling.until ? this.#ceiling : undefined;
    const isSoon = this.#ceiling === undefined && this.#perSecond < this.#usual;
    const everyMs = isSoon ? RAISE_SOON_MS : RAISE_EVERY_MS;
    if (now - Math.max(this.#busySince, this.#raisedAt) < everyMs) return;
    this.#raisedAt = now;
    const most = Math.min(this.#most, (ceiling?.perSecond ?? Number.POSITIVE_INFINITY) * BELOW_CEILING);
    const raised = Math.max(this.#perSecond, Math.min(this.#perSecond + RAISE_BY, most));
    // What the bucket lacks comes back at the new pace.
    this.#due = now + (Math.max(0, this.#due - now) * this.#perSecond) / raised;
    this.#perSecond = raised;
  }

  /** True when the bot has been so busy in the last second that a refusal may be about its rate. */
  isBusy(now: number): boolean {
    return this.#calls.filter((at) => now - at < SECOND_MS).length >= this.perSecond(now) * BUSY;
  }

  /** Notes that a call which started at `startedAt` was taken. */
  pass(startedAt: number): void {
    if (this.#cut !== undefined && startedAt > this.#cut.at) this.#cut.passed = true;
  }

  /** Applies a refusal of the bot's rate, of a call that started at `startedAt`: slower, but the bot goes on. */
  slowDown(now: number, startedAt: number, pauseMs: number): void {
    const cut = this.#cut;
    // Calls that were in flight together are refused for one reason.
    if (cut !== undefined && startedAt <= cut.at) return;
    const until = Math.max(now + pauseMs, cut?.until ?? 0);
    const perSecond = Math.max(this.#least, this.perSecond(now) * DURING_PAUSE);
    // A refusal within the pause says nothing new about the rate before it.
    const inPause = cut !== undefined && now < cut.until ? cut : undefined;
    if (inPause === undefined) {
      const tooFast = this.#refusedRate(pauseMs);
      this.#ceiling = { perSecond: tooFast, until: now + CEILING_MS };
      this.#perSecond = Math.max(this.#least, tooFast * AFTER_REFUSAL);
      this.#raisedAt = until;
    }
    // The bucket is empty: after the pause it holds one call.
    if (this.#bucket !== undefined) this.#due = until + ((this.#bucket - 1) * SECOND_MS) / this.#perSecond;
    const refused = inPause === undefined ? 0 : inPause.refused + 1;
    const passed = inPause?.passed === true;
    if (refused >= REFUSED_IN_PAUSE && !passed) this.stop(now, until - now);
    this.#cut = { at: now, until, perSecond, refused, passed };
  }

  /** The rate that a refusal is about: a bucket that asks for more than a second tells its own pace, unless it is no bucket's wait. */
  #refusedRate(pauseMs: number): number {
    const isPace = this.#bucket !== undefined && pauseMs > SECOND_MS && pauseMs <= SECOND_MS / this.#least;
    return isPace ? Math.min(this.#perSecond, SECOND_MS / pauseMs) : this.#perSecond;
  }

  /** No call for `ms`: the platform refuses the whole bot until then. */
  stop(now: number, ms: number): void {
    this.#stoppedUntil = Math.max(this.#stoppedUntil, now + ms);
  }
}
