/** Fires one slot of a schedule: the task becomes a system message of its session, then the schedule moves to its next slot. */
import type { Settings } from '../protocol/settings.ts';
import type { CreatorAccess } from '../protocol/access.ts';
import type { EventBus } from '../protocol/bus.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type { Log } from '../protocol/log.ts';
import { type Address, parseAddress } from '../protocol/message.ts';
import type { SendSystemMessage } from '../protocol/receive.ts';
import type { NewScheduleRun, ScheduleLimits, ScheduleRecord, ScheduleStore } from '../protocol/schedules.ts';
import { missedRuns, momentIn } from './describe.ts';
import { nextSlot } from './timing.ts';
import { type PersonLanguages, recipientOf } from '../protocol/texts/languages.ts';
import { type PlainKey, textRef } from '../protocol/texts/say.ts';

/** Beyond this delay, a run tells the agent that it is late; in milliseconds. */
const LATE_MS = 60_000;
/** From this many messages waiting in a session, a slot is skipped, so that tasks leave room for people. */
export const MAX_WAITING = 20;
/** When the last slot of a schedule was skipped, it is retried after this, in milliseconds. */
const AGAIN_MS = 60_000;

/** The reason why the chat did not accept a task: for the history, and as worded for the chat. */
interface Refusal {
  reason: PlainKey;
  notice: PlainKey;
}

const TOO_MANY: Refusal = { reason: 'schedule.why_full', notice: 'schedule.skipped_full' };
const REFUSALS: Record<string, Refusal> = {
  full: TOO_MANY,
  tools_pending: { reason: 'schedule.why_tools', notice: 'schedule.skipped_tools' },
};
const OTHERWISE: Refusal = { reason: 'schedule.why_not_taken', notice: 'schedule.skipped' };

/** A schedule that is due; `now` is the database's clock. */
export type DueSchedule = ScheduleRecord & { nextAt: Date; now: Date };

/** What schedules work with. */
export interface SchedulingDeps {
  store: ScheduleStore;
  sendSystemMessage: SendSystemMessage;
  creatorAccess: CreatorAccess;
  ledger: Ledger;
  events: EventBus;
  languages: PersonLanguages;
  log: Log;
  settings: Settings<ScheduleSettings>;
}

/** What the configuration says about schedules. */
export interface ScheduleSettings {
  limits: ScheduleLimits;
  /** IANA name of the zone for times without one. */
  timeZone: string;
  /** Undefined = none. */
  heartbeat?: Heartbeat | undefined;
}

/** A heartbeat: how often it beats, the chat it writes to, and the absolute path of `HEARTBEAT.md`. */
export interface Heartbeat {
  everyMs: number;
  address: Address;
  file: string;
}

/**
 * Fires a slot. The message id consists of schedule, slot and the previous run (a clock that was set back repeats slots),
 * so the lane accepts it once, however many processes send it, even after a crash before the move. A lane per schedule
 * would cost an owner, a lease and a second commit per run. After a downtime the first missed slot runs once. Throws only
 * `StoreError`.
 */
export async function fire(deps: SchedulingDeps, timeZone: string, schedule: DueSchedule): Promise<void> {
  const { id, session, address, creatorId, nextAt: slot, now } = schedule;
  const log = deps.log.child({ scheduleId: id, sessionKey: session });
  if (!(await deps.creatorAccess.isStillAllowed(creatorId, address, schedule.place))) {
    await deps.store.switchOffSchedule(id, {
      outcome: 'switched_off',
      dueAt: slot,
      why: textRef('schedule.why_no_access'),
    });
    log.warn({ creatorId }, 'schedule_switched_off_no_access');
    return;
  }
  const next = slotAfter(schedule);
  if (next instanceof GatewayError) {
    const reason = textRef('schedule.unreadable');
    await tell(deps, schedule, 'schedule.unreadable');
    await deps.store.switchOffSchedule(id, { outcome: 'switched_off', dueAt: slot, why: reason });
    log.warn({ err: next }, 'schedule_switched_off_unreadable');
    return;
  }
  const { run, notice } = await sendTask(deps, timeZone, schedule);
  const isSent = run.outcome === 'begun';
  if (notice !== undefined) await tell(deps, schedule, notice);
  const nextAt = next ?? (isSent ? undefined : now.getTime() + AGAIN_MS);
  const nextSlotAt = nextAt === undefined ? undefined : new Date(nextAt);
  if (
    !(await deps.store.advanceSchedule(id, slot, nextSlotAt, [
      run,
      ...missedRuns(schedule.timing, slot, now),
    ]))
  )
    return;
  if (isSent) deps.events.emit(session, { type: 'cron_executed', scheduleId: id });
  log.info({ slot, nextAt: nextSlotAt, taken: isSent }, isSent ? 'schedule_fired' : 'schedule_skipped');
}

/** Tells the chat what happened to a schedule, at most once a day, because a schedule may run every minute. */
async function tell(deps: SchedulingDeps, schedule: DueSchedule, key: PlainKey): Promise<void> {
  const { id, session, address, now, creatorId } = schedule;
  const language = await deps.languages.languageOf(creatorId);
  const text = deps.languages.say(recipientOf(address, language))(key);
  deps.events.emit(session, { type: 'notice', code: 'schedule_skipped', text });
  const place = parseAddress(address);
  if (place.channel === 'http') return;
  const message = { ...place, content: text, media: [], buttons: [] };
  await deps.ledger.enqueue(address, { ref: `schedule:${id}:${now.toISOString().slice(0, 10)}`, message });
}

function slotAfter({ timing, now, nextAt }: DueSchedule): number | undefined | GatewayError {
  try {
    return nextSlot(timing, now.getTime(), nextAt.getTime());
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

/** Passes the task to the agent; the run records the outcome. */
async function sendTask(
  deps: SchedulingDeps,
  timeZone: string,
  schedule: DueSchedule,
): Promise<{ run: NewScheduleRun; notice?: PlainKey }> {
  const { id, session, address, nextAt: dueAt, lastAt, now, creatorId } = schedule;
  const { waiting: waitingCount } = await deps.ledger.queue(session);
  const skipped = ({ reason, notice }: Refusal) => ({
    run: { outcome: 'skipped' as const, dueAt, why: textRef(reason) },
    notice,
  });
  if (waitingCount >= MAX_WAITING) return skipped(TOO_MANY);
  const accepted = await deps.sendSystemMessage({
    id: `schedule:${id}:${dueAt.toISOString()}${lastAt === undefined ? '' : `:${lastAt.getTime()}`}`,
    session,
    address,
    senderId: `schedule:${id}`,
    senderName: 'Schedule',
    content: promptOf(schedule, timeZone),
    place: schedule.place,
    sources: schedule.sources,
    payer: { person: creatorId, schedule: id },
    timestamp: now.getTime(),
    entry: 'run',
  });
  if ('turnId' in accepted) return { run: { outcome: 'begun', dueAt, turnId: accepted.turnId } };
  return skipped(REFUSALS[accepted.kind] ?? OTHERWISE);
}

/** The task as the agent reads it: who created it, for which time, and whether it is late. */
function promptOf({ timing, nextAt, now, task }: DueSchedule, timeZone: string): string {
  const zone = timing.kind === 'cron' ? timing.timeZone : timeZone;
  const late = now.getTime() - nextAt.getTime() > LATE_MS;
  const lateNote = late ? ` It is late: it is ${momentIn(now.getTime(), zone)} now.` : '';
  return `[A task scheduled earlier in this chat, for ${momentIn(nextAt.getTime(), zone)}. Do it now and answer with the result.${lateNote}]\n${task}`;
}
