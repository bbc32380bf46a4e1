/** The routes about schedules: list, create, remove. A schedule the caller may not see looks as if it did not exist. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { newId } from '../../../src/lib/ids.ts';
import { sayToCaller } from './language.ts';
import { readJson } from '../body.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { HttpError, noSession } from '../errors.ts';
import { idempotencyKey, readableKey } from '../inbound.ts';
import { wireRun, wireSchedule } from '../wire.ts';

/** The caller's schedules, oldest first; `session` limits to one. */
export async function listSchedules(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const session = c.req.query('session');
  const key = session === undefined ? undefined : readableKey(session);
  const schedules = await deps.gateway.schedules.list(c.get('caller'), key);
  return c.json({ schedules: schedules.map(wireSchedule) });
}

const minutes = z.number().min(1).max(527_040);

/** The body. */
export const scheduleSchema = z.strictObject({
  session: z.string().min(1),
  task: z.string().min(1),
  cron: z.string().min(1).optional(),
  everyMinutes: minutes.optional(),
  inMinutes: minutes.optional(),
  at: z.string().min(1).optional(),
  timeZone: z.string().min(1).optional(),
});

/** Creates a schedule, 201; a repeated `Idempotency-Key` gets the same one. */
export async function createSchedule(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const caller = c.get('caller');
  const { session, task, ...when } = await readJson(incoming, outgoing, scheduleSchema);
  const key = readableKey(session);
  const named = idempotencyKey(incoming);
  // Hashed with the token's id, so that no caller can address another's schedule.
  const id =
    named === undefined
      ? newId()
      : createHash('sha256').update(`${caller.tokenId} ${named}`).digest('hex').slice(0, 32);
  const made = await deps.gateway.schedules.add(caller, { id, session: key, task, when });
  if (made === undefined) throw noSession(key);
  return c.json(wireSchedule(made), 201);
}

/** The body. */
export const changeSchema = z.strictObject({
  task: z.string().min(1).optional(),
  cron: z.string().min(1).optional(),
  everyMinutes: minutes.optional(),
  inMinutes: minutes.optional(),
  at: z.string().min(1).optional(),
  timeZone: z.string().min(1).optional(),
  paused: z.boolean().optional(),
});

/** Changes the task or the timing, pauses or resumes it. */
export async function changeSchedule(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const { task, paused, ...when } = await readJson(c.env.incoming, c.env.outgoing, changeSchema);
  const isTimed = Object.keys(when).length > 0;
  const change = { task, paused, ...(isTimed && { when }) };
  const changed = await deps.gateway.schedules.change(c.get('caller'), id, change);
  if (changed === undefined) throw noSchedule(id);
  return c.json(wireSchedule(changed));
}

/** Runs one schedule now. */
export async function runSchedule(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  if (!(await deps.gateway.schedules.runNow(c.get('caller'), id))) throw noSchedule(id);
  return c.json({ id, runs: true }, 202);
}

/** The newest runs of one schedule: when it was due, when it began, how it ended. */
export async function listRuns(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const runs = await deps.gateway.schedules.runs(c.get('caller'), id, await sayToCaller(c, deps));
  if (runs === undefined) throw noSchedule(id);
  return c.json({ runs: runs.map(wireRun) });
}

/** Removes one schedule. */
export async function removeSchedule(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  if (!(await deps.gateway.schedules.remove(c.get('caller'), id))) {
    throw noSchedule(id);
  }
  return c.json({ id, deleted: true });
}

function noSchedule(id: string): HttpError {
  const message = `There is no schedule "${id.slice(0, 80)}" that this token may see.`;
  return new HttpError(404, 'schedule_not_found', message);
}
