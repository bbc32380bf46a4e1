/** The schedules as commands, tools and channels use them: added within bounds, listed, removed, described. */
import type { CreatorAccess } from '../contracts/access.ts';
import { GatewayError } from '../contracts/errors.ts';
import { KEPT_OVER, MAX_SYSTEM_SCHEDULES, MAX_SCHEDULES, MAX_TASK_LENGTH } from '../contracts/schedules.ts';
import type { ScheduleRecord, ScheduleStore, Schedules, ScheduleRequest } from '../contracts/schedules.ts';
import { describeSchedule, momentIn } from './describe.ts';
import { badSchedule } from './errors.ts';
import { firstSlot } from './timing.ts';
import { readWhen } from './when.ts';

/** Creator of schedules that no person made. */
export const SYSTEM_USER = 'system';

export interface SchedulesDeps {
  store: Pick<ScheduleStore, 'addSchedule' | 'schedules' | 'schedule' | 'removeSchedule'>;
  standing: CreatorAccess;
  /** IANA name. */
  timeZone: string;
  /** Epoch milliseconds. */
  epochNow: () => number;
  /** A slot may be earlier than the driver knows. */
  soon: () => void;
}

/** Makes `Schedules`. */
export function createSchedules(deps: SchedulesDeps): Schedules {
  const { store, timeZone } = deps;
  return {
    add: (wish) => add(deps, wish),
    async list({ session, creatorId }) {
      const limit = session === undefined ? 2 * MAX_SYSTEM_SCHEDULES : MAX_SCHEDULES + KEPT_OVER;
      const rows = await store.schedules({ session, creatorId, limit });
      const people = rows.filter((row) => row.creatorId !== SYSTEM_USER);
      return people.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));
    },
    async find(id) {
      const found = await store.schedule(id);
      return found?.creatorId === SYSTEM_USER ? undefined : found;
    },
    remove: (id) => store.removeSchedule(id),
    describe: (schedule) => describeSchedule(schedule, timeZone),
    moment: (at) => momentIn(at.getTime(), timeZone),
  };
}

async function add(deps: SchedulesDeps, wish: ScheduleRequest): Promise<ScheduleRecord> {
  const { id, session, address, creatorId } = wish;
  const task = wish.task.trim();
  if (creatorId === SYSTEM_USER) {
    throw new GatewayError(
      'forbidden',
      'A scheduled task cannot add schedules; a person can, with /schedule add.',
    );
  }
  if (task === '') throw badSchedule('The task is missing: say what to do.');
  if (task.length > MAX_TASK_LENGTH) {
    throw badSchedule(`A task has at most ${MAX_TASK_LENGTH} characters; this has ${task.length}.`);
  }
  const known = await deps.store.schedule(id);
  if (known !== undefined) return known;
  const now = deps.epochNow();
  const timing = readWhen(wish.when, { now, timeZone: deps.timeZone });
  const nextAt = new Date(firstSlot(timing, now));
  const place = await deps.standing.placeOf(address);
  if (!(await deps.standing.isStillAllowed(creatorId, address, place))) {
    // A schedule that could never run is refused.
    throw new GatewayError(
      'forbidden',
      `I may not write to ${address} for you; over HTTP, post a message there first.`,
    );
  }
  const done = await deps.store.addSchedule({ id, session, address, place, creatorId, timing, task, nextAt });
  if (done !== 'added') throw tooMany(done);
  deps.soon();
  const added = await deps.store.schedule(id);
  return added ?? { id, session, address, place, creatorId, timing, task, nextAt, createdAt: new Date(now) };
}

function tooMany(full: 'session_full' | 'gateway_full'): GatewayError {
  return new GatewayError(
    'too_many_schedules',
    full === 'session_full'
      ? `This chat has the maximum of ${MAX_SCHEDULES} schedules. Remove one first: /schedule remove <number>.`
      : `This gateway has the maximum of ${MAX_SYSTEM_SCHEDULES} schedules. Some must be removed first.`,
  );
}
