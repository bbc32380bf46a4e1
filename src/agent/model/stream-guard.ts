/** Watches a model's stream: silence ends it, and however it ends the connection is closed (N-60…N-63). */
import { ProviderError } from '../../contracts/errors.ts';

/** Ends every call, finished ones too: made once, because making an error costs more than the rest of a guard. */
const UNREAD = new ProviderError('aborted', 'Nobody reads this answer any more.');

/** Silences that end a stream, in milliseconds. */
export interface StreamLimits {
  firstChunkMs: number;
  /** Instead of `firstChunkMs` once the call has said that it must wait for a place. */
  queuedMs: number;
  chunkMs: number;
}

/**
 * Passes on what `open` streams. Its signal aborts with `signal`, on silence, and when the reader stops reading, so the
 * provider closes the connection at once; its `queued` is to be called when the call must wait for a place;
 * `onFirstChunk` is called before the first chunk is passed on. Throws
 * `ProviderError('timeout_first_chunk' | 'timeout_chunk')`, else what the stream throws. A chunk costs one clock reading: one timer looks at the clock, it is not set anew per chunk.
 */
export async function* guardStream<T>(
  open: (signal: AbortSignal, queued: () => void) => AsyncIterable<T>,
  signal: AbortSignal,
  limits: StreamLimits,
  onFirstChunk?: () => void,
): AsyncGenerator<T, void> {
  const connection = new AbortController();
  let silentSince = performance.now();
  let limitMs = limits.firstChunkMs;
  let heard = false;
  let timeout: ProviderError | undefined;

  const look = (): void => {
    const leftMs = silentSince + limitMs - performance.now();
    if (leftMs > 0) {
      timer = setTimeout(look, leftMs);
      return;
    }
    timeout = silence(limitMs, heard);
    connection.abort(timeout);
  };
  const stop = (): void => connection.abort(signal.reason);
  const queued = (): void => {
    if (!heard) limitMs = limits.queuedMs;
  };

  // The shorter limit first: once a chunk has come, it is the one that counts.
  let timer = setTimeout(look, Math.min(limits.firstChunkMs, limits.chunkMs));
  signal.addEventListener('abort', stop, { once: true });
  try {
    signal.throwIfAborted();
    for await (const chunk of open(connection.signal, queued)) {
      silentSince = performance.now();
      if (!heard) {
        heard = true;
        limitMs = limits.chunkMs;
        onFirstChunk?.();
      }
      yield chunk;
      if (timeout !== undefined || signal.aborted) break;
    }
  } catch (error) {
    throw timeout ?? error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    connection.abort(UNREAD);
  }
  signal.throwIfAborted();
  if (timeout !== undefined) throw timeout;
}

function silence(limitMs: number, heard: boolean): ProviderError {
  return !heard
    ? new ProviderError(
        'timeout_first_chunk',
        `The model did not begin to answer within ${limitMs / 1_000} s (LLM_STREAM_FIRST_CHUNK_TIMEOUT).`,
        { retryable: true },
      )
    : new ProviderError(
        'timeout_chunk',
        `The model fell silent for ${limitMs / 1_000} s (LLM_STREAM_CHUNK_TIMEOUT).`,
        { retryable: true },
      );
}
