/** Public API of the schedule module: schedules and the heartbeat. */
import type { CreatorAccess } from '../contracts/access.ts';
import type { EventBus } from '../contracts/bus.ts';
import type { Command } from '../contracts/command.ts';
import type { Ledger } from '../contracts/ledger.ts';
import type { Log } from '../contracts/log.ts';
import type { Address } from '../contracts/message.ts';
import type { SendSystemMessage } from '../contracts/receive.ts';
import type { ScheduleStore, Schedules } from '../contracts/schedules.ts';
import { createScheduleCommand } from './command.ts';
import { startDriver } from './driver.ts';
import type { Driver } from './driver.ts';
import { fire } from './fire.ts';
import { beat, HEARTBEAT_ID, settleHeartbeat } from './heartbeat.ts';
import { createSchedules } from './schedules.ts';

export interface SchedulingDeps {
  store: ScheduleStore;
  announce: SendSystemMessage;
  standing: CreatorAccess;
  ledger: Pick<Ledger, 'queue' | 'enqueue' | 'sessionOf'>;
  events: Pick<EventBus, 'emit'>;
  log: Log;
  /** IANA name; undefined = that of the machine. */
  timeZone?: string | undefined;
  /** Epoch milliseconds. */
  epochNow: () => number;
  /** Undefined = none. */
  heartbeat?: { everyMs: number; address: Address; file: string } | undefined;
}

export interface Scheduling {
  schedules: Schedules;
  commands: readonly Command[];
  /** Starts to run what is due. Throws `StoreError`. */
  start(): Promise<void>;
  /** Never throws; may be called twice. */
  stop(): Promise<void>;
}

/** Makes the module; nothing runs before `start`. */
export function createScheduling(deps: SchedulingDeps): Scheduling {
  const { store, log, heartbeat, epochNow } = deps;
  const timeZone = deps.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  let driver: Driver | undefined;
  const schedules = createSchedules({
    store,
    standing: deps.standing,
    timeZone,
    epochNow,
    soon: () => driver?.soon(),
  });
  return {
    schedules,
    commands: [createScheduleCommand(schedules)],
    async start() {
      await settleHeartbeat(deps, heartbeat?.everyMs ?? 0, epochNow());
      driver ??= startDriver({
        store,
        log,
        run: async (due) => {
          if (due.id !== HEARTBEAT_ID) await fire({ ...deps, timeZone }, due);
          else if (heartbeat !== undefined) await beat({ ...deps, ...heartbeat }, due);
          // The configuration of another node has a heartbeat, this one has none.
          else return false;
          return true;
        },
      });
    },
    async stop() {
      await driver?.stop();
    },
  };
}
