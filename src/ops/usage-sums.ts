/**
 * Adds new rows of usage to the stored sums of hours, so that a report over days reads few rows no matter how many
 * there are.
 */
import { toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import { ADDED_UP_ROWS, type UsageSums } from '../protocol/agent/usage.ts';

const EVERY_MS = 60_000;
/** The pause between two full batches, which leaves the database to others. */
const MORE_AFTER_MS = 200;

/** Adds up at intervals until the signal aborts; a failure is logged, and the next round tries again. */
export function startAddingUp({ usage, log }: { usage: UsageSums; log: Log }, signal: AbortSignal): void {
  let timer: NodeJS.Timeout | undefined;
  const plan = (ms: number): void => {
    if (!signal.aborted) timer = setTimeout(() => void round(), ms).unref();
  };
  const round = async (): Promise<void> => {
    let added = 0;
    try {
      added = await usage.addUp();
    } catch (error) {
      if (!signal.aborted) log.warn({ err: toGatewayError(error) }, 'usage_not_added_up');
    }
    plan(added === ADDED_UP_ROWS ? MORE_AFTER_MS : EVERY_MS);
  };
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  plan(MORE_AFTER_MS);
}
