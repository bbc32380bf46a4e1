/** Rate limit of one place (a chat, a thread): its declared bucket and window, slower for a while after refusals. */
import type { PlaceRate } from '../../protocol/delivery.ts';

/** What a call is for, most urgent first: the last text of a message, the first message of an answer, a growing one. */
export type CallKind = 'final' | 'first' | 'edit';

/** Each refusal doubles the interval, up to this many times the declared one. */
export const MAX_SLOWDOWN = 8;

/** After this long without a refusal the interval shrinks a little, in milliseconds. */
export const RECOVER_MS = 60_000;

/** After the refusal of an early call there are no early calls for this long, in milliseconds. */
export const AFTER_BURST_MS = 600_000;

const SLOWER = 2;
const FASTER = 0.9;

/** Added to every pause, because the platform's clock and ours differ. */
const PAUSE_MARGIN_MS = 50;

/** A place that was idle for this many intervals before a call cannot have been called too often. */
const QUIET_INTERVALS = 1.5;

export class PlaceLimit {
  readonly #rate: PlaceRate;
  #slowdown = 1;
  /** Monotonic time at which the bucket is full again. */
  #due = 0;
  #pausedUntil = 0;
  #changedAt = 0;
  #noBurstUntil = 0;
  /** Times of the last calls: as many as the window counts, and at least two. */
  readonly #calls: number[] = [];

  constructor(rate: PlaceRate) {
    this.#rate = rate;
  }

  get intervalMs(): number {
    return this.#rate.editIntervalMs * this.#slowdown;
  }

  /** False for a place whose calls do not count against the bot on the platform. */
  get countsForBot(): boolean {
    return this.#rate.countsForBot;
  }

  get key(): string {
    return this.#rate.key;
  }

  /** Places with the same bucket are of one kind. */
  get shape(): string {
    return `${this.#rate.burst}/${this.#rate.editIntervalMs}`;
  }

  /** Monotonic time before which no call may start at all. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  /** Monotonic time at which a call of this kind may start; `bursts`: whether the platform accepts early calls. */
  readyAt(kind: CallKind, now: number, bursts: boolean): number {
    const { burst: burstSize, reserved, window } = this.#rate;
    const share = kind === 'final' ? burstSize : kind === 'first' ? burstSize - reserved : 1;
    const early = bursts && now >= this.#noBurstUntil ? Math.max(0, share - 1) : 0;
    const windowAt = window === undefined ? 0 : this.#windowAt(window, kind === 'final' ? 0 : reserved);
    return Math.max(this.#pausedUntil, this.#due - early * this.intervalMs, windowAt);
  }

  /** Counts a call that starts now. */
  count(now: number): void {
    if (this.#slowdown > 1 && now - this.#changedAt > RECOVER_MS) {
      this.#slowdown = Math.max(1, this.#slowdown * FASTER);
      this.#changedAt = now;
    }
    this.#due = Math.max(now, this.#due) + this.intervalMs;
    this.#calls.push(now);
    if (this.#calls.length > Math.max(2, this.#rate.window?.calls ?? 0)) this.#calls.shift();
  }

  /** Reverts the last count: no call was made. */
  giveBack(): void {
    this.#due -= this.intervalMs;
    this.#calls.pop();
  }

  /** True if a call now would be made before its interval is over. */
  isEarly(now: number): boolean {
    return this.#due > now;
  }

  /** True if the place was idle for longer than its declared interval: a refusal now does not concern this place. */
  isQuiet(now: number): boolean {
    const last = this.#calls.at(-1);
    return last === undefined || now - last >= this.#rate.editIntervalMs * QUIET_INTERVALS;
  }

  pause(now: number, ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, now + ms + PAUSE_MARGIN_MS);
  }

  /** Applies the refusal of a call that was on time: a pause, and slower from then on. */
  slowDown(now: number, pauseMs: number): void {
    // A refusal of a call that was in flight when the pause began does not count again.
    if (now >= this.#pausedUntil) this.#slowdown = Math.min(MAX_SLOWDOWN, this.#slowdown * SLOWER);
    this.#changedAt = now;
    this.pause(now, pauseMs);
  }

  /** Applies the refusal of an early call: a pause, and no early calls for a while. */
  refuseBurst(now: number, pauseMs: number): void {
    this.#noBurstUntil = now + AFTER_BURST_MS;
    this.pause(now, pauseMs);
  }

  /** True if the limit has no state to keep: a new one would behave the same. */
  isFresh(now: number): boolean {
    const hasRecovered = this.#slowdown === 1 || now - this.#changedAt > RECOVER_MS * 10;
    const windowEnd = (this.#calls.at(-1) ?? Number.NEGATIVE_INFINITY) + (this.#rate.window?.ms ?? 0);
    return hasRecovered && now >= Math.max(this.#noBurstUntil, this.#pausedUntil, this.#due, windowEnd);
  }

  /** When the window has room for a call and `kept` more. */
  #windowAt(window: { calls: number; ms: number }, reserve: number): number {
    const at = this.#calls.at(-Math.max(1, window.calls - reserve));
    return at === undefined ? 0 : at + window.ms;
  }
}
