/** Public API of the schedule module: schedules and the heartbeat. */
import type { CreatorAccess } from '../protocol/access.ts';
import type { EventBus } from '../protocol/bus.ts';
import type { Command } from '../protocol/command.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type { Log } from '../protocol/log.ts';
import type { Address } from '../protocol/message.ts';
import type { SendSystemMessage } from '../protocol/receive.ts';
import type { ScheduleLimits, ScheduleStore, Schedules } from '../protocol/schedules.ts';
import type { Settings } from '../protocol/settings.ts';
import { createScheduleCommand } from './command.ts';
import { type Driver, startDriver } from './driver.ts';
import { fire } from './fire.ts';
import { beat, HEARTBEAT_ID, settleHeartbeat } from './heartbeat.ts';
import { createSchedules } from './schedules.ts';
import type { PersonLanguages } from '../protocol/texts/languages.ts';

export { createSchedules } from './schedules.ts';
export { parseWhen } from './when.ts';

export interface SchedulingDeps {
  store: ScheduleStore;
  sendSystemMessage: SendSystemMessage;
  creatorAccess: CreatorAccess;
  ledger: Pick<Ledger, 'queue' | 'enqueue' | 'sessionOf'>;
  events: Pick<EventBus, 'emit'>;
  languages: Pick<PersonLanguages, 'say' | 'languageOf'>;
  log: Log;
  settings: Settings<ScheduleSettings>;
}

/** What the configuration says about schedules. */
export interface ScheduleSettings {
  limits: ScheduleLimits;
  /** IANA name of the zone for times without one. */
  timeZone: string;
  /** Undefined = none. */
  heartbeat?: { everyMs: number; address: Address; file: string } | undefined;
}

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
  const schedules = createSchedules({
    store,
    creatorAccess: deps.creatorAccess,
    settings,
    soon: () => driver?.soon(),
  });
  const settle = async (): Promise<void> =>
    settleHeartbeat(deps, settings.current().heartbeat, (await store.databaseNow()).getTime());
  settings.subscribe((next) => {
    const before = settings.current().heartbeat;
    const isOther =
      next.heartbeat?.everyMs !== before?.everyMs || next.heartbeat?.address !== before?.address;
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
      driver ??= startDriver({
        store,
        log,
        run: async (due) => {
          const { timeZone, heartbeat } = settings.current();
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
