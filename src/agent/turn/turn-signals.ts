/** What ends a turn, and what ends a tool within it. */
import { LaneAbort } from '../../contracts/bus.ts';

/** The same signal without the shutdown: a tool that is cut short is worse than a slow shutdown. */
export function withoutShutdown(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const pass = (): void => {
    const { reason } = signal;
    if (!(reason instanceof LaneAbort && reason.code === 'shutdown')) controller.abort(reason);
  };
  if (signal.aborted) pass();
  else signal.addEventListener('abort', pass, { once: true });
  return controller.signal;
}
