/** Keeps answers in order on screen: a reply starts to grow once the earlier answers to its address are delivered. */
import { toGatewayError } from '../../contracts/errors.ts';
import type { Log } from '../../contracts/log.ts';
import type { Clock } from '../../lib/clock.ts';

/** Time between two checks of a waiting reply, in milliseconds. */
export const CHECK_EVERY_MS = 500;

export interface EarlierDeliveries {
  /** True while earlier answers are undelivered. Throws `StoreError`. */
  undelivered: () => Promise<boolean>;
  clock: Clock;
  log: Log;
}

/** Calls `begin` once no earlier answer is undelivered; returns the function that ends the wait. Never throws. */
export function waitForEarlierDeliveries(
  { undelivered, clock, log }: EarlierDeliveries,
  begin: () => void,
): () => void {
  let ended = false;
  let cancel = (): void => undefined;
  const later = (): void => {
    if (!ended) cancel = clock.after(CHECK_EVERY_MS, check);
  };
  const check = (): void => {
    undelivered().then(
      (waits) => {
        if (waits) later();
        else if (!ended) begin();
      },
      (error: unknown) => {
        log.debug({ err: toGatewayError(error) }, 'undelivered_check_failed');
        later();
      },
    );
  };
  check();
  return () => {
    ended = true;
    cancel();
  };
}
