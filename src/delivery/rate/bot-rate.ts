/** How many calls per second one bot makes: learned upwards while calls wait, downwards when the platform refuses. */
import type { RateLimits } from '../../protocol/delivery.ts';
import type { CallKind } from './place-limit.ts';

/** While calls wait, the rate rises by this many calls per second in each step of this many milliseconds. */
const RAISE_BY = 1;
export const RAISE_EVERY_MS = 10_000;
/** The same below the usual rate, until a first refusal: a lower limit is met by one call or two. */
export const RAISE_SOON_MS = 150;

/** A refused rate is not reached again for this long, in milliseconds. */
const CEILING_MS = 3_600_000;

/** A refusal lowers the rate to this fraction of the refused rate; later it rises at most to this fraction. */
const AFTER_REFUSAL = 0.8;
const BELOW_CEILING = 0.95;
/** The wait for a bucket is anything up to the time of a call: its pace is at first taken for this fraction of what that says. */
const AFTER_WAIT = 0.5;

/** While the platform's pause lasts the rate is this fraction of what it was: other places may continue. */
const DURING_PAUSE = 0.5;

/** A bot always makes this many calls per second; one that starts with fewer, at least this fraction of those. */
export const LEAST_PER_SECOND = 1;
const LEAST_SHARE = 0.2;

/** A bot whose calls are counted in a bucket learns the wait for each: it makes at least this many calls per second. */
const LEAST_OF_BUCKET = 0.1;

/** Maximum burst after an idle moment; in any second there are at most this many calls more than the rate. */
const BURST = 2;
/** In a bucket, edits leave this many calls to first messages and finals. */
const KEPT_FROM_EDITS = 2;

/** A refusal while the bot made fewer than this fraction of its calls in the last second does not concern its rate. */
const BUSY = 0.5;

/** This many refusals in a pause, and no accepted call, mean that the platform refuses the bot until the pause ends. */
const REFUSED_IN_PAUSE = 3;

const SECOND_MS = 1_000;

/** A refusal of the bot's rate, and the results of its pause so far. */
interface Cut {
  /** When the rate was last lowered: calls that started earlier were refused for the same reason. */
  at: number;
  until: number;
  perSecond: number;
  /** Refusals of calls that started within the pause. */
  refused: number;
  /** A call that started within the pause was accepted. */
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
  /** When the empty bucket got its next call, as the last refusal said, and how many it has accepted since. */
  #refill: { at: number; passed: number } | undefined;
  /** Since when calls have been waiting without a break, and when the rate last rose. */
  #busySince: number | undefined;
  #raisedAt = 0;
  #calls: number[] = [];

  /** `bucket`: how many calls the platform accepts at once, if it counts them in a bucket. */
  constructor({ start, usual = start, most }: RateLimits['callsPerSecond'], bucket?: number) {
    this.#perSecond = Math.min(start, most);
    this.#most = most;
    this.#usual = Math.min(usual, most);
    this.#bucket = bucket;
    this.#least =
      bucket === undefined ? Math.min(LEAST_PER_SECOND, this.#perSecond * LEAST_SHARE) : LEAST_OF_BUCKET;
  }

  perSecond(now: number): number {
    return this.#cut !== undefined && now < this.#cut.until ? this.#cut.perSecond : this.#perSecond;
  }

  readyAt(now: number, kind: CallKind = 'final'): number {
    const reserve = this.#bucket !== undefined && kind === 'edit' ? KEPT_FROM_EDITS : 0;
    const early = Math.max(0, (this.#bucket ?? BURST) - 1 - reserve);
    const at = (perSecond: number): number => this.#due - (early * SECOND_MS) / perSecond;
    const cut = this.#cut;
    // What waits does not look again when the pause ends, and its lower rate with it.
    const dueAt =
      cut !== undefined && now < cut.until
        ? Math.min(at(cut.perSecond), Math.max(cut.until, at(this.#perSecond)))
        : at(this.#perSecond);
    return Math.max(this.#stoppedUntil, dueAt);
  }

  /** True if a call now would keep no one waiting. */
  isIdle(now: number): boolean {
    return Math.max(this.#stoppedUntil, this.#due) <= now;
  }

  /** Counts a call that starts now. */
  count(now: number): void {
    this.#due = Math.max(now, this.#due) + SECOND_MS / this.perSecond(now);
    this.#calls = this.#calls.filter((at) => now - at < SECOND_MS);
    this.#calls.push(now);
  }

  /** Reverts the last count: no call was made. */
  giveBack(now: number): void {
    this.#due -= SECOND_MS / this.perSecond(now);
    this.#calls.pop();
  }

  /**
   * Notes whether calls wait. While they do, the rate rises: soon to the usual one, then slowly below the refused one.
   */
  noteWaiting(now: number, isWaiting: boolean): void {
    if (!isWaiting) {
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
    // The missing part of the bucket refills at the new pace.
    this.#due = now + (Math.max(0, this.#due - now) * this.#perSecond) / raised;
    this.#perSecond = raised;
  }

  /** True if the bot has been so busy in the last second that a refusal may concern its rate. */
  isBusy(now: number): boolean {
    return this.#calls.filter((at) => now - at < SECOND_MS).length >= this.perSecond(now) * BUSY;
  }

  /** Records that a call that started at `startedAt` was accepted. */
  pass(startedAt: number): void {
    if (this.#refill !== undefined && startedAt > (this.#cut?.at ?? 0)) this.#refill.passed++;
    if (this.#cut !== undefined && startedAt > this.#cut.at) this.#cut.passed = true;
  }

  /** Applies a refusal of the bot's rate, for a call that started at `startedAt`: slower, but the bot continues. */
  slowDown(now: number, startedAt: number, pauseMs: number): void {
    const lastCut = this.#cut;
    // Calls that were in flight together are refused for one reason.
    if (lastCut !== undefined && startedAt <= lastCut.at) return;
    const until = Math.max(now + pauseMs, lastCut?.until ?? 0);
    const perSecond = Math.max(this.#least, this.perSecond(now) * DURING_PAUSE);
    // A refusal within the pause says nothing new about the rate before it.
    const inPause = lastCut !== undefined && now < lastCut.until ? lastCut : undefined;
    if (inPause === undefined) {
      const { tooFast, share } = this.#refusedRate(now, pauseMs);
      this.#ceiling = { perSecond: tooFast, until: now + CEILING_MS };
      this.#perSecond = Math.max(this.#least, tooFast * share);
      this.#raisedAt = until;
      this.#refill = { at: now + pauseMs, passed: 0 };
    }
    // After the pause there is one call at once: a bucket is empty, and what may be early of a rate was counted.
    const afterPause = until + (((this.#bucket ?? BURST) - 1) * SECOND_MS) / this.#perSecond;
    // A rate goes on within the pause, but with no burst: the next call waits its whole time.
    this.#due =
      this.#bucket === undefined
        ? Math.max(this.#due, Math.min(now + (BURST * SECOND_MS) / perSecond, afterPause))
        : afterPause;
    const refusals = inPause === undefined ? 0 : inPause.refused + 1;
    const hasPassed = inPause?.passed === true;
    if (refusals >= REFUSED_IN_PAUSE && !hasPassed) this.stop(now, until - now);
    this.#cut = { at: now, until, perSecond, refused: refusals, passed: hasPassed };
  }

  /**
   * The pace of a bucket that was empty until `refill.at` and is again until `emptyUntil`: as many calls as it has accepted in
   * between. Undefined if it may have been full, or was never refused before.
   */
  #measuredRate(emptyUntil: number): number | undefined {
    const { at, passed } = this.#refill ?? { at: emptyUntil, passed: 0 };
    const isPartlyFull = this.#bucket !== undefined && passed > 0 && passed < this.#bucket;
    return isPartlyFull && emptyUntil > at ? (passed * SECOND_MS) / (emptyUntil - at) : undefined;
  }

  /** The refused rate, and which share of it is made now: a bucket's wait reveals its pace, unless the wait is not a bucket's. */
  #refusedRate(now: number, pauseMs: number): { tooFast: number; share: number } {
    const measured = this.#measuredRate(now + pauseMs);
    if (measured !== undefined) return { tooFast: measured, share: BELOW_CEILING };
    const isPace = this.#bucket !== undefined && pauseMs > SECOND_MS && pauseMs <= SECOND_MS / this.#least;
    if (!isPace) return { tooFast: this.#perSecond, share: AFTER_REFUSAL };
    return { tooFast: Math.min(this.#perSecond, SECOND_MS / pauseMs), share: AFTER_WAIT };
  }

  /** No call for `ms`: the platform refuses the whole bot until then. */
  stop(now: number, ms: number): void {
    this.#stoppedUntil = Math.max(this.#stoppedUntil, now + ms);
  }
}
