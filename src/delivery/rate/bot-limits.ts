/** The limits on one bot's calls: per place, for the bot, the share for edits, and the effects of refusals. */
import type { ChannelError } from '../../protocol/errors.ts';
import type { RateLimits } from '../../protocol/delivery.ts';
import { BotRate } from './bot-rate.ts';
import { AFTER_BURST_MS, type CallKind, type PlaceLimit } from './place-limit.ts';

/** This many places refused within `AFTER_BURST_MS` mean that the platform accepts no bursts. */
export const REFUSED_PLACES = 2;

interface Kind {
  /** An early call was accepted: more may follow at once. */
  proven: boolean;
  inFlight: number;
  /** The last places refused, with the time; at most `REFUSED_PLACES`. */
  refusals: Map<string, number>;
}

/** There are few kinds of places: a channel has one for each bucket that it declares. */
export class BurstTrust {
  readonly #kinds = new Map<string, Kind>();

  /** True while places of this kind may be called early. */
  allowed(kind: string, now: number): boolean {
    const { proven, inFlight, refusals } = this.#kind(kind);
    const recent = [...refusals.values()].filter((at) => now - at < AFTER_BURST_MS);
    return recent.length < REFUSED_PLACES && (proven || inFlight === 0);
  }

  start(kind: string): void {
    this.#kind(kind).inFlight++;
  }

  /** Records that an early call has ended, and whether the platform accepted it. */
  end(kind: string, isAccepted: boolean): void {
    const state = this.#kind(kind);
    state.inFlight--;
    state.proven ||= isAccepted;
  }

  refuse(kind: string, key: string, now: number): void {
    const state = this.#kind(kind);
    state.inFlight--;
    state.proven = false;
    state.refusals.delete(key);
    state.refusals.set(key, now);
    const [oldest] = state.refusals.keys();
    if (state.refusals.size > REFUSED_PLACES && oldest !== undefined) state.refusals.delete(oldest);
  }

  #kind(name: string): Kind {
    const kind = this.#kinds.get(name) ?? { proven: false, inFlight: 0, refusals: new Map<string, number>() };
    this.#kinds.set(name, kind);
    return kind;
  }
}

/** While a final is waiting, edits take at most this share of the bot's rate. */
const EDIT_SHARE = 0.6;

/** Pause after a refusal that names no time, in milliseconds. */
export const DEFAULT_PAUSE_MS = 3_000;

/** A call that was counted, and what its refusal would mean. */
export interface CountedCall {
  limit: PlaceLimit;
  kind: CallKind | 'optional';
  startedAt: number;
  /** It was made before the interval of its place was over. */
  early: boolean;
  /** Its place had been idle: it cannot have been called too often. */
  quiet: boolean;
}

export class BotLimits {
  /** All calls, and those answered "too fast". */
  readonly counts = { calls: 0, refused: 0 };
  readonly #bot: BotRate;
  readonly #hasBucket: boolean;
  readonly #bursts = new BurstTrust();
  /** Monotonic time until which the edits have used their share; for edits made while a final was waiting. */
  #editsDue = 0;

  constructor(callsPerSecond: RateLimits['callsPerSecond'], bucket?: number) {
    this.#bot = new BotRate(callsPerSecond, bucket);
    this.#hasBucket = bucket !== undefined;
  }

  perSecond(now: number): number {
    return this.#bot.perSecond(now);
  }

  /** Monotonic time at which the place accepts a call of this kind. */
  placeReadyAt(limit: PlaceLimit, kind: CallKind, now: number): number {
    return limit.readyAt(kind, now, this.#bursts.allowed(limit.shape, now));
  }

  /** Monotonic time at which the bot may make a call of this kind; `finalSoon`: a final is waiting. */
  botReadyAt(limit: PlaceLimit, kind: CallKind, now: number, finalSoon: boolean): number {
    if (!limit.countsForBot) return 0;
    return Math.max(this.#bot.readyAt(now, kind), finalSoon && kind === 'edit' ? this.#editsDue : 0);
  }

  /** Records whether calls are waiting for the bot's rate: only then is the rate learned upwards. */
  noteWaiting(now: number, isWaiting: boolean): void {
    this.#bot.noteWaiting(now, isWaiting);
  }

  /** Counts a call that starts now; `finalSoon`: a final is waiting. */
  count(limit: PlaceLimit, kind: CallKind, now: number, finalSoon = false): CountedCall {
    const call = { limit, kind, startedAt: now, early: limit.isEarly(now), quiet: limit.isQuiet(now) };
    this.counts.calls++;
    limit.count(now);
    if (call.early) this.#bursts.start(limit.shape);
    if (!limit.countsForBot) return call;
    this.#bot.count(now);
    if (kind === 'edit')
      this.#editsDue = (finalSoon ? Math.max(now, this.#editsDue) : now) + this.#editShareMs(now);
    return call;
  }

  /** Counts an optional call; undefined if it should be omitted, because it would keep another one waiting. */
  countOptional(limit: PlaceLimit, now: number): CountedCall | undefined {
    if (limit.pausedUntil > now || !this.#bot.isIdle(now)) return undefined;
    this.counts.calls++;
    this.#bot.count(now);
    return { limit, kind: 'optional', startedAt: now, early: false, quiet: false };
  }

  /** Reverts a count, because no call was made: the place and the bot may use it for something else. */
  giveBack({ limit, kind, early }: CountedCall, now: number): void {
    this.counts.calls--;
    if (early) this.#bursts.end(limit.shape, false);
    limit.giveBack();
    if (!limit.countsForBot) return;
    this.#bot.giveBack(now);
    if (kind === 'edit') this.#editsDue -= this.#editShareMs(now);
  }

  /** Records that a call has ended and was not too fast. */
  pass({ limit, startedAt, early }: CountedCall): void {
    if (early) this.#bursts.end(limit.shape, true);
    if (limit.countsForBot) this.#bot.pass(startedAt);
  }

  /** Pauses the place of a refused call, and decides what was too fast: the bot, the burst, or the pace of the place. */
  refuse({ limit, startedAt, early, quiet }: CountedCall, error: ChannelError, now: number): void {
    const pauseMs = error.retryAfterMs ?? DEFAULT_PAUSE_MS;
    if (error.local) {
      if (early) this.#bursts.end(limit.shape, false);
      limit.pause(now, pauseMs);
      return;
    }
    this.counts.refused++;
    // A platform with a bucket for the bot has none for its places.
    const mayBeBot = this.#hasBucket || (quiet && this.#bot.isBusy(now));
    const isBot = error.global || (limit.countsForBot && mayBeBot);
    if (early && isBot) this.#bursts.end(limit.shape, false);
    if (error.global) {
      this.#bot.slowDown(now, startedAt, pauseMs);
      this.#bot.stop(now, pauseMs);
    } else if (isBot) {
      this.#bot.slowDown(now, startedAt, pauseMs);
      limit.pause(now, pauseMs);
    } else if (early) {
      limit.refuseBurst(now, pauseMs);
      this.#bursts.refuse(limit.shape, limit.key, now);
    } else {
      limit.slowDown(now, pauseMs);
    }
  }

  #editShareMs(now: number): number {
    return 1_000 / (this.#bot.perSecond(now) * EDIT_SHARE);
  }
}
