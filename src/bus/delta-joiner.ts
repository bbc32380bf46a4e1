/** Joins deltas while the event loop is behind: one event for several deltas costs every consumer less. */
import type { TurnEmitter } from '../contracts/bus.ts';
import type { EventBody } from '../contracts/event.ts';
import type { Clock } from '../lib/clock.ts';

/** Longest time a delta is held, in milliseconds. */
export const MAX_JOIN_MS = 30;
/** Event loop delay above which deltas are joined, in milliseconds. */
export const LOAD_DELAY_MS = 5;
/** Streams whose time is almost over are emitted together, so that there are few timers. */
const TIMER_SLACK_MS = 10;

type DeltaBody = Extract<EventBody, { type: 'stream_chunk' | 'thinking_delta' }>;
type Publish = TurnEmitter['emit'];

export interface DeltaJoinerOptions {
  clock: Clock;
  /** Event loop delay of late, in milliseconds; asked for every delta, so it must be cheap. */
  loopDelayMs: () => number;
}

/** Stands between the emitters of turns and the event bus. Idle, every event passes at once and none is held. */
export class DeltaJoiner {
  readonly #options: DeltaJoinerOptions;
  /** Turns with held deltas, the longest held first. */
  readonly #holding = new Set<TurnStream>();
  #cancelTimer: (() => void) | undefined;

  constructor(options: DeltaJoinerOptions) {
    this.#options = options;
  }

  /** Opens the stream of one turn: what it emits reaches `publish` in order, deltas of one model call perhaps joined. */
  open(publish: Publish): TurnEmitter {
    return new TurnStream(publish, this);
  }

  /** Emits everything that is held. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    for (const stream of this.#holding) stream.flush();
  }

  get isLoaded(): boolean {
    return this.#options.loopDelayMs() > LOAD_DELAY_MS;
  }

  hold(stream: TurnStream): void {
    stream.heldSince = this.#options.clock.monotonicMs();
    this.#holding.add(stream);
    this.#cancelTimer ??= this.#options.clock.after(MAX_JOIN_MS, () => this.#flushDue());
  }

  /** True when deltas that were held since then must wait no longer. */
  isDue(heldSince: number): boolean {
    return this.#options.clock.monotonicMs() - heldSince >= MAX_JOIN_MS;
  }

  release(stream: TurnStream): void {
    this.#holding.delete(stream);
  }

  #flushDue(): void {
    const { clock } = this.#options;
    this.#cancelTimer = undefined;
    const now = clock.monotonicMs();
    for (const stream of this.#holding) {
      const leftMs = stream.heldSince + MAX_JOIN_MS - now;
      if (leftMs > TIMER_SLACK_MS) {
        this.#cancelTimer = clock.after(leftMs, () => this.#flushDue());
        return;
      }
      stream.flush();
    }
  }
}

/** Deltas of one model call that wait to be one. */
interface HeldDeltas {
  body: DeltaBody;
  from: { agentId: string } | undefined;
  deltas: string[];
}

class TurnStream implements TurnEmitter {
  /** Monotonic time at which the oldest held delta came. */
  heldSince = 0;
  readonly #publish: Publish;
  readonly #joiner: DeltaJoiner;
  /** By model call and agent; as few as agents speak at once. */
  #held: HeldDeltas[] = [];

  constructor(publish: Publish, joiner: DeltaJoiner) {
    this.#publish = publish;
    this.#joiner = joiner;
  }

  emit(body: EventBody, from?: { agentId: string }): void {
    const joiner = this.#joiner;
    if (body.type === 'stream_chunk' || body.type === 'thinking_delta') {
      const { isLoaded } = joiner;
      if (isLoaded || this.#held.length > 0) {
        this.#hold(body, from);
        if (!isLoaded || joiner.isDue(this.heldSince)) this.flush();
        return;
      }
    } else if (this.#held.length > 0) this.flush();
    this.#publish(body, from);
  }

  /** Emits what is held, in the order its first deltas came. */
  flush(): void {
    const held = this.#held;
    this.#held = [];
    this.#joiner.release(this);
    for (const { body, from, deltas } of held) {
      this.#publish(deltas.length === 1 ? body : { ...body, delta: deltas.join('') }, from);
    }
  }

  #hold(body: DeltaBody, from: { agentId: string } | undefined): void {
    const known = this.#held.find(
      (one) =>
        one.body.msgId === body.msgId && one.body.type === body.type && one.from?.agentId === from?.agentId,
    );
    if (known !== undefined) {
      known.deltas.push(body.delta);
      return;
    }
    this.#held.push({ body, from, deltas: [body.delta] });
    if (this.#held.length === 1) this.#joiner.hold(this);
  }
}
