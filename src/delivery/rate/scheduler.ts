/**
 * Schedules the calls to one bot's platform: finals, first messages, then the oldest screens; one call at a time per
 * place, never too fast.
 */
import { ChannelError, GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { Place, SentMessage } from '../../protocol/message.ts';
import type { RateLimits } from '../../protocol/delivery.ts';
import type { Channel } from '../../protocol/channel.ts';
import type { Clock } from '../../lib/clock.ts';
import { BotLimits, type CountedCall, DEFAULT_PAUSE_MS } from './bot-limits.ts';
import { PlaceLimit } from './place-limit.ts';
import { type Final, isBefore, type LiveEdit, type Offer, PlaceQueue } from './place-queue.ts';

/** A final waits in its place for pauses up to this long in total; a longer one is left to its lane. */
export const MAX_FINAL_WAIT_MS = 60_000;

/** A final counts as waiting, so that edits leave it room, if its place accepts it within this time. */
const FINAL_SOON_MS = 1_000;

/** Interval of the check whether this node holds its lanes again, while calls are waiting for that. */
const LEASE_CHECK_MS = 250;

/** The destination of a call: `first` is the first message of the answer, if it is already on screen. */
export interface CallTarget {
  place: Place;
  first?: SentMessage | undefined;
  /** A reaction to a question. */
  isReaction?: true;
}

export class Scheduler {
  readonly #clock: Clock;
  readonly #rates: RateLimits;
  readonly #isLeased: () => boolean;
  readonly #limits: BotLimits;
  readonly #queues = new Map<string, PlaceQueue>();
  /** The queue of every waiting edit. */
  readonly #queueOf = new Map<LiveEdit, PlaceQueue>();
  #order = 0;
  #wake: { at: number; cancel: () => void } | undefined;

  /** `isLeased`: whether this node holds its lanes; without them another node may have shown something newer. */
  constructor(clock: Clock, rates: RateLimits, isLeased: () => boolean) {
    this.#clock = clock;
    this.#rates = rates;
    this.#isLeased = isLeased;
    this.#limits = new BotLimits(rates);
  }

  /** All calls, and those answered "too fast": for the metrics. */
  get counts(): Readonly<BotLimits['counts']> {
    return this.#limits.counts;
  }

  /** Number of places that are remembered: those with work, and those whose rate limit is in use. */
  get places(): number {
    return this.#queues.size;
  }

  /** Calls `edit.show` once more when its place may next be called. Cheap to repeat. Never throws. */
  requestEdit(target: CallTarget, edit: LiveEdit): void {
    if (this.#queueOf.has(edit)) return;
    this.#enqueue(this.#queue(target), edit);
    this.#startCalls();
  }

  /** Withdraws the request; a call in flight continues. */
  cancelEdit(edit: LiveEdit): void {
    this.#queueOf.get(edit)?.edits.delete(edit);
    this.#queueOf.delete(edit);
  }

  /**
   * Makes a call that must happen, before any edit and in order within its place; "too fast" is waited out there.
   * Throws what `call` throws, `rate_limited` once the waits exceed `MAX_FINAL_WAIT_MS`, and the signal's reason
   * before the call.
   */
  final<T>(target: CallTarget, call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const queue = this.#queue(target);
    const final: Final = {
      order: this.#order++,
      waitedMs: 0,
      signal,
      call: async () => resolve(await call()),
      fail: reject,
    };
    const leave = () => {
      if (!queue.finals.includes(final)) return;
      queue.finals = queue.finals.filter((other) => other !== final);
      reject(toGatewayError(signal.reason));
    };
    signal.addEventListener('abort', leave, { once: true });
    queue.finals.push(final);
    if (signal.aborted) leave();
    else this.#startCalls();
    return promise.finally(() => signal.removeEventListener('abort', leave));
  }

  /** Makes an optional call (typing) if the limits allow it now; true unless it failed permanently. Never throws. */
  async tryOptional(target: CallTarget, call: () => Promise<void>): Promise<boolean> {
    const now = this.#clock.monotonicMs();
    const counted = this.#isLeased() ? this.#limits.countOptional(this.#queue(target).limit, now) : undefined;
    if (counted === undefined) return true;
    try {
      await call();
      return true;
    } catch (error) {
      if (!isRefusal(error)) return false;
      this.#limits.refuse(counted, error, this.#clock.monotonicMs());
      return true;
    }
  }

  /** Stops the timer; waiting finals are refused, and their lanes retry them. */
  close(): void {
    this.#wake?.cancel();
    this.#wake = undefined;
    const closing = new GatewayError('closing', 'The gateway is shutting down.', { retryable: true });
    for (const queue of this.#queues.values()) for (const final of queue.finals) final.fail(closing);
    this.#queues.clear();
    this.#queueOf.clear();
  }

  #queue({ place, first, isReaction }: CallTarget): PlaceQueue {
    const ofReaction = isReaction === true ? this.#rates.ofReactions?.(place) : undefined;
    const rate = ofReaction ?? this.#rates.of(place, first);
    let queue = this.#queues.get(rate.key);
    if (queue === undefined) {
      queue = new PlaceQueue(new PlaceLimit(rate));
      this.#queues.set(rate.key, queue);
    }
    return queue;
  }

  #enqueue(queue: PlaceQueue, edit: LiveEdit): void {
    if (this.#queueOf.has(edit)) return;
    queue.edits.set(edit, this.#order++);
    this.#queueOf.set(edit, queue);
  }

  /** Starts every call whose time has come, and sets the timer for the next one. */
  #startCalls(): void {
    for (;;) {
      const now = this.#clock.monotonicMs();
      if (!this.#isLeased()) {
        // A process that was paused wakes with its calls due, but another node may have shown something
        // newer. The caller learns of it through its own signal; what is still wanted once the lanes are back
        // is shown then.
        if ([...this.#queues.values()].some((queue) => !queue.isEmpty)) this.#wakeAt(now + LEASE_CHECK_MS);
        return;
      }
      const { offer, nextAt, finalSoon } = this.#choose(now);
      if (offer === undefined) {
        if (nextAt !== undefined) this.#wakeAt(nextAt);
        return;
      }
      const { queue, kind, final, edit } = offer;
      const counted = this.#limits.count(queue.limit, kind, now, finalSoon);
      queue.busy = true;
      if (edit === undefined) {
        queue.finals.shift();
        final.call().then(
          () => this.#passed(queue, counted),
          (error: unknown) => this.#finalFailed(queue, counted, final, error),
        );
      } else {
        this.cancelEdit(edit);
        edit.show().then(
          (shown) => this.#editEnded(queue, counted, edit, shown),
          (error: unknown) => this.#editFailed(queue, counted, edit, error),
        );
      }
    }
  }

  /** The most urgent call whose time has come; otherwise when to look again. */
  #choose(now: number): { offer: Offer | undefined; nextAt: number | undefined; finalSoon: boolean } {
    const offers = this.#offers(now);
    const finalSoon = offers.some(
      ({ offer, readyAt }) => offer.kind === 'final' && readyAt <= now + FINAL_SOON_MS,
    );
    let chosen: Offer | undefined;
    let nextAt: number | undefined;
    let waiting = false;
    for (const { offer, readyAt: placeReadyAt } of offers) {
      const botReadyAt = this.#limits.botReadyAt(offer.queue.limit, offer.kind, now, finalSoon);
      const readyAt = Math.max(placeReadyAt, botReadyAt);
      waiting ||= placeReadyAt <= now && botReadyAt > now;
      if (readyAt > now) nextAt = Math.min(nextAt ?? readyAt, readyAt);
      else if (chosen === undefined || isBefore(offer, chosen)) chosen = offer;
    }
    if (waiting || chosen === undefined) this.#limits.noteWaiting(now, waiting);
    return { offer: chosen, nextAt, finalSoon };
  }

  /** The next call of every place, and when the place accepts it. Forgets places with nothing to remember. */
  #offers(now: number): { offer: Offer; readyAt: number }[] {
    const offers: { offer: Offer; readyAt: number }[] = [];
    for (const queue of this.#queues.values()) {
      const { limit, offer } = queue;
      if (offer !== undefined)
        offers.push({ offer, readyAt: this.#limits.placeReadyAt(limit, offer.kind, now) });
      else if (!queue.busy && limit.isFresh(now)) this.#queues.delete(limit.key);
    }
    return offers;
  }

  #passed(queue: PlaceQueue, counted: CountedCall): void {
    this.#limits.pass(counted);
    this.#ended(queue);
  }

  #editEnded(
    queue: PlaceQueue,
    counted: CountedCall,
    edit: LiveEdit,
    shown: Awaited<ReturnType<LiveEdit['show']>>,
  ): void {
    if (shown === 'nothing') this.#limits.giveBack(counted, this.#clock.monotonicMs());
    else this.#limits.pass(counted);
    if (shown === 'more') this.#enqueue(queue, edit);
    this.#ended(queue);
  }

  #editFailed(queue: PlaceQueue, counted: CountedCall, edit: LiveEdit, error: unknown): void {
    if (isRefusal(error)) {
      this.#limits.refuse(counted, error, this.#clock.monotonicMs());
      this.#enqueue(queue, edit);
    } else this.#limits.pass(counted);
    this.#ended(queue);
  }

  #ended(queue: PlaceQueue): void {
    queue.busy = false;
    this.#startCalls();
  }

  #finalFailed(queue: PlaceQueue, counted: CountedCall, final: Final, error: unknown): void {
    const refusal = isRefusal(error) ? error : undefined;
    if (refusal === undefined) this.#limits.pass(counted);
    else this.#limits.refuse(counted, refusal, this.#clock.monotonicMs());
    final.waitedMs += refusal?.retryAfterMs ?? DEFAULT_PAUSE_MS;
    if (final.signal.aborted) final.fail(toGatewayError(final.signal.reason));
    else if (refusal !== undefined && final.waitedMs <= MAX_FINAL_WAIT_MS) queue.finals.unshift(final);
    else final.fail(refusal ?? toGatewayError(error));
    this.#ended(queue);
  }

  #wakeAt(at: number): void {
    if (this.#wake !== undefined && this.#wake.at <= at) return;
    this.#wake?.cancel();
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.monotonicMs()), () => {
      this.#wake = undefined;
      this.#startCalls();
    });
    this.#wake = { at, cancel };
  }
}

function isRefusal(error: unknown): error is ChannelError {
  return error instanceof ChannelError && error.code === 'rate_limited';
}

/** The schedulers of all bots, one for each channel, created when the channel is first used. */
export class Schedulers {
  readonly #known = new Map<string, Scheduler>();
  readonly #clock: Clock;
  readonly #isLeased: () => boolean;

  constructor(clock: Clock, isLeased: () => boolean) {
    this.#clock = clock;
    this.#isLeased = isLeased;
  }

  /** The scheduler of a channel's bot. */
  of({ name, capabilities }: Pick<Channel, 'name' | 'capabilities'>): Scheduler {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const made = new Scheduler(this.#clock, capabilities.rates, this.#isLeased);
    this.#known.set(name, made);
    return made;
  }

  /** Calls of each channel's bot, and those answered "too fast". */
  counts(): ReadonlyMap<string, Scheduler['counts']> {
    return new Map([...this.#known].map(([name, { counts }]) => [name, counts]));
  }

  /** Ends all waits; may be called twice. Never throws. */
  close(): void {
    for (const one of this.#known.values()) one.close();
  }
}
