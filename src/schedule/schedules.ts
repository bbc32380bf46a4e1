/** The schedules as people, tools and channels use them: made within their bounds, listed, removed, put into words. */
import type { CreatorAccess } from '../contracts/access.ts';
import { GatewayError } from '../contracts/errors.ts';
import { KEPT_OVER, MAX_SYSTEM_SCHEDULES, MAX_SCHEDULES, MAX_TASK_LENGTH } from '../contracts/schedules.ts';
import type { ScheduleRecord, ScheduleStore, Schedules, ScheduleRequest } from '../contracts/schedules.ts';
import { describeSchedule, momentIn } from './describe.ts';
import { badSchedule } from './errors.ts';
import { firstSlot } from './timing.ts';
import { readWhen } from './when.ts';

/** Who makes what no person made. */
export const SYSTEM_USER = 'system';

export interface SchedulesDeps {
  store: Pick<ScheduleStore, 'addSchedule' | 'schedules' | 'schedule' | 'removeSchedule'>;
  standing: CreatorAccess;
  /** IANA name. */
  timeZone: string;
  /** Epoch milliseconds. */
  epochNow: () => number;
  /** Something may be due sooner than the driver thought. */
  soon: () => void;
}

/** Makes the schedules' word. */
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
      'A scheduled task cannot make schedules; a person can, with /schedule add.',
    );
  }
  if (task === '') throw badSchedule('Say what is to be done, too.');
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
    // What could never run is not taken in.
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
      ? `This chat has ${MAX_SCHEDULES} schedules, which is the most. Remove one first: /schedule remove <number>.`
      : `This gateway holds ${MAX_SYSTEM_SCHEDULES} schedules, which is the most. Some must be removed first.`,
  );
}
