/** Deletes finished messages in small batches once platforms can no longer repeat them. */
import { toGatewayError } from '../contracts/errors.ts';
import type { LaneStore } from '../contracts/lanes.ts';
import type { Log } from '../contracts/log.ts';

/** Platforms repeat messages for a day at most; a week also covers a gateway that was off. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Messages deleted in one statement, and the pause before the next one while there are more. */
const PURGE_BATCH = 1_000;
const MORE_AFTER_MS = 1_000;
const EVERY_MS = 3_600_000;

/** Purges at intervals until the signal aborts. */
export function startRetention(lanes: Pick<LaneStore, 'purge'>, log: Log, signal: AbortSignal): void {
  let timer: NodeJS.Timeout | undefined;
  const plan = (ms: number): void => {
    if (!signal.aborted) timer = setTimeout(() => void round(), ms).unref();
  };
  const round = async (): Promise<void> => {
    try {
      const purged = await lanes.purge(KEPT_MS, PURGE_BATCH);
      if (purged > 0) log.debug({ purged }, 'messages_purged');
      plan(purged === PURGE_BATCH ? MORE_AFTER_MS : EVERY_MS);
    } catch (error) {
      log.warn({ err: toGatewayError(error) }, 'purge_failed');
      plan(EVERY_MS);
    }
  };
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  plan(MORE_AFTER_MS);
}
