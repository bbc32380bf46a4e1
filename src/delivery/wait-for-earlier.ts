/** A reply begins to grow below what came before it: it waits until the earlier answers to its address are on screen. */
import { toGatewayError } from '../contracts/errors.ts';
import type { Log } from '../contracts/log.ts';
import type { Clock } from '../lib/clock.ts';

/** How often a reply that waits looks whether it may begin, in milliseconds. */
export const LOOK_AGAIN_MS = 500;

export interface Line {
  /** True while earlier answers are on their way. Throws `StoreError`. */
  undelivered: () => Promise<boolean>;
  clock: Clock;
  log: Log;
}

/** Calls `begin` once nothing is ahead; the function it gives ends the wait. Never throws. */
export function waitForEarlierDeliveries({ undelivered, clock, log }: Line, begin: () => void): () => void {
  let ended = false;
  let cancel = (): void => undefined;
  const later = (): void => {
    if (!ended) cancel = clock.after(LOOK_AGAIN_MS, look);
  };
  const look = (): void => {
    undelivered().then(
      (waits) => {
        if (waits) later();
        else if (!ended) begin();
      },
      (error: unknown) => {
        log.debug({ err: toGatewayError(error) }, 'whether earlier answers are delivered is not known yet');
        later();
      },
    );
  };
  look();
  return () => {
    ended = true;
    cancel();
  };
}
