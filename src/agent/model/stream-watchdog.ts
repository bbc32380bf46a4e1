/** Watches a model's stream: silence ends it, and the connection is closed however the reading ends (N-60…N-63). */
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';

/** Reason with which every connection is closed, finished ones too: made once, because making an error is expensive. */
const CLOSED = new ProviderError('aborted', 'This answer is not read any further.');

/** Silences that end a stream, in milliseconds. */
export interface StreamLimits {
  firstChunkMs: number;
  /** Replaces `firstChunkMs` for a call that has to wait in a queue. */
  queuedMs: number;
  chunkMs: number;
}

/**
 * The watchdog of one call, whose reader runs within `guard`, and calls `onChunk` for each chunk. A reader that yields
 * chunks cannot: it calls `start` before the call, `throwIfEnded` after the last chunk, and `close` in any case. A chunk
 * costs one clock reading: a single timer checks the clock, and is not reset for each chunk.
 */
export class StreamWatchdog {
  readonly #connection = new AbortController();
  readonly #signal: AbortSignal;
  readonly #limits: StreamLimits;
  #limitMs: number;
  #silentSince = 0;
  #startedAt = 0;
  #askedAt = 0;
  #firstChunkMs: number | undefined;
  #queued = false;
  #begun = false;
  #timer: NodeJS.Timeout | undefined;
  #timeout: ProviderError | undefined;

  /** `signal` ends the call before any limit does. */
  constructor(signal: AbortSignal, limits: StreamLimits) {
    this.#signal = signal;
    this.#limits = limits;
    this.#limitMs = limits.firstChunkMs;
  }

  /** True from the first chunk on. */
  get begun(): boolean {
    return this.#begun;
  }

  /** True for a call that has to wait for others. */
  get queued(): boolean {
    return this.#queued;
  }

  /** Start of the model's work, by `performance.now()`; for a queued call its first chunk. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** Milliseconds from the request to the first chunk, in tenths; undefined before it. */
  get firstChunkMs(): number | undefined {
    return this.#firstChunkMs;
  }

  /** The silence that ended the call: `timeout_first_chunk` or `timeout_chunk`. Undefined when something else ended it. */
  get timeout(): ProviderError | undefined {
    return this.#timeout;
  }

  /**
   * Runs `read`, which makes the call with the signal that closes its connection. Throws the timeout that ended the call,
   * the reason of a signal that ended it, else what `read` throws; the connection is closed in any case.
   */
  async guard(read: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await read(this.start());
      this.throwIfEnded();
    } catch (error) {
      throw this.timeout ?? error;
    } finally {
      this.close();
    }
  }

  /**
   * Starts the clock. Returns the signal that closes the connection. Throws the reason of a signal that has aborted
   * already.
   */
  start(): AbortSignal {
    this.#signal.throwIfAborted();
    this.#signal.addEventListener('abort', this.#stop, { once: true });
    this.#startedAt = this.#askedAt = this.#silentSince = performance.now();
    // The shorter limit first: once a chunk has come, `chunkMs` is the one that counts.
    this.#timer = setTimeout(this.#look, Math.min(this.#limits.firstChunkMs, this.#limits.chunkMs));
    return this.#connection.signal;
  }

  /** The call waits in a queue: its first chunk may take longer. */
  onQueued(): void {
    this.#queued = true;
    if (!this.#begun) this.#limitMs = this.#limits.queuedMs;
  }

  /** A chunk has arrived. Throws when the call has ended in the meantime. */
  onChunk(): void {
    this.throwIfEnded();
    this.#silentSince = performance.now();
    if (this.#begun) return;
    this.#begun = true;
    this.#firstChunkMs = Math.round((this.#silentSince - this.#askedAt) * 10) / 10;
    this.#limitMs = this.#limits.chunkMs;
    if (this.#queued) this.#startedAt = this.#silentSince;
  }

  /** Throws the timeout, or the signal's reason, if one of them has ended the call. */
  throwIfEnded(): void {
    this.#connection.signal.throwIfAborted();
  }

  /** Stops the clock and closes the connection. Never throws. */
  close(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#stop);
    this.#connection.abort(CLOSED);
  }

  readonly #stop = (): void => this.#connection.abort(this.#signal.reason);

  readonly #look = (): void => {
    const leftMs = this.#silentSince + this.#limitMs - performance.now();
    if (leftMs > 0) {
      this.#timer = setTimeout(this.#look, leftMs);
      return;
    }
    this.#timeout = this.#begun ? silenceBetweenChunks(this.#limitMs) : silenceBeforeAnswer(this.#limitMs);
    this.#connection.abort(this.#timeout);
  };
}

function silenceBeforeAnswer(limitMs: number): ProviderError {
  return new ProviderError(
    'timeout_first_chunk',
    textRef('provider.silent_first', { seconds: limitMs / 1_000 }),
    { retryable: true },
  );
}

function silenceBetweenChunks(limitMs: number): ProviderError {
  return new ProviderError('timeout_chunk', textRef('provider.silent', { seconds: limitMs / 1_000 }), {
    retryable: true,
  });
}
