/** Schedules the calls to one bot's platform: finals, first messages, then the oldest screens; one per place. */
import { ChannelError, GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { Place, SentMessage } from '../../protocol/message.ts';
import type { RateLimits } from '../../protocol/delivery.ts';
import type { Channel } from '../../protocol/channel.ts';
import type { Clock } from '../../lib/clock.ts';
import { BotLimits, type CountedCall, DEFAULT_PAUSE_MS } from './bot-limits.ts';
import { type CallKind, PlaceLimit } from './place-limit.ts';

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
  isReaction?: true;
}

export class Scheduler {
  readonly #clock: Clock;
  readonly #rates: RateLimits;
  readonly #isLeased: () => boolean;
  readonly #limits: BotLimits;
  readonly #queues = new Map<string, PlaceQueue>();
  readonly #queueOf = new Map<LiveEdit, PlaceQueue>();
  #order = 0;
  #wake: { at: number; cancel: () => void } | undefined;

  /** `isLeased`: whether this node holds its lanes; without them another node may have shown something newer. */
  constructor(clock: Clock, rates: RateLimits, isLeased: () => boolean) {
    this.#clock = clock;
    this.#rates = rates;
    this.#isLeased = isLeased;
    this.#limits = new BotLimits(rates.callsPerSecond, rates.bucket);
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
   * Makes a call that must happen, before any edit and in order within its place, and waits out "too fast". Throws what
   * `call` throws, `rate_limited` beyond `MAX_FINAL_WAIT_MS`, and before the call the signal's reason.
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
    const record = this.#isLeased() ? this.#limits.countOptional(this.#queue(target).limit, now) : undefined;
    if (record === undefined) return true;
    try {
      await call();
      return true;
    } catch (error) {
      if (!isRefusal(error)) return false;
      this.#limits.refuse(record, error, this.#clock.monotonicMs());
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
    const queue = this.#queues.get(rate.key) ?? new PlaceQueue(new PlaceLimit(rate));
    this.#queues.set(rate.key, queue);
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
        // After a pause of the process calls are due, but another node may have shown something newer. What is
        // still wanted once the lanes are back is shown then.
        if ([...this.#queues.values()].some((queue) => !queue.isEmpty)) this.#wakeAt(now + LEASE_CHECK_MS);
        return;
      }
      const { offer, nextAt, finalSoon } = this.#choose(now);
      if (offer === undefined) {
        if (nextAt !== undefined) this.#wakeAt(nextAt);
        return;
      }
      const { queue, kind, final, edit } = offer;
      const record = this.#limits.count(queue.limit, kind, now, finalSoon);
      queue.busy = true;
      const call =
        edit === undefined ? this.#callFinal(queue, final, record) : this.#showEdit(queue, edit, record);
      void call.finally(() => {
        queue.busy = false;
        this.#startCalls();
      });
    }
  }

  /** The most urgent call whose time has come; otherwise when to look again. Forgets places with nothing to remember. */
  #choose(now: number): { offer: Offer | undefined; nextAt: number | undefined; finalSoon: boolean } {
    const offers: { offer: Offer; placeReadyAt: number }[] = [];
    for (const queue of this.#queues.values()) {
      const { limit, offer } = queue;
      if (offer !== undefined)
        offers.push({ offer, placeReadyAt: this.#limits.placeReadyAt(limit, offer.kind, now) });
      else if (!queue.busy && limit.isFresh(now)) this.#queues.delete(limit.key);
    }
    const finalSoon = offers.some(
      ({ offer, placeReadyAt }) => offer.kind === 'final' && placeReadyAt <= now + FINAL_SOON_MS,
    );
    let next: Offer | undefined;
    let nextAt: number | undefined;
    let waitsForBot = false;
    for (const { offer, placeReadyAt } of offers) {
      const botReadyAt = this.#limits.botReadyAt(offer.queue.limit, offer.kind, now, finalSoon);
      const readyAt = Math.max(placeReadyAt, botReadyAt);
      waitsForBot ||= placeReadyAt <= now && botReadyAt > now;
      if (readyAt > now) nextAt = Math.min(nextAt ?? readyAt, readyAt);
      else if (next === undefined || isBefore(offer, next)) next = offer;
    }
    if (waitsForBot || next === undefined) this.#limits.noteWaiting(now, waitsForBot);
    return { offer: next, nextAt, finalSoon };
  }

  async #showEdit(queue: PlaceQueue, edit: LiveEdit, record: CountedCall): Promise<void> {
    this.cancelEdit(edit);
    try {
      const outcome = await edit.show();
      if (outcome === 'nothing') this.#limits.giveBack(record, this.#clock.monotonicMs());
      else this.#limits.pass(record);
      if (outcome === 'more') this.#enqueue(queue, edit);
    } catch (error) {
      if (!this.#refuse(record, error)) return;
      this.#enqueue(queue, edit);
    }
  }

  async #callFinal(queue: PlaceQueue, final: Final, record: CountedCall): Promise<void> {
    queue.finals.shift();
    try {
      await final.call();
      this.#limits.pass(record);
    } catch (error) {
      const isRefused = this.#refuse(record, error);
      const failure = toGatewayError(error);
      final.waitedMs += failure.retryAfterMs ?? DEFAULT_PAUSE_MS;
      if (final.signal.aborted) final.fail(toGatewayError(final.signal.reason));
      else if (isRefused && final.waitedMs <= MAX_FINAL_WAIT_MS) queue.finals.unshift(final);
      else final.fail(failure);
    }
  }

  /** Records the failure of a call; true if it was too fast. */
  #refuse(record: CountedCall, error: unknown): boolean {
    const isRefused = isRefusal(error);
    if (isRefused) this.#limits.refuse(record, error, this.#clock.monotonicMs());
    else this.#limits.pass(record);
    return isRefused;
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
export function createSchedulers(clock: Clock, isLeased: () => boolean) {
  const byChannel = new Map<string, Scheduler>();
  return {
    of: ({ name, capabilities }: Channel): Scheduler => {
      const scheduler = byChannel.get(name) ?? new Scheduler(clock, capabilities.rates, isLeased);
      byChannel.set(name, scheduler);
      return scheduler;
    },
    /** Calls of each channel's bot, and those answered "too fast". */
    counts: (): ReadonlyMap<string, Scheduler['counts']> =>
      new Map([...byChannel].map(([name, { counts }]) => [name, counts])),
    /** Ends all waits; may be called twice. Never throws. */
    close(): void {
      for (const scheduler of byChannel.values()) scheduler.close();
    },
  };
}

/** Something on screen that can update itself. */
export interface LiveEdit {
  /** Monotonic time at which it last changed on screen; undefined while none of it is on screen. */
  readonly shownAt: number | undefined;
  /**
   * Shows the newest state with at most one call; `more` if more is left. Throws only `ChannelError('rate_limited')`:
   * it is called again after the pause.
   */
  show(): Promise<'nothing' | 'shown' | 'more'>;
}

interface Final {
  order: number;
  waitedMs: number;
  signal: AbortSignal;
  call(): Promise<void>;
  fail(error: GatewayError): void;
}

/** The next call of a place; of two of the same kind the one with the lower `rank` goes first. */
type Offer = { queue: PlaceQueue; kind: CallKind; rank: number } & (
  | { final: Final; edit: undefined }
  | { final: undefined; edit: LiveEdit }
);

const URGENCY: Record<CallKind, number> = { final: 0, first: 1, edit: 2 };

class PlaceQueue {
  readonly limit: PlaceLimit;
  /** A call is in flight: a place has one at a time. */
  busy = false;
  finals: Final[] = [];
  /** Requested edits, with the order of the requests. */
  readonly edits = new Map<LiveEdit, number>();

  constructor(limit: PlaceLimit) {
    this.limit = limit;
  }

  get isEmpty(): boolean {
    return this.finals.length === 0 && this.edits.size === 0;
  }

  /** The next call here; undefined if nothing is waiting, or while a call is in flight. */
  get offer(): Offer | undefined {
    if (this.busy) return undefined;
    const [final] = this.finals;
    if (final !== undefined) return { queue: this, kind: 'final', rank: final.order, final, edit: undefined };
    let next: Offer | undefined;
    for (const [edit, order] of this.edits) {
      const kind = edit.shownAt === undefined ? 'first' : 'edit';
      // The oldest screen first; first messages in the order of their requests.
      const rank = edit.shownAt ?? order;
      const offer: Offer = { queue: this, kind, rank, final: undefined, edit };
      if (next === undefined || isBefore(offer, next)) next = offer;
    }
    return next;
  }
}

/** True if `a` goes before `b`. */
function isBefore(a: Offer, b: Offer): boolean {
  return a.kind === b.kind ? a.rank < b.rank : URGENCY[a.kind] < URGENCY[b.kind];
}
