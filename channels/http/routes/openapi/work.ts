/** The API's description: the gateway itself, the OpenAI-compatible routes, plans, approvals, schedules, usage. */
import { z } from 'zod';
import { codeSchema } from '../../sign-in/routes.ts';
import { answerSchema } from '../approvals.ts';
import { completionSchema } from '../openai/completion-request.ts';
import { languageAnswer, languageSchema } from '../language.ts';
import { embeddingSchema } from '../openai/embeddings.ts';
import { responseSchema } from '../openai/response-request.ts';
import { changeSchema as planChangeSchema, requestSchema, runSchema } from '../plans.ts';
import { changeSchema, scheduleSchema } from '../schedules.ts';
import { approval, receipt, schedule } from './answers.ts';
import type { Operations } from './operation.ts';

const storedResponse = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.number(),
  status: z.enum(['completed', 'incomplete']),
  model: z.string(),
  output: z.array(z.looseObject({ id: z.string(), type: z.string() })),
  store: z.literal(true),
});

export const WORK_OPERATIONS: Operations = {
  'GET /healthz': { tag: 'gateway', summary: 'Alive', answer: z.object({ status: z.literal('ok') }) },
  'GET /readyz': {
    tag: 'gateway',
    summary: 'Ready, with the state of store, model and channels; more for admins',
    answer: z.looseObject({ ready: z.boolean() }),
  },
  'GET /metrics': { tag: 'gateway', summary: 'Metrics for Prometheus', answer: 'text' },
  'GET /v1/openapi.json': { tag: 'gateway', summary: 'This description' },
  'POST /v1/sign-in': {
    tag: 'gateway',
    summary: 'Sign a browser in with the code of a link',
    body: codeSchema,
  },
  'POST /v1/sign-in/proxy': {
    tag: 'gateway',
    summary: 'Sign this browser in as the user whom a trusted proxy names',
    answer: z.object({ signedIn: z.boolean(), reason: z.string().optional() }),
  },
  'POST /v1/sign-out': { tag: 'gateway', summary: 'Sign this browser out' },
  'POST /v1/stream-tickets': {
    tag: 'gateway',
    summary: 'A ticket for one stream whose client cannot send headers',
    status: 201,
  },
  'GET /v1/sign-ins': { tag: 'gateway', summary: 'Browsers that are signed in' },
  'DELETE /v1/sign-ins': { tag: 'gateway', summary: 'Sign all of them out but the one that asks' },
  'DELETE /v1/sign-ins/:id': { tag: 'gateway', summary: 'Sign one of them out' },
  'POST /v1/hooks/:name': {
    tag: 'gateway',
    summary: 'Call a webhook of config.json with a signed body',
    body: z.unknown(),
    status: 202,
  },
  'POST /v1/updates/:channel': {
    tag: 'gateway',
    summary: 'An update of a bot, posted by its platform with the secret of the webhook',
    body: z.unknown(),
    answer: z.object({ ok: z.literal(true) }),
  },
  'POST /v1/interactions/:channel': {
    tag: 'gateway',
    summary: 'What someone does with a command or a button of a bot, posted and signed by its platform',
    body: z.unknown(),
    status: 202,
  },
  'GET /v1/commands': { tag: 'gateway', summary: 'The commands that the token may use' },
  'GET /v1/me/memories': {
    tag: 'gateway',
    summary: 'What is remembered about the person of the token, newest first',
  },
  'DELETE /v1/me/memories/:id': { tag: 'gateway', summary: 'Forget one of it' },
  'GET /v1/language': {
    tag: 'gateway',
    summary: 'The language that the token reads',
    answer: languageAnswer,
  },
  'PATCH /v1/language': {
    tag: 'gateway',
    summary: 'Choose another one; "auto" leaves it to Accept-Language',
    body: languageSchema,
    answer: languageAnswer,
  },
  'GET /v1/settings': {
    tag: 'gateway',
    summary: 'The settings that count, and what is wrong with their file',
  },
  'POST /v1/chat/completions': {
    tag: 'openai',
    summary: 'Chat completions; with X-Session-Id in a session',
    body: completionSchema,
  },
  'POST /v1/responses': {
    tag: 'openai',
    summary: 'Responses; with X-Session-Id in a session',
    body: responseSchema,
  },
  'GET /v1/responses/:id': {
    tag: 'openai',
    summary: 'A stored response',
    answer: storedResponse,
  },
  'DELETE /v1/responses/:id': {
    tag: 'openai',
    summary: 'Delete a stored response',
    answer: z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) }),
  },
  'GET /v1/responses/:id/input_items': {
    tag: 'openai',
    summary: 'The items of its request',
    query: {
      limit: '1 to 100; 20 by default',
      order: '`asc`: the oldest first',
      after: 'the id of the last item of the page before',
    },
    answer: z.object({
      object: z.literal('list'),
      data: z.array(z.looseObject({ id: z.string(), type: z.string() })),
      first_id: z.string().nullable(),
      last_id: z.string().nullable(),
      has_more: z.boolean(),
    }),
  },
  'POST /v1/embeddings': { tag: 'openai', summary: 'Vectors of texts', body: embeddingSchema },
  'GET /v1/models': { tag: 'openai', summary: '`default`, the profiles and the models' },
  'GET /v1/models/*': { tag: 'openai', summary: 'One of them' },
  'GET /v1/sessions/:key/plan': { tag: 'plans', summary: 'The newest plan of a session, and its todo list' },
  'POST /v1/sessions/:key/plans': {
    tag: 'plans',
    summary: 'Make a plan without running it',
    body: requestSchema,
    status: 202,
    answer: receipt,
  },
  'GET /v1/plans': { tag: 'plans', summary: 'The plans of a session', query: { session: 'its key' } },
  'GET /v1/plans/:id': { tag: 'plans', summary: 'One plan with its version' },
  'PATCH /v1/plans/:id': {
    tag: 'plans',
    summary: 'Change steps that have not begun',
    body: planChangeSchema,
  },
  'POST /v1/plans/:id/:action': {
    tag: 'plans',
    summary: '`run`, `skip`, `pause`, `resume` or `stop`; a stored plan is run, 202',
    query: { step: 'the step to skip' },
    body: runSchema,
    bodyOptional: true,
  },
  'GET /v1/turns/:id/trace': {
    tag: 'sessions',
    summary: 'What became of a turn, and why',
    query: { include: '`prompt`: also what was sent to the newest model call' },
  },
  'GET /v1/approvals': {
    tag: 'approvals',
    summary: 'Calls that wait for a decision',
    answer: z.object({ approvals: z.array(approval), mayDecide: z.boolean() }),
  },
  'POST /v1/approvals/:id': {
    tag: 'approvals',
    summary: 'Decide one; the first decision counts',
    body: answerSchema,
  },
  'GET /v1/approval-rules': { tag: 'approvals', summary: 'Calls that run without asking' },
  'DELETE /v1/approval-rules/:id': { tag: 'approvals', summary: 'End a rule' },
  'GET /v1/schedules': {
    tag: 'schedules',
    summary: 'The schedules of the token, oldest first',
    query: { session: 'only those of this session' },
    answer: z.object({ schedules: z.array(schedule) }),
  },
  'POST /v1/schedules': {
    tag: 'schedules',
    summary: 'Add a schedule, with one of `cron`, `everyMinutes`, `inMinutes` and `at`',
    body: scheduleSchema,
    status: 201,
    answer: schedule,
  },
  'PATCH /v1/schedules/:id': {
    tag: 'schedules',
    summary: 'Change its task or timing, or pause it',
    body: changeSchema,
  },
  'GET /v1/schedules/:id/runs': { tag: 'schedules', summary: 'Its newest runs, and what became of each' },
  'POST /v1/schedules/:id/run': { tag: 'schedules', summary: 'Run it now' },
  'DELETE /v1/schedules/:id': { tag: 'schedules', summary: 'Remove a schedule' },
  'GET /v1/usage': {
    tag: 'usage',
    summary: 'Tokens and model time',
    query: {
      from: 'ISO date, inclusive',
      to: 'ISO date, exclusive',
      by: '`day`, `session`, `user`, `model` or `purpose`',
    },
  },
};
