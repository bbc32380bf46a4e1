/** One slot of one schedule: the task becomes a message of the gateway in its session, then the schedule moves on. */
import type { CreatorAccess } from '../contracts/access.ts';
import type { EventBus } from '../contracts/bus.ts';
import { GatewayError } from '../contracts/errors.ts';
import type { Ledger } from '../contracts/ledger.ts';
import type { Log } from '../contracts/log.ts';
import { parseAddress } from '../contracts/message.ts';
import type { SendSystemMessage } from '../contracts/receive.ts';
import type { ScheduleRecord, ScheduleStore } from '../contracts/schedules.ts';
import { momentIn } from './describe.ts';
import { nextSlot } from './timing.ts';

/** A run this much behind its slot says so, in milliseconds. */
const LATE_MS = 60_000;
/** Messages waiting in a session at which a slot is passed over: tasks must not keep people waiting. */
export const MAX_WAITING = 20;
/** When the last slot of a schedule had to be passed over, it is tried again after this, in milliseconds. */
const AGAIN_MS = 60_000;

/** A schedule whose slot has come; `now` is the database's clock. */
export type DueSchedule = ScheduleRecord & { nextAt: Date; now: Date };

export interface FireDeps {
  store: Pick<ScheduleStore, 'advanceSchedule' | 'switchOffSchedule'>;
  announce: SendSystemMessage;
  standing: Pick<CreatorAccess, 'isStillAllowed'>;
  ledger: Pick<Ledger, 'queue' | 'enqueue'>;
  events: Pick<EventBus, 'emit'>;
  log: Log;
  /** IANA name. */
  timeZone: string;
}

/**
 * Fires a slot. The message's id is made of schedule and slot, so the session's lane takes it once, however often and
 * from however many processes it comes: a crash between message and move repeats the message, which changes nothing.
 * That is what a lane `cron:<id>` of its own would give, without an owner, a lease and a second commit per run. After a
 * time without a gateway, the first missed slot runs, once, and the next one is in the future. Throws only `StoreError`.
 */
export async function fire(deps: FireDeps, schedule: DueSchedule): Promise<void> {
  const { id, session, address, creatorId, nextAt: slot, now } = schedule;
  const log = deps.log.child({ scheduleId: id, sessionKey: session });
  if (!(await deps.standing.isStillAllowed(creatorId, address, schedule.place))) {
    await deps.store.switchOffSchedule(id);
    log.warn({ creatorId }, 'schedule switched off: whoever made it may not write there any more');
    return;
  }
  const next = slotAfter(schedule);
  if (next instanceof GatewayError) {
    await tell(
      deps,
      schedule,
      'A schedule was switched off, because its time cannot be read any more; see /schedule.',
    );
    await deps.store.switchOffSchedule(id);
    log.warn({ err: next }, 'schedule switched off: its timing cannot be read any more');
    return;
  }
  const taken = await announceTask(deps, schedule);
  if (!taken) {
    await tell(
      deps,
      schedule,
      'A scheduled task was passed over, because too many messages wait here. /stop drops them.',
    );
  }
  const nextAt = next ?? (taken ? undefined : now.getTime() + AGAIN_MS);
  const nextSlotAt = nextAt === undefined ? undefined : new Date(nextAt);
  if (!(await deps.store.advanceSchedule(id, slot, nextSlotAt))) return;
  if (taken) deps.events.emit(session, { type: 'cron_executed', scheduleId: id });
  log.info({ slot, nextAt: nextSlotAt, taken }, taken ? 'schedule run' : 'schedule passed over');
}

/** Says in the chat what became of a schedule, at most once a day: it could be every minute. */
async function tell(deps: FireDeps, schedule: DueSchedule, text: string): Promise<void> {
  const { id, session, address, now } = schedule;
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

/** False when the session has no room for it. */
async function announceTask(deps: FireDeps, schedule: DueSchedule): Promise<boolean> {
  const { id, session, address, nextAt: slot, now } = schedule;
  const { waiting } = await deps.ledger.queue(session);
  if (waiting >= MAX_WAITING) return false;
  const accepted = await deps.announce({
    id: `schedule:${id}:${slot.toISOString()}`,
    session,
    address,
    senderId: `schedule:${id}`,
    senderName: 'Schedule',
    content: wordsOf(schedule, deps.timeZone),
    place: schedule.place,
    timestamp: now.getTime(),
    entry: 'run',
  });
  return accepted.kind !== 'full';
}

/** The task as the agent reads it: whose it is, for which time, and whether it is late. */
function wordsOf({ timing, nextAt, now, task }: DueSchedule, timeZone: string): string {
  const zone = timing.kind === 'cron' ? timing.timeZone : timeZone;
  const late = now.getTime() - nextAt.getTime() > LATE_MS;
  const nowWords = late ? ` It is late: it is ${momentIn(now.getTime(), zone)} now.` : '';
  return `[A task scheduled earlier in this chat, for ${momentIn(nextAt.getTime(), zone)}. Do it now and answer with the result.${nowWords}]\n${task}`;
}
