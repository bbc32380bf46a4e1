/** Schedules: what they are, how the store keeps them so that each slot fires once, and how users create them. */
import type { Caller } from './access.ts';
import type { Address, InboundMessage, SessionKey } from './message.ts';
import type { Source } from './agent/risk.ts';
import type { TextRef, Say } from './texts/say.ts';

/** Most schedules with a next run. */
export interface ScheduleLimits {
  perSession: number;
  /** Of one user or token, across all sessions. */
  perUser: number;
  /** Of all; the last tenth is for owners. */
  total: number;
}
/** The limits if the configuration sets none. */
export const SCHEDULE_LIMITS: ScheduleLimits = { perSession: 20, perUser: 60, total: 200 };
/** Schedules without a next run that remain listed in a session; older ones are deleted. */
export const KEPT_OVER = 20;
/** Shortest time between two runs of a schedule, in milliseconds. */
export const MIN_EVERY_MS = 60_000;
/** Longest task, in UTF-16 units. */
export const MAX_TASK_LENGTH = 4_000;

/** When it runs: by a cron line in a time zone, at an interval, or once. Times are epoch milliseconds. */
export type ScheduleTiming =
  | { kind: 'cron'; expression: string; timeZone: string }
  | { kind: 'every'; everyMs: number }
  /** `inMs`: it was given as a delay, which must not grow when the clock is set back. */
  | { kind: 'at'; at: number; inMs?: number | undefined };

export interface ScheduleRecord {
  id: string;
  session: SessionKey;
  address: Address;
  /** Kind of that chat when the schedule was created. */
  place: InboundMessage['place'];
  /** User id of its creator (`telegram:42`, `token:<id>`), whose rights are checked again at each run. */
  creatorId: string;
  timing: ScheduleTiming;
  task: string;
  /** Sources of what was read before the task was written; they taint the turns that it starts. */
  sources: readonly Source[];
  /** The next slot; undefined when none is left. */
  nextAt?: Date | undefined;
  /** Time of the last run; undefined = never. */
  lastAt?: Date | undefined;
  createdAt: Date;
}

/** Runs of one schedule that are kept; older ones are deleted. */
export const MAX_RUNS_KEPT = 50;

/** The result of a slot: the agent got its task or not, or no gateway was running; or the schedule ended with it. */
export interface NewScheduleRun {
  outcome: 'begun' | 'skipped' | 'missed' | 'switched_off';
  dueAt: Date;
  /** Why it did not start: a reason if it was skipped, else a sentence; English from before texts had keys. */
  why?: TextRef | string | undefined;
  turnId?: string | undefined;
}

/** A run as stored, with the state of its turn when read. */
export interface ScheduleRun extends NewScheduleRun {
  at: Date;
  /** Undefined when there is no turn, or it was deleted. */
  turn?: ScheduleTurn | undefined;
}

/** The turn of a run. */
export interface ScheduleTurn {
  state: 'queued' | 'running' | 'parked' | 'done';
  /** How it ended: the reason in `turn_ended`. */
  reason?: string | undefined;
  endedAt?: Date | undefined;
}

/** A run for people: `result` briefly says how it ended. */
export type ReportedScheduleRun = ScheduleRun & { result: string };

/** Throws only `StoreError`. */
export interface ScheduleStore {
  /** The time by the database's clock, which decides what is due: this machine's clock may differ. */
  databaseNow(): Promise<Date>;
  /** Stores a schedule unless a limit is reached (default: `SCHEDULE_LIMITS`); a repeated id changes nothing. */
  addSchedule(
    schedule: Omit<ScheduleRecord, 'createdAt' | 'lastAt'>,
    limits?: ScheduleLimits,
  ): Promise<'added' | 'session_full' | 'user_full' | 'gateway_full'>;
  /** Those of a session, of a creator, or all: first those with a next run, then the others, newest first. */
  schedules(filter: ScheduleFilter): Promise<ScheduleRecord[]>;
  schedule(id: string): Promise<ScheduleRecord | undefined>;
  /** False when there was none. */
  removeSchedule(id: string): Promise<boolean>;
  /**
   * Milliseconds until the next slot of all schedules, 0 when one is due; undefined when none is left. A slot further
   * away than its interval, because the clock was set back, moves to one interval from now.
   */
  untilNextSlot(): Promise<number | undefined>;
  /** Cron lines that were created or ran at a time that is now in the future, because the clock was set back. */
  aheadOfClock(): Promise<(ScheduleRecord & { nextAt: Date; now: Date })[]>;
  /** Schedules that are due by the database's clock, oldest slot first. */
  dueSchedules(limit: number): Promise<(ScheduleRecord & { nextAt: Date; now: Date })[]>;
  /** Moves a schedule on from `slot` and records the results until then; false when another process did. */
  advanceSchedule(
    id: string,
    slot: Date,
    nextAt: Date | undefined,
    runs?: readonly NewScheduleRun[],
  ): Promise<boolean>;
  /** The kept runs of a schedule, newest first: at most `MAX_RUNS_KEPT`. */
  scheduleRuns(id: string): Promise<ScheduleRun[]>;
  /** Makes a schedule due now, by the database's clock. False when there is none. */
  makeDue(id: string): Promise<boolean>;
  /** Changes what is given; `nextAt` null = no next slot. False when there is none. */
  changeSchedule(
    id: string,
    change: {
      task?: string | undefined;
      timing?: ScheduleTiming | undefined;
      sources?: readonly Source[] | undefined;
      nextAt: Date | null;
    },
  ): Promise<boolean>;
  /** Removes the next slot of a schedule and records why; it stays in the lists. A repeat changes nothing. */
  switchOffSchedule(id: string, run: NewScheduleRun): Promise<void>;
}

export interface ScheduleFilter {
  session?: SessionKey | undefined;
  creatorId?: string | undefined;
  limit: number;
}

/** A timing as people and models write it: exactly one of the first four fields. */
export interface ScheduleWhen {
  /** Five fields (or six with seconds first, seven with the year last), or `@daily` and the like. */
  cron?: string | undefined;
  everyMinutes?: number | undefined;
  inMinutes?: number | undefined;
  /** `2026-12-01 09:00` in the time zone, or an ISO time with its offset. */
  at?: string | undefined;
  /** IANA name; default: that of the gateway. */
  timeZone?: string | undefined;
}

/** A request for a schedule. */
export interface ScheduleRequest {
  /** The same for every attempt; a repeated request changes nothing. */
  id: string;
  session: SessionKey;
  address: Address;
  /** Kind of the chat in which someone requests it; unset = derived from what is known about the address. */
  place?: InboundMessage['place'] | undefined;
  /** `system` may not create any: a scheduled task cannot schedule another. */
  creatorId: string;
  task: string;
  /** Sources of what was read before a model wrote the task; unset = a person wrote it. */
  sources?: readonly Source[] | undefined;
  when: ScheduleWhen;
}

/** A change by a person. */
export interface ScheduleChange {
  task?: string | undefined;
  when?: ScheduleWhen | undefined;
  paused?: boolean | undefined;
}

/** The schedules as commands, tools and channels use them. */
export interface Schedules {
  /** Throws `GatewayError` (`bad_schedule`, `too_many_schedules`, `forbidden`), or `StoreError`. */
  add(request: ScheduleRequest): Promise<ScheduleRecord>;
  /** Oldest first; those of the gateway itself (`system`) are left out. Throws only `StoreError`. */
  list(filter: Omit<ScheduleFilter, 'limit'>): Promise<ScheduleRecord[]>;
  find(id: string): Promise<ScheduleRecord | undefined>;
  remove(id: string): Promise<boolean>;
  /**
   * Changes the task or timing, pauses, or resumes from now; undefined when there is none. Throws
   * `GatewayError('bad_schedule')`, or `StoreError`.
   */
  change(id: string, change: ScheduleChange): Promise<ScheduleRecord | undefined>;
  /** Runs it now, also if it is paused, which it stays. False when there is none. Throws only `StoreError`. */
  runNow(id: string): Promise<boolean>;
  /** Its runs, newest first: at most `MAX_RUNS_KEPT`. Undefined when there is no such schedule. Throws only `StoreError`. */
  runs(id: string, say?: Say): Promise<ReportedScheduleRun[] | undefined>;
  /** A schedule in one line: when it runs, when next, its task. */
  describe(schedule: ScheduleRecord, say?: Say): string;
  /** A time in the time zone of the gateway, such as `2026-12-01 09:00 (Europe/Berlin)`. */
  moment(at: Date): string;
}

/** The schedule functions for channels: tokens use those of their own sessions, admins all. Throws only `GatewayError`. */
export interface ScheduleApi {
  list(caller: Caller, session?: SessionKey): Promise<ScheduleRecord[]>;
  /** Undefined when there is no such session, or the caller may not see it. */
  add(
    caller: Caller,
    request: Pick<ScheduleRequest, 'id' | 'session' | 'task' | 'when'>,
  ): Promise<ScheduleRecord | undefined>;
  /** Undefined when there is none the caller may see. */
  change(caller: Caller, id: string, change: ScheduleChange): Promise<ScheduleRecord | undefined>;
  /** False when there is none the caller may see. */
  runNow(caller: Caller, id: string): Promise<boolean>;
  /** Its runs, newest first. Undefined when there is none the caller may see. */
  runs(caller: Caller, id: string, say?: Say): Promise<ReportedScheduleRun[] | undefined>;
  /** False when there is none the caller may see. */
  remove(caller: Caller, id: string): Promise<boolean>;
}
