/** Joins deltas while the event loop is behind: one event for several deltas costs every consumer less. */
import type { TurnEmitter } from '../contracts/bus.ts';
import type { EventBody } from '../contracts/event.ts';
import type { Clock } from '../lib/clock.ts';

/**
 * Longest time to hold a delta, in milliseconds. A thousand streams on two busy cores get a token each 60 ms: at 30 ms
 * there was nothing to join, and each token was a write of its own.
 */
export const MAX_JOIN_MS = 100;
/** Event loop delay above which deltas are joined, in milliseconds. */
export const LOAD_DELAY_MS = 5;
/** Turns whose deadline is near are flushed together, so that there are few timers. */
const TIMER_TOLERANCE_MS = 10;

type DeltaBody = Extract<EventBody, { type: 'stream_chunk' | 'thinking_delta' }>;
type Publish = TurnEmitter['emit'];

export interface DeltaJoinerOptions {
  clock: Clock;
  /** Recent event loop delay in milliseconds; called for every delta, so it must be cheap. */
  loopDelayMs: () => number;
}

/** Consulted by the event bus for every event of a turn. While the event loop keeps up, nothing is held. */
export class DeltaJoiner {
  readonly #options: DeltaJoinerOptions;
  /** Turns with held deltas, the longest held first. */
  readonly #holding = new Set<HeldDeltas>();
  #cancelTimer: (() => void) | undefined;

  constructor(options: DeltaJoinerOptions) {
    this.#options = options;
  }

  /**
   * Starts a turn, whose held deltas go to `publish`: those of one model call as one, in order with its other events.
   */
  open(publish: Publish): HeldDeltas {
    return new HeldDeltas(publish, this);
  }

  /** Publishes everything that is held. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    for (const turn of this.#holding) turn.flush();
  }

  get isLoaded(): boolean {
    return this.#options.loopDelayMs() > LOAD_DELAY_MS;
  }

  hold(turn: HeldDeltas): void {
    turn.heldSince = this.#options.clock.monotonicMs();
    this.#holding.add(turn);
    this.#cancelTimer ??= this.#options.clock.after(MAX_JOIN_MS, () => this.#flushDue());
  }

  /** True when deltas held since then must not wait any longer. */
  isDue(heldSince: number): boolean {
    return this.#options.clock.monotonicMs() - heldSince >= MAX_JOIN_MS;
  }

  release(turn: HeldDeltas): void {
    this.#holding.delete(turn);
  }

  #flushDue(): void {
    const { clock } = this.#options;
    this.#cancelTimer = undefined;
    const now = clock.monotonicMs();
    for (const turn of this.#holding) {
      const leftMs = turn.heldSince + MAX_JOIN_MS - now;
      if (leftMs > TIMER_TOLERANCE_MS) {
        this.#cancelTimer = clock.after(leftMs, () => this.#flushDue());
        return;
      }
      turn.flush();
    }
  }
}

/** Deltas of one model call that will be published as one. */
interface PendingDelta {
  body: DeltaBody;
  from: { agentId: string } | undefined;
  deltas: string[];
}

/** The held deltas of one turn. */
export class HeldDeltas {
  /** Monotonic time at which the oldest held delta arrived. */
  heldSince = 0;
  readonly #publish: Publish;
  readonly #joiner: DeltaJoiner;
  /** In the order they started; few, because an agent makes one call at a time. */
  #held: PendingDelta[] = [];
  /** The next delta follows another event, such as the start of an answer: people wait for it. */
  #isFirst = false;

  constructor(publish: Publish, joiner: DeltaJoiner) {
    this.#publish = publish;
    this.#joiner = joiner;
  }

  /**
   * True when this event is a delta that is held here and published later; the first one after another event never is. Any
   * other event first flushes what is held.
   */
  holds(body: EventBody, from: { agentId: string } | undefined): boolean {
    if (body.type !== 'stream_chunk' && body.type !== 'thinking_delta') {
      if (this.#held.length > 0) this.flush();
      this.#isFirst = true;
      return false;
    }
    const { isLoaded } = this.#joiner;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (this.#held.length === 0 && (isFirst || !isLoaded)) return false;
    this.#hold(body, from);
    if (!isLoaded || this.#joiner.isDue(this.heldSince)) this.flush();
    return true;
  }

  /** Publishes what is held, in the order its first deltas arrived. */
  flush(): void {
    const held = this.#held;
    this.#held = [];
    this.#joiner.release(this);
    for (const { body, from, deltas } of held) {
      this.#publish(deltas.length === 1 ? body : { ...body, delta: deltas.join('') }, from);
    }
  }

  #hold(body: DeltaBody, from: { agentId: string } | undefined): void {
    // Only to this agent's newest held delta: an agent's output keeps its order.
    const newest = this.#held.findLast((one) => one.from?.agentId === from?.agentId);
    if (newest?.body.msgId === body.msgId && newest.body.type === body.type) {
      newest.deltas.push(body.delta);
      return;
    }
    this.#held.push({ body, from, deltas: [body.delta] });
    if (this.#held.length === 1) this.#joiner.hold(this);
  }
}
