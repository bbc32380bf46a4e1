/** The routes about what the gateway holds: health, memories, dead letters, the log. */
import { z } from 'zod';
import { MAX_ADMIN_ROWS, MAX_LOG_LINES } from '../../../../src/protocol/operator/administration.ts';
import { LANE_CLASSES, type LaneKey } from '../../../../src/protocol/store/lanes.ts';
import { readJson } from '../../body.ts';
import { HttpError } from '../../errors.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';
import { sayToCaller } from '../language.ts';

/** The whole report, with reasons, addresses and counts. */
export async function readHealth(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  return c.json(await deps.gateway.health(await sayToCaller(c, deps)));
}

/** Facts about people, newest first: those of `user`, or of all; the next page begins with `before`. */
export async function listMemories(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const userId = c.req.query('user') || undefined;
  const before = readNumber(c, 'before', Number.MAX_SAFE_INTEGER);
  const limit = readNumber(c, 'limit', MAX_ADMIN_ROWS) ?? MAX_ADMIN_ROWS;
  const memories = await gateway.administration.memories({ userId, before, limit });
  const last = memories.length === limit ? memories.at(-1)?.id : undefined;
  return c.json({ memories, next: last ?? null });
}

/** Deletes one fact. */
export async function removeMemory(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const text = c.req.param('id') ?? '';
  const id = /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  if (id === undefined || !(await gateway.administration.removeMemory(id)))
    throw new HttpError(404, 'memory_not_found', 'There is no such fact.');
  return c.json({ id, deleted: true });
}

/** Messages and deliveries that were given up, newest first. */
export async function listDeadLetters(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  return c.json(await gateway.administration.deadLetters());
}

const isLane = (text: string): text is LaneKey =>
  LANE_CLASSES.some((name) => text.startsWith(`${name}:`) && text.length > name.length + 1);
/** The body. */
export const letterSchema = z.strictObject({
  lane: z.string().max(2_000).refine(isLane, 'must be the lane of a dead letter'),
  seq: z.int().min(0),
});

/** Queues a dead letter again, at the end of its lane. */
export async function retryDeadLetter(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const { lane, seq } = await readJson(c.env.incoming, c.env.outgoing, letterSchema);
  if (isLane(lane) && (await gateway.administration.retryDeadLetter(lane, seq)))
    return c.json({ lane, seq, queued: true });
  throw noLetter();
}

/** Deletes a dead letter permanently. */
export async function dropDeadLetter(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const { lane, seq } = await readJson(c.env.incoming, c.env.outgoing, letterSchema);
  if (isLane(lane) && (await gateway.administration.dropDeadLetter(lane, seq)))
    return c.json({ lane, seq, deleted: true });
  throw noLetter();
}

function noLetter(): HttpError {
  return new HttpError(
    404,
    'dead_letter_not_found',
    'There is no such dead letter; it may be queued again by now.',
  );
}

const LEVELS = ['debug', 'info', 'warn', 'error'];

/** The newest lines of the log at or above `level`, oldest first. */
export async function readLog(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const lines = readNumber(c, 'lines', MAX_LOG_LINES) ?? MAX_LOG_LINES;
  const level = c.req.query('level') ?? 'info';
  if (!LEVELS.includes(level))
    throw new HttpError(400, 'invalid_query', `"level" must be one of ${LEVELS.join(', ')}.`, {
      param: 'level',
    });
  return c.json({ lines: await gateway.administration.log({ lines, level }) });
}

function readNumber(c: HttpContext, param: string, most: number): number | undefined {
  const text = c.req.query(param);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= most) return value;
  throw new HttpError(400, 'invalid_query', `"${param}" must be a number from 1 to ${most}.`, { param });
}
