/** The routes about schedules: list, create, remove. A schedule the caller may not see looks as if it did not exist. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { newId } from '../../../src/lib/ids.ts';
import { HttpError, noSession } from '../errors.ts';
import { idempotencyKey, readableKey } from '../inbound.ts';
import { type Route, routeOf } from '../route.ts';
import { scheduleJson, wireRun, wireSchedule } from '../wire.ts';
import { sayToCaller } from './person.ts';

const minutes = z.number().min(1).max(527_040).optional();

/** When a schedule runs: one of these, and the time zone of those that name a time. */
const timing = {
  cron: z.string().min(1).optional(),
  everyMinutes: minutes,
  inMinutes: minutes,
  at: z.string().min(1).optional(),
  timeZone: z.string().min(1).optional(),
};

const route = routeOf('schedules');

export const scheduleRoutes: readonly Route[] = [
  route('GET', '/v1/schedules', 'chat', {
    summary: 'The schedules of the token, oldest first',
    description: 'Those of the sessions that the token may see.',
    query: { session: 'only those of this session' },
    answer: z.object({ schedules: z.array(scheduleJson) }),
    async handle(c, deps) {
      const session = c.req.query('session');
      const key = session === undefined ? undefined : readableKey(session);
      const schedules = await deps.gateway.schedules.list(c.get('caller'), key);
      return c.json({ schedules: schedules.map(wireSchedule) });
    },
  }),
  route('POST', '/v1/schedules', 'chat', {
    summary: 'Add a schedule, with one of `cron`, `everyMinutes`, `inMinutes` and `at`',
    description:
      'A repeated Idempotency-Key gets the same schedule. Times are read in `timeZone`, by default that of the gateway.',
    body: z.strictObject({
      session: z.string().min(1),
      task: z.string().min(1),
      ...timing,
    }),
    status: 201,
    answer: scheduleJson,
    async handle(c, deps, read) {
      const { incoming } = c.env;
      const caller = c.get('caller');
      const { session, task, ...when } = await read();
      const key = readableKey(session);
      const idempotent = idempotencyKey(incoming);
      // Hashed with the token's id, so that no caller can address another's schedule.
      const id =
        idempotent === undefined
          ? newId()
          : createHash('sha256').update(`${caller.tokenId} ${idempotent}`).digest('hex').slice(0, 32);
      const schedule = await deps.gateway.schedules.add(caller, { id, session: key, task, when });
      if (schedule === undefined) throw noSession(key);
      return c.json(wireSchedule(schedule), 201);
    },
  }),
  route('PATCH', '/v1/schedules/:id', 'chat', {
    summary: 'Change its task or timing, or pause it',
    description: 'What is left out stays; `paused` keeps its timing.',
    body: z.strictObject({ task: z.string().min(1).optional(), ...timing, paused: z.boolean().optional() }),
    async handle(c, deps, read) {
      const id = c.req.param('id') ?? '';
      const { task, paused, ...when } = await read();
      const isTimed = Object.keys(when).length > 0;
      const change = { task, paused, ...(isTimed && { when }) };
      const schedule = await deps.gateway.schedules.change(c.get('caller'), id, change);
      if (schedule === undefined) throw noSchedule(id);
      return c.json(wireSchedule(schedule));
    },
  }),
  route('GET', '/v1/schedules/:id/runs', 'chat', {
    summary: 'Its newest runs, and how each ended',
    description: 'At most 50: when each was due, when it began, how it ended or why it did not start.',
    async handle(c, deps) {
      const id = c.req.param('id') ?? '';
      const runs = await deps.gateway.schedules.runs(c.get('caller'), id, await sayToCaller(c, deps));
      if (runs === undefined) throw noSchedule(id);
      return c.json({ runs: runs.map(wireRun) });
    },
  }),
  route('POST', '/v1/schedules/:id/run', 'chat', {
    summary: 'Run it now',
    description: 'Its timing stays, except for the slot that this run replaces.',
    status: 202,
    async handle(c, deps) {
      const id = c.req.param('id') ?? '';
      if (!(await deps.gateway.schedules.runNow(c.get('caller'), id))) throw noSchedule(id);
      return c.json({ id, runs: true }, 202);
    },
  }),
  route('DELETE', '/v1/schedules/:id', 'chat', {
    summary: 'Remove a schedule',
    description: 'A run that has started is not affected.',
    async handle(c, deps) {
      const id = c.req.param('id') ?? '';
      if (!(await deps.gateway.schedules.remove(c.get('caller'), id))) throw noSchedule(id);
      return c.json({ id, deleted: true });
    },
  }),
];

function noSchedule(id: string): HttpError {
  const message = `There is no schedule "${id.slice(0, 80)}" that this token may see.`;
  return new HttpError(404, 'schedule_not_found', message);
}
