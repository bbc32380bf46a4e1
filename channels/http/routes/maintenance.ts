/** The routes about what the gateway holds: health, memories, dead letters, the log. */
import { z } from 'zod';
import { MAX_ADMIN_ROWS, MAX_LOG_LINES } from '../../../src/protocol/operator/administration.ts';
import { LANE_CLASSES, type LaneKey } from '../../../src/protocol/store/lanes.ts';
import { badQuery, HttpError } from '../errors.ts';
import { type HttpContext, type Route, routeOf } from '../route.ts';
import { sayToCaller } from './person.ts';

const isLane = (lane: unknown): boolean =>
  LANE_CLASSES.some((name) => String(lane).startsWith(`${name}:`) && String(lane).length > name.length + 1);

const letterSchema = z.strictObject({
  lane: z.string().max(2_000).pipe(z.custom<LaneKey>(isLane, 'must be the lane of a dead letter')),
  seq: z.int().min(0),
});

const LEVELS = ['debug', 'info', 'warn', 'error'];

const route = routeOf('administration');

export const maintenanceRoutes: readonly Route[] = [
  route('GET', '/v1/health', 'admin', {
    summary: 'Channels with their last error, the model, the database',
    description: 'The complete report of `/readyz`, in the language of the caller.',
    async handle(c, deps) {
      return c.json(await deps.gateway.health(await sayToCaller(c, deps)));
    },
  }),
  route('GET', '/v1/memories', 'admin', {
    summary: 'What is remembered about people',
    description: 'Of all people, newest first, 200 a page.',
    async handle(c, { gateway }) {
      const userId = c.req.query('user') || undefined;
      const beforeId = readNumber(c, 'before', Number.MAX_SAFE_INTEGER);
      const limit = readNumber(c, 'limit', MAX_ADMIN_ROWS) ?? MAX_ADMIN_ROWS;
      const memories = await gateway.administration.memories({ userId, before: beforeId, limit });
      const last = memories.length === limit ? memories.at(-1)?.id : undefined;
      return c.json({ memories, next: last ?? null });
    },
  }),
  route('DELETE', '/v1/memories/:id', 'admin', {
    summary: 'Forget one fact',
    description: 'No later answer will know it.',
    async handle(c, { gateway }) {
      const text = c.req.param('id') ?? '';
      const id = /^\d{1,15}$/.test(text) ? Number(text) : undefined;
      if (id === undefined || !(await gateway.administration.removeMemory(id)))
        throw new HttpError(404, 'memory_not_found', 'There is no such fact.');
      return c.json({ id, deleted: true });
    },
  }),
  route('GET', '/v1/dead-letters', 'admin', {
    summary: 'Messages that were given up',
    description: 'With the error that ended the last attempt.',
    async handle(c, { gateway }) {
      return c.json(await gateway.administration.deadLetters());
    },
  }),
  route('POST', '/v1/dead-letters/retry', 'admin', {
    summary: 'Try one again',
    description: 'It is queued again, by its lane and number.',
    body: letterSchema,
    async handle(c, { gateway }, read) {
      const { lane, seq } = await read();
      if (!(await gateway.administration.retryDeadLetter(lane, seq))) throw noLetter();
      return c.json({ lane, seq, queued: true });
    },
  }),
  route('POST', '/v1/dead-letters/drop', 'admin', {
    summary: 'Drop one',
    description: 'It is not tried again.',
    body: letterSchema,
    async handle(c, { gateway }, read) {
      const { lane, seq } = await read();
      if (!(await gateway.administration.dropDeadLetter(lane, seq))) throw noLetter();
      return c.json({ lane, seq, deleted: true });
    },
  }),
  route('GET', '/v1/log', 'admin', {
    summary: 'The newest lines of the log',
    description:
      'At most 500, at or above a level, from the end of the log file; secrets were removed when it was written.',
    async handle(c, { gateway }) {
      const lines = readNumber(c, 'lines', MAX_LOG_LINES) ?? MAX_LOG_LINES;
      const level = c.req.query('level') ?? 'info';
      if (!LEVELS.includes(level)) throw badQuery('level', `one of ${LEVELS.join(', ')}`);
      return c.json({ lines: await gateway.administration.log({ lines, level }) });
    },
  }),
];

function noLetter(): HttpError {
  const text = 'There is no such dead letter; it may be queued again by now.';
  return new HttpError(404, 'dead_letter_not_found', text);
}

function readNumber(c: HttpContext, param: string, most: number): number | undefined {
  const text = c.req.query(param);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= most) return value;
  throw badQuery(param, `a number from 1 to ${most}`);
}
