/** Reads a model's stream: each chunk is watched and taken, and the connection is closed however the reading ends. */
import type { ChatChunk, ChatProvider, ChatRequest } from '../../contracts/model/provider.ts';
import type { StreamWatchdog } from './stream-watchdog.ts';

/** One call to a model. */
export interface StreamCall {
  provider: ChatProvider;
  request: ChatRequest;
  watchdog: StreamWatchdog;
  /** Longest answer that is read, in UTF-16 units; the connection is closed after it. */
  maxChars: number;
}

/** Collects what a call streams. */
export interface ChunkTaker {
  /** Length of what was taken so far, in UTF-16 units. */
  readonly chars: number;
  /** Takes the next chunk; returns what is passed on, if anything. May throw, which ends the call. */
  take(chunk: ChatChunk): ChatChunk | undefined;
}

/**
 * Yields what the taker passes on; if that is nothing, a single `next()` reads the whole stream, which costs no step of
 * a generator for a chunk. Throws `ProviderError`, the reason of the signal that the watchdog follows, or what
 * the taker throws; the watchdog's timeout comes before any other error.
 */
export async function* passStream(
  { provider, request, watchdog, maxChars }: StreamCall,
  taker: ChunkTaker,
): AsyncGenerator<ChatChunk, void> {
  try {
    for await (const chunk of provider.streamChat(request, watchdog.start())) {
      watchdog.onChunk();
      const passed = taker.take(chunk);
      if (passed !== undefined) yield passed;
      if (taker.chars > maxChars) break;
    }
    watchdog.throwIfEnded();
  } catch (error) {
    throw watchdog.timeout ?? error;
  } finally {
    watchdog.close();
  }
}
