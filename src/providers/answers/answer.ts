/** The body of one answer as it arrives: read packet by packet, abandoned at once when its call ends early. */
import type { Readable } from 'node:stream';
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';

/**
 * Longest time to hold a packet, in milliseconds. A thousand streams on two busy cores get a token each 60 ms: 30 ms
 * joined nothing, and each token was a write.
 */
export const MAX_JOIN_MS = 100;

/** Event loop delay above which packets are joined, in milliseconds. */
export const LOAD_DELAY_MS = 5;

/** Answers whose deadline is near are read together, so that there are few timers. */
const TIMER_TOLERANCE_MS = 10;

/** Shared by the answers of a server. While the event loop keeps up, nothing is held. */
export class PacketJoiner {
  readonly #loopDelayMs: () => number;
  readonly #clock: Clock;
  /** In the order they were held. */
  #held: { release: () => void; since: number }[] = [];
  #hasTimer = false;

  /** `loopDelayMs` is the recent delay of the event loop; called for every packet, so it must be cheap. */
  constructor(loopDelayMs: () => number = () => 0, clock: Clock = systemClock) {
    this.#loopDelayMs = loopDelayMs;
    this.#clock = clock;
  }

  get isLoaded(): boolean {
    return this.#loopDelayMs() > LOAD_DELAY_MS;
  }

  /** Calls `release` once a packet that is held from now on must not wait any longer. */
  hold(release: () => void): void {
    this.#held.push({ release, since: this.#clock.monotonicMs() });
    if (!this.#hasTimer) this.#wakeIn(MAX_JOIN_MS);
  }

  #wakeIn(ms: number): void {
    this.#hasTimer = true;
    this.#clock.after(ms, () => this.#releaseDue());
  }

  #releaseDue(): void {
    const now = this.#clock.monotonicMs();
    const leftMs = (since: number): number => since + MAX_JOIN_MS - now;
    const next = this.#held.findIndex(({ since }) => leftMs(since) > TIMER_TOLERANCE_MS);
    const due = this.#held.splice(0, next < 0 ? this.#held.length : next);
    const [first] = this.#held;
    this.#hasTimer = false;
    if (first !== undefined) this.#wakeIn(leftMs(first.since));
    for (const { release } of due) release();
  }
}

/** How much may be buffered for a slow reader before the server is throttled. */
const MAX_UNREAD_BYTES = 256 * 1024;
/** Held packets are read at once when they are this long together. */
const MAX_HELD_BYTES = 16 * 1024;
/** How long a complete answer may take to end its HTTP body before the connection is closed. */
const SETTLE_MS = 1_000;

/** What is known about a body besides its bytes. */
interface BodyRules {
  signal: AbortSignal;
  /** The error for a connection that failed. */
  lossError: (error: unknown, hasHead: boolean) => ProviderError;
  isDelimited: boolean;
  joiner: PacketJoiner;
}

/** An answer that is being read; only one reader at a time. */
export type Answer = Pick<BodyAnswer, keyof BodyAnswer>;

export class BodyAnswer {
  /** The server says where the body ends; else it ends with the connection, for whatever reason that is closed. */
  readonly isDelimited: boolean;
  readonly #body: Readable;
  readonly #rules: BodyRules;
  readonly #onEnd: () => void;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #failure: ProviderError | undefined;
  #isOver = false;
  #reader: (() => void) | undefined;
  #mayJoin = false;
  /** The unread packets are not read yet: more may join them. */
  #isHeld = false;

  /** `onEnd` is called when the call has ended. */
  constructor(body: Readable, rules: BodyRules, onEnd: () => void) {
    this.#body = body;
    this.#rules = rules;
    this.#onEnd = onEnd;
    this.isDelimited = rules.isDelimited;
    body.on('data', (packet: Buffer) => this.#receive(packet));
    body.on('end', () => this.#finish());
    body.on('error', (error) => this.#finish(error));
  }

  /**
   * The bytes that have arrived; undefined at the end. Throws `ProviderError` once those before a failure are read.
   * `withinMs` is for a stopped call: silence for so long, or a failure, is its end.
   */
  async read(withinMs?: number): Promise<Buffer | undefined> {
    const mustWait = this.#unread.length === 0 || this.#isHeld;
    if (mustWait && !this.#isOver) await waitFor((resolve) => (this.#reader = resolve), withinMs);
    const { signal } = this.#rules;
    // A stopped call returns nothing more, not even what has arrived.
    if (signal.aborted) throw stoppedCall(signal);
    const packet = this.#unread.length > 1 ? Buffer.concat(this.#unread) : this.#unread[0];
    if (packet === undefined && this.#failure !== undefined && withinMs === undefined) throw this.#failure;
    this.#unread = [];
    this.#unreadBytes = 0;
    this.#isHeld = false;
    if (this.#body.isPaused()) this.#body.resume();
    return packet;
  }

  /** From now on, packets that arrive while the event loop is behind are read together. May be called again. */
  joinPackets(): void {
    this.#mayJoin = true;
  }

  /** Ends the call: a complete answer returns its connection to the pool, any other closes it. Never throws. */
  end(complete: boolean): void {
    this.#unread = [];
    if (this.#isOver) return;
    this.#finish();
    const body = this.#body;
    if (!complete) {
      body.destroy();
      return;
    }
    const giveUp = setTimeout(() => body.destroy(), SETTLE_MS).unref();
    body.once('close', () => clearTimeout(giveUp));
    body.resume();
  }

  #receive(packet: Buffer): void {
    if (this.#isOver) return;
    this.#unread.push(packet);
    this.#unreadBytes += packet.length;
    if (this.#unreadBytes > MAX_UNREAD_BYTES) this.#body.pause();
    const { joiner } = this.#rules;
    if (this.#unreadBytes > MAX_HELD_BYTES || !joiner.isLoaded) this.#wake();
    else if (this.#mayJoin && this.#unread.length === 1) {
      this.#isHeld = true;
      joiner.hold(this.#release);
    } else if (!this.#isHeld) this.#wake();
  }

  /** What was held may have been read before its time. */
  readonly #release = (): void => {
    if (this.#isHeld) this.#wake();
  };

  #wake(): void {
    this.#isHeld = false;
    this.#reader?.();
    this.#reader = undefined;
  }

  #finish(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { signal, lossError } = this.#rules;
    if (error !== undefined) this.#failure = signal.aborted ? stoppedCall(signal) : lossError(error, true);
    this.#onEnd();
    this.#wake();
  }
}

/** Waits until what `begin` is given is called, or for `withinMs`. */
async function waitFor(begin: (resolve: () => void) => void, withinMs: number | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  begin(resolve);
  const limit = withinMs === undefined ? undefined : setTimeout(resolve, withinMs);
  await promise;
  clearTimeout(limit);
}

/** The error of a call that its caller's signal ended. */
export function stoppedCall(signal: AbortSignal): ProviderError {
  return new ProviderError('aborted', textRef('provider.stopped'), { cause: signal.reason });
}
