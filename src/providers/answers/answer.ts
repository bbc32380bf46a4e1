/** The body of one answer as it arrives: read packet by packet, abandoned at once when its call ends early. */
import type { Dispatcher } from 'undici';
import { ProviderError } from '../../contracts/errors.ts';
import { textRef } from '../../contracts/texts/say.ts';

/** An answer that is being read; only one reader at a time. */
export interface Answer {
  /** The server says where the body ends; else it ends with the connection, for whatever reason that is closed. */
  readonly isDelimited: boolean;
  /**
   * The next bytes; undefined once all have been read. Throws `ProviderError`, after the bytes that arrived before the
   * failure. With `withinMs`, only for a stopped call: silence for so long, or a failure, is the end then.
   */
  read(withinMs?: number): Promise<Buffer | undefined>;
  /** Ends the call: a complete answer returns its connection to the pool, any other closes it. Never throws. */
  end(complete: boolean): void;
}

/** How much may be buffered for a slow reader before the server is throttled. */
const MAX_UNREAD_BYTES = 256 * 1024;
/** How long a complete answer may take to end its HTTP body before the connection is closed. */
const SETTLE_MS = 1_000;

/** What is known about a body besides its bytes. */
interface BodyRules {
  signal: AbortSignal;
  lost: (error: unknown, answered: boolean) => ProviderError;
  isDelimited: boolean;
}

/** Reads a body; `onEnd` is called when its call is over. `lost` makes the error for a connection that failed. */
export function createAnswer(
  body: Dispatcher.ResponseData['body'],
  { signal, lost, isDelimited }: BodyRules,
  onEnd: () => void,
): Answer {
  let unread: Buffer[] = [];
  let unreadBytes = 0;
  let failure: ProviderError | undefined;
  let isOver = false;
  let reader: (() => void) | undefined;
  const wake = (): void => {
    reader?.();
    reader = undefined;
  };
  const finish = (error?: unknown): void => {
    if (isOver) return;
    isOver = true;
    if (error !== undefined) failure = signal.aborted ? stoppedCall(signal) : lost(error, true);
    onEnd();
    wake();
  };
  body.on('data', (packet: Buffer) => {
    if (isOver) return;
    unread.push(packet);
    unreadBytes += packet.length;
    if (unreadBytes > MAX_UNREAD_BYTES) body.pause();
    wake();
  });
  body.on('end', () => finish());
  body.on('error', finish);

  return {
    isDelimited,
    async read(withinMs) {
      if (unread.length === 0 && !isOver) await waitFor((resolve) => (reader = resolve), withinMs);
      // A stopped call returns nothing more, not even what has arrived.
      if (signal.aborted) throw stoppedCall(signal);
      const packet = unread.shift();
      if (packet === undefined && failure !== undefined && withinMs === undefined) throw failure;
      unreadBytes -= packet?.length ?? 0;
      if (unreadBytes === 0 && body.isPaused()) body.resume();
      return packet;
    },
    end(complete) {
      unread = [];
      if (isOver) return;
      finish();
      if (!complete) {
        body.destroy();
        return;
      }
      const giveUp = setTimeout(() => body.destroy(), SETTLE_MS).unref();
      body.once('close', () => clearTimeout(giveUp));
      body.resume();
    },
  };
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
