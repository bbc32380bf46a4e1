/** The routes that replay a turn on another model, and mark turns for evaluations. */
import { z } from 'zod';
import { evalChecks, evalSetName, USUAL_SET } from '../../../src/protocol/agent/replays.ts';
import { badQuery, HttpError } from '../errors.ts';
import { disconnectSignal } from '../model-apis/answer.ts';
import { type HttpContext, routeOf, type Route } from '../route.ts';
import { moment } from '../wire.ts';
import { sayToCaller } from './person.ts';

const route = routeOf('sessions');

const cost = z.object({ amount: z.number(), currency: z.string() });

/** One of the two answers. */
const side = z.object({
  model: z.string(),
  profileId: z.string(),
  answer: z.string(),
  /** As of a turn, or `timed_out`. */
  reason: z.string(),
  error: z.string().optional(),
  /** Without a result: not run. */
  calls: z.array(
    z.object({
      name: z.string(),
      args: z.record(z.string(), z.unknown()),
      result: z.string().optional(),
      isError: z.boolean().optional(),
    }),
  ),
  iterations: z.number(),
  promptTokens: z.number(),
  completionTokens: z.number(),
  /** Some of the tokens are estimates. */
  estimated: z.boolean(),
  /** Time of model calls, and in all; milliseconds. */
  modelMs: z.number(),
  ms: z.number(),
  cost: cost.optional(),
});

const replayJson = z.object({
  turnId: z.string(),
  session: z.string(),
  question: z.string(),
  original: side,
  replay: side,
  /** What the replay did not have as it was, in words. */
  missing: z.array(z.string()),
});

/** Both answers, as clients read them. */
export type WireReplay = z.output<typeof replayJson>;

const markJson = z.object({
  set: z.string(),
  turnId: z.string(),
  session: z.string(),
  question: z.string(),
  checks: evalChecks,
  markedAt: moment,
});

export const replayRoutes: readonly Route[] = [
  route('POST', '/v1/turns/:id/replay', 'chat', {
    summary: 'The turn again on another model, next to what it was',
    description:
      'Its prompt as it was; tool calls get the stored results of the same calls, and others are not run. Nothing is stored but usage, as `replay`. Ends after 10 minutes, or when the client disconnects; 409 for a turn that has not ended, or of which nothing is left.',
    body: z
      .strictObject({
        /** As in chat completions. */
        model: z.string().min(1).optional(),
        /** With its prompt and tools of today instead of those of the turn. */
        profileId: z.string().min(1).optional(),
      })
      .refine(
        ({ model, profileId }) => model !== undefined || profileId !== undefined,
        'name a model or a profile',
      ),
    answer: replayJson,
    async handle(c, deps, read) {
      const choice = await read();
      const caller = c.get('caller');
      const signal = disconnectSignal(c.env.outgoing);
      const end = await deps.limits.beginCall(caller);
      try {
        const say = await sayToCaller(c, deps);
        const report = await deps.gateway.replays.replay(caller, turnOf(c), choice, signal, say);
        return c.json(report ?? noTurn(c));
      } finally {
        end();
      }
    },
  }),
  route('PUT', '/v1/turns/:id/mark', 'chat', {
    summary: 'Mark a turn for evaluations',
    description:
      'Adds it to a set, with a copy of all that its replay needs; marked again, it gets these checks. A set has at most 200 turns; a deleted session takes its marks with it.',
    body: z.strictObject({
      /** `default` without one. */
      set: evalSetName.default(USUAL_SET),
      /** What answers to its question must be like. */
      checks: evalChecks.default([]),
    }),
    bodyOptional: true,
    answer: markJson,
    async handle(c, deps, read) {
      const mark = await deps.gateway.replays.mark(c.get('caller'), turnOf(c), await read());
      return c.json(mark ?? noTurn(c));
    },
  }),
  route('DELETE', '/v1/turns/:id/mark', 'chat', {
    summary: 'Take the mark of a turn back',
    description: 'From one set; 404 if it is not marked there.',
    query: { set: 'the set; `default` without one' },
    answer: z.object({ turnId: z.string(), set: z.string(), deleted: z.boolean() }),
    async handle(c, deps) {
      const set = evalSetName.safeParse(c.req.query('set') ?? USUAL_SET);
      if (!set.success) throw badQuery('set', 'the name of a set');
      const turnId = turnOf(c);
      if (!(await deps.gateway.replays.unmark(c.get('caller'), turnId, set.data))) noTurn(c);
      return c.json({ turnId, set: set.data, deleted: true });
    },
  }),
  route('GET', '/v1/marks', 'chat', {
    summary: 'The turns that are marked for evaluations',
    description: 'By set, in the order of their marks; of sessions that this token may see.',
    answer: z.object({ marks: z.array(markJson) }),
    async handle(c, deps) {
      return c.json({ marks: await deps.gateway.replays.marks(c.get('caller')) });
    },
  }),
];

function turnOf(c: HttpContext): string {
  return c.req.param('id') ?? '';
}

function noTurn(c: HttpContext): never {
  const text = `There is no turn "${turnOf(c).slice(0, 80)}" that this token may see, or it has no such mark.`;
  throw new HttpError(404, 'turn_not_found', text);
}
