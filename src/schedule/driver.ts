/** Looks for schedules that are due, by the database's clock, and hands each to whoever runs it. Every node has one. */
import { toGatewayError } from '../contracts/errors.ts';
import { pause } from '../lib/sleep.ts';
import type { Log } from '../contracts/log.ts';
import type { ScheduleStore } from '../contracts/schedules.ts';
import type { DueSchedule } from './fire.ts';

/** Longest rest between two looks: a schedule that another node took in is seen after this, in milliseconds. */
const LOOK_EVERY_MS = 5_000;
/** Shortest rest. */
const LOOK_GAP_MS = 20;
/** How long `stop` waits for a look that hangs on a database that is away, in milliseconds. */
const STOP_MS = 2_000;
/** Schedules run in one look. */
const DUE_AT_ONCE = 50;

export interface DriverDeps {
  store: Pick<ScheduleStore, 'untilNextSlot' | 'dueSchedules'>;
  /** Runs one slot, and moves the schedule on; false when it is left to another node. Throws only `StoreError`. */
  run: (due: DueSchedule) => Promise<boolean>;
  log: Log;
}

export interface Driver {
  /** Looks at once: there may be a slot sooner than it knew. Never throws. */
  soon(): void;
  /** No further look; resolves when the one under way is over, or soon. Never throws; twice is fine. */
  stop(): Promise<void>;
}

/** Begins to look at once. A look that finds nothing is one read of an index. */
export function startDriver(deps: DriverDeps): Driver {
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let asked = false;
  let stopped = false;

  const round = async (): Promise<void> => {
    const restMs = await look(deps, () => stopped);
    looking = undefined;
    plan(asked ? LOOK_GAP_MS : restMs);
    asked = false;
  };
  const plan = (ms: number): void => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void (looking = round()), ms);
  };

  plan(0);
  return {
    soon() {
      if (looking === undefined) plan(LOOK_GAP_MS);
      else asked = true;
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      const timeUp = new AbortController();
      await Promise.race([looking, pause(STOP_MS, timeUp.signal)]);
      timeUp.abort();
    },
  };
}

/** Runs what is due; gives the milliseconds until it is worth looking again. Never throws. */
async function look(deps: DriverDeps, isStopped: () => boolean): Promise<number> {
  try {
    const untilMs = await deps.store.untilNextSlot();
    if (untilMs === undefined) return LOOK_EVERY_MS;
    if (untilMs > 0) return Math.min(LOOK_EVERY_MS, Math.max(LOOK_GAP_MS, untilMs));
    let left = false;
    for (const due of await deps.store.dueSchedules(DUE_AT_ONCE)) {
      if (isStopped()) break;
      left = !(await ran(deps, due)) || left;
    }
    // What was not moved on is still due: without a rest it would be tried again at once, without end.
    return left ? LOOK_EVERY_MS : LOOK_GAP_MS;
  } catch (error) {
    deps.log.warn({ err: toGatewayError(error) }, 'the schedules could not be looked at');
    return LOOK_EVERY_MS;
  }
}

async function ran({ run, log }: DriverDeps, due: DueSchedule): Promise<boolean> {
  try {
    return await run(due);
  } catch (error) {
    log.warn({ err: toGatewayError(error), scheduleId: due.id }, 'a schedule could not be run');
    return false;
  }
}
