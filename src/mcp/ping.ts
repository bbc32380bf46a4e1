/** Periodically checks whether a server is alive. */
import { z } from 'zod';
import type { Log } from '../protocol/log.ts';
import { type Clock, pauseOn } from '../lib/clock.ts';
import type { Connection } from './connection.ts';

/** How often the server is pinged, and the longest wait for its answer. In milliseconds. */
const PING_EVERY_MS = 60_000;
const PING_MS = 15_000;

/** Resolves with the reason if the server does not answer, or with '' after `signal` aborts. Never rejects. */
export async function pingUntilLost(
  connection: Pick<Connection, 'request'>,
  { clock, log }: { clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    await pauseOn(clock, PING_EVERY_MS, signal);
    if (signal.aborted) return '';
    const late = new AbortController();
    const cancel = clock.after(PING_MS, () => late.abort());
    try {
      await connection.request({ method: 'ping' }, z.looseObject({}), {
        signal: AbortSignal.any([signal, late.signal]),
      });
    } catch (error) {
      if (late.signal.aborted) return `The server did not answer for ${PING_MS / 1_000} s.`;
      // Any other answer, even a refusal, shows that it is alive; a lost connection is reported separately.
      log.debug({ err: error }, 'mcp_ping_refused');
    } finally {
      cancel();
    }
  }
}
