/** Finds schedules that are due by the database's clock and runs them. Every node has one driver. */
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import { pause } from '../lib/async/sleep.ts';
import type { Log } from '../protocol/log.ts';
import type { ScheduleRecord, ScheduleStore } from '../protocol/schedules.ts';
import { nextSlot } from './timing.ts';
import type { DueSchedule } from './fire.ts';

/** Longest pause between two checks: a schedule added by another node is found within this, in milliseconds. */
const CHECK_EVERY_MS = 5_000;
/** Shortest pause, in milliseconds. */
const CHECK_GAP_MS = 20;
/** How long `stop` waits for a check that hangs on an unreachable database, in milliseconds. */
const STOP_MS = 2_000;
/** Schedules run in one check. */
const DUE_AT_ONCE = 50;

export interface Driver {
  /** Checks at once: there may be an earlier slot than the driver is aware of. Never throws. */
  soon(): void;
  /** Starts no further check; resolves soon after the current one. Never throws; may be called more than once. */
  stop(): Promise<void>;
}

/** Runs one slot and moves the schedule to the next; false when another node did it. Throws only `StoreError`. */
type RunSlot = (due: DueSchedule) => Promise<boolean>;

/** Starts the driver; the first check runs at once. A check that finds nothing is one index read. */
export function startDriver(store: ScheduleStore, log: Log, run: RunSlot): Driver {
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let isRequested = false;
  let isStopped = false;

  const round = async (): Promise<void> => {
    const restMs = await runDue(store, log, run, () => isStopped);
    looking = undefined;
    plan(isRequested ? CHECK_GAP_MS : restMs);
    isRequested = false;
  };
  const plan = (ms: number): void => {
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(() => void (looking = round()), ms);
  };

  plan(0);
  return {
    soon() {
      if (looking === undefined) plan(CHECK_GAP_MS);
      else isRequested = true;
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      const timeUp = new AbortController();
      await Promise.race([looking, pause(STOP_MS, timeUp.signal)]);
      timeUp.abort();
    },
  };
}

/** Runs what is due and returns the milliseconds until the next check. Never throws. */
async function runDue(
  store: ScheduleStore,
  log: Log,
  run: RunSlot,
  isStopped: () => boolean,
): Promise<number> {
  try {
    await followClockBack(store);
    const untilMs = await store.untilNextSlot();
    if (untilMs === undefined) return CHECK_EVERY_MS;
    if (untilMs > 0) return Math.min(CHECK_EVERY_MS, Math.max(CHECK_GAP_MS, untilMs));
    let isBehind = false;
    for (const due of await store.dueSchedules(DUE_AT_ONCE)) {
      if (isStopped()) break;
      isBehind = !(await ran(run, due, log)) || isBehind;
    }
    // A schedule that was not advanced is still due: without a pause it would be retried in a tight loop.
    return isBehind ? CHECK_EVERY_MS : CHECK_GAP_MS;
  } catch (error) {
    log.warn({ err: toGatewayError(error) }, 'schedule_check_failed');
    return CHECK_EVERY_MS;
  }
}

async function ran(run: RunSlot, due: DueSchedule, log: Log): Promise<boolean> {
  try {
    return await run(due);
  } catch (error) {
    log.warn({ err: toGatewayError(error), scheduleId: due.id }, 'schedule_run_failed');
    return false;
  }
}

/**
 * Moves these slots to the next one from now. A slot that occurs once in that time has already run and stays. Throws
 * only `StoreError`.
 */
async function followClockBack(store: ScheduleStore): Promise<void> {
  for (const schedule of await store.aheadOfClock()) {
    const next = earlierSlot(schedule);
    if (next !== undefined) await store.advanceSchedule(schedule.id, schedule.nextAt, new Date(next));
  }
}

/** The next slot from now, if more than one lies before the planned one. */
function earlierSlot({ timing, nextAt, now }: ScheduleRecord & { nextAt: Date; now: Date }) {
  try {
    const first = nextSlot(timing, now.getTime());
    const second = first === undefined ? undefined : nextSlot(timing, first);
    return second !== undefined && second < nextAt.getTime() ? first : undefined;
  } catch (error) {
    // A line that cannot be read is switched off when its slot is due.
    if (error instanceof GatewayError && error.code === 'bad_schedule') return undefined;
    throw error;
  }
}
