/** When calls to a server may go out: not while it asks to wait, and rarely while it refuses the caller. */

/** The waits that a server has asked for, by kind of call; beyond `max` the one set longest ago is forgotten. */
export class RetryAfterPauses {
  readonly #until = new Map<string, number>();
  readonly #max: number;
  readonly #monotonicMs: () => number;

  constructor(max: number, monotonicMs: () => number) {
    this.#max = max;
    this.#monotonicMs = monotonicMs;
  }

  /** Milliseconds that calls of a kind must still wait; 0 when they need not. */
  left(kind: string): number {
    return Math.max(0, (this.#until.get(kind) ?? 0) - this.#monotonicMs());
  }

  /** Calls of a kind wait this many milliseconds from now on. */
  note(kind: string, ms: number): void {
    this.#until.delete(kind);
    this.#until.set(kind, this.#monotonicMs() + ms);
    const [oldest] = this.#until.keys();
    if (this.#until.size > this.#max && oldest !== undefined) this.#until.delete(oldest);
  }
}

/** Waits before a refused caller asks again, in milliseconds. */
export interface RefusalWaits {
  /** The first one; twice as long each time, up to `capMs`. */
  firstMs: number;
  capMs: number;
  /** A refusal that has lasted this long counts as lasting, and is rechecked only every `lastingMs`. */
  lastsAfterMs: number;
  lastingMs: number;
}

/** Consecutive refusals of the caller, from the first one until a call is accepted again. */
export class Refusals {
  readonly #waits: RefusalWaits;
  readonly #monotonicMs: () => number;
  #since: number | undefined;
  #count = 0;
  #nextAt = 0;

  constructor(waits: RefusalWaits, monotonicMs: () => number) {
    this.#waits = waits;
    this.#monotonicMs = monotonicMs;
  }

  /** Undefined while calls are accepted. */
  get state(): 'refused' | 'lasting' | undefined {
    if (this.#since === undefined) return undefined;
    return this.#monotonicMs() - this.#since >= this.#waits.lastsAfterMs ? 'lasting' : 'refused';
  }

  /** Milliseconds until the server may be asked again; 0 if it may be asked now. */
  get leftMs(): number {
    return this.#since === undefined ? 0 : Math.max(0, this.#nextAt - this.#monotonicMs());
  }

  /** A call was refused again. `answered` false: the server said nothing, so it is asked again soon. */
  note(hasAnswered = true): void {
    const now = this.#monotonicMs();
    this.#since ??= now;
    const { firstMs, capMs, lastingMs } = this.#waits;
    const soonMs = Math.min(capMs, firstMs * 2 ** this.#count);
    this.#nextAt = now + (hasAnswered && this.state === 'lasting' ? lastingMs : soonMs);
    this.#count += 1;
  }

  /** A call was accepted. */
  clear(): void {
    this.#since = undefined;
    this.#count = 0;
  }
}
