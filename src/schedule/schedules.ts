/** The schedules as commands, tools and channels use them: added within limits, listed, removed, described. */
import type { CreatorAccess } from '../protocol/access.ts';
import { GatewayError } from '../protocol/errors.ts';
import {
  KEPT_OVER,
  MAX_TASK_LENGTH,
  type ScheduleChange,
  type ScheduleLimits,
  type ScheduleRecord,
  type ScheduleRequest,
  type Schedules,
  type ScheduleStore,
} from '../protocol/schedules.ts';
import { describeSchedule, momentIn, resultOf } from './describe.ts';
import { badSchedule, firstSlot, readWhen } from './timing.ts';
import { textRef } from '../protocol/texts/say.ts';

/** The share of all schedules that is reserved for owners. */
const OWNERS_SHARE = 1 / 10;

/** Creator of schedules that were not made by a person. */
export const SYSTEM_USER = 'system';

/** The limits, and the IANA name of the zone for times without one. */
interface CurrentSettings {
  limits: ScheduleLimits;
  timeZone: string;
}

/** Makes `Schedules`. `soon` is called when there may be a slot earlier than the driver knows. */
export function createSchedules(
  store: ScheduleStore,
  creatorAccess: CreatorAccess,
  settings: { current(): CurrentSettings },
  checkSoon: () => void,
): Schedules {
  return {
    async add(request) {
      const schedule = await add(store, creatorAccess, settings.current(), request);
      checkSoon();
      return schedule;
    },
    async list({ session, creatorId }) {
      const { limits } = settings.current();
      const limit = session === undefined ? 2 * limits.total : limits.perSession + KEPT_OVER;
      const rows = await store.schedules({ session, creatorId, limit });
      const people = rows.filter((row) => row.creatorId !== SYSTEM_USER);
      return people.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));
    },
    async find(id) {
      const schedule = await store.schedule(id);
      return schedule?.creatorId === SYSTEM_USER ? undefined : schedule;
    },
    async change(id, change) {
      const schedule = await changeOne(store, settings.current().timeZone, id, change);
      checkSoon();
      return schedule;
    },
    async runNow(id) {
      const schedule = await store.schedule(id);
      if (schedule === undefined || schedule.creatorId === SYSTEM_USER || !(await store.makeDue(id)))
        return false;
      checkSoon();
      return true;
    },
    remove: (id) => store.removeSchedule(id),
    async runs(id, say) {
      const schedule = await store.schedule(id);
      if (schedule === undefined || schedule.creatorId === SYSTEM_USER) return undefined;
      const runs = await store.scheduleRuns(id);
      return runs.map((run) => ({ ...run, result: resultOf(run, say) }));
    },
    describe: (schedule, say) => describeSchedule(schedule, settings.current().timeZone, say),
    moment: (at) => momentIn(at.getTime(), settings.current().timeZone),
  };
}

async function add(
  store: ScheduleStore,
  creatorAccess: CreatorAccess,
  { limits, timeZone }: CurrentSettings,
  request: ScheduleRequest,
): Promise<ScheduleRecord> {
  const { id, session, address, creatorId, sources = [] } = request;
  if (creatorId === SYSTEM_USER) {
    throw new GatewayError('forbidden', textRef('schedule.by_task'));
  }
  const task = checkedTask(request.task);
  const earlierRequest = await store.schedule(id);
  if (earlierRequest !== undefined) return earlierRequest;
  const now = (await store.databaseNow()).getTime();
  const timing = readWhen(request.when, { now, timeZone });
  const nextAt = new Date(firstSlot(timing, now));
  const place = request.place === 'group' ? 'group' : await creatorAccess.placeOf(address);
  if (!(await creatorAccess.isStillAllowed(creatorId, address, place))) {
    // A schedule that could never run is refused.
    throw new GatewayError(
      'forbidden',
      place === 'group' ? textRef('schedule.in_group') : textRef('schedule.may_not_write', { address }),
    );
  }
  const total = (await creatorAccess.isOwner(creatorId))
    ? limits.total
    : Math.max(1, Math.floor(limits.total * (1 - OWNERS_SHARE)));
  const schedule = { id, session, address, place, creatorId, timing, task, sources, nextAt };
  const outcome = await store.addSchedule(schedule, { ...limits, total });
  if (outcome !== 'added') throw tooMany(outcome, { ...limits, total });
  return (await store.schedule(id)) ?? { ...schedule, createdAt: new Date(now) };
}

/** Throws `GatewayError('bad_schedule')`. */
function checkedTask(text: string): string {
  const task = text.trim();
  if (task === '') throw badSchedule(textRef('schedule.no_task'));
  if (task.length > MAX_TASK_LENGTH) {
    throw badSchedule(textRef('schedule.long_task', { most: MAX_TASK_LENGTH, length: task.length }));
  }
  return task;
}

/** A task rewritten by a person is theirs: it no longer has sources. */
async function changeOne(
  store: ScheduleStore,
  timeZone: string,
  id: string,
  { task, when, paused }: ScheduleChange,
): Promise<ScheduleRecord | undefined> {
  const schedule = await store.schedule(id);
  if (schedule === undefined || schedule.creatorId === SYSTEM_USER) return undefined;
  const now = (await store.databaseNow()).getTime();
  const timing = when === undefined ? schedule.timing : readWhen(when, { now, timeZone });
  const isPaused = paused ?? (when === undefined && schedule.nextAt === undefined);
  const isOther = when !== undefined || schedule.nextAt === undefined;
  const next = isOther ? () => new Date(firstSlot(timing, now)) : () => schedule.nextAt ?? null;
  await store.changeSchedule(id, {
    ...(task !== undefined && { task: checkedTask(task), sources: [] }),
    ...(when !== undefined && { timing }),
    nextAt: isPaused ? null : next(),
  });
  return await store.schedule(id);
}

function tooMany(
  full: 'session_full' | 'user_full' | 'gateway_full',
  { perSession, perUser, total }: ScheduleLimits,
): GatewayError {
  const text = {
    session_full: textRef('schedule.session_full', { most: perSession }),
    user_full: textRef('schedule.user_full', { most: perUser }),
    gateway_full: textRef('schedule.gateway_full', { most: total }),
  };
  return new GatewayError('too_many_schedules', text[full]);
}
