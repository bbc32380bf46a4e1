/** Public API of the schedule module: schedules and the heartbeat. */
import type { Command } from '../protocol/command.ts';
import type { Schedules } from '../protocol/schedules.ts';
import { createScheduleCommand } from './command.ts';
import { type Driver, startDriver } from './driver.ts';
import { fire, type SchedulingDeps } from './fire.ts';
import { beat, HEARTBEAT_ID, settleHeartbeat } from './heartbeat.ts';
import { createSchedules } from './schedules.ts';

export type { SchedulingDeps } from './fire.ts';
export { createSchedules } from './schedules.ts';
export { parseWhen } from './timing.ts';

export interface Scheduling {
  schedules: Schedules;
  commands: readonly Command[];
  /** Starts to run what is due. Throws `StoreError`. */
  start(): Promise<void>;
  /** Never throws; may be called more than once. */
  stop(): Promise<void>;
}

/** Makes the module; nothing runs before `start`. */
export function createScheduling(deps: SchedulingDeps): Scheduling {
  const { store, log, settings } = deps;
  let driver: Driver | undefined;
  const schedules = createSchedules(store, deps.creatorAccess, settings, () => driver?.soon());
  const settle = async (): Promise<void> =>
    settleHeartbeat(deps, settings.current().heartbeat, (await store.databaseNow()).getTime());
  settings.subscribe((next) => {
    const current = settings.current().heartbeat;
    const isOther =
      next.heartbeat?.everyMs !== current?.everyMs || next.heartbeat?.address !== current?.address;
    return () => {
      if (!isOther || driver === undefined) return;
      settle().then(
        () => driver?.soon(),
        (error: unknown) => log.error({ err: error }, 'heartbeat_not_changed'),
      );
    };
  });
  return {
    schedules,
    commands: [createScheduleCommand(schedules)],
    async start() {
      await settle();
      driver ??= startDriver(store, log, async (due) => {
        const { timeZone, heartbeat } = settings.current();
        if (due.id !== HEARTBEAT_ID) await fire(deps, timeZone, due);
        else if (heartbeat !== undefined) await beat(deps, heartbeat, due);
        // The configuration of another node has a heartbeat, this one has none.
        else return false;
        return true;
      });
    },
    async stop() {
      await driver?.stop();
    },
  };
}
