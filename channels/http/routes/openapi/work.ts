/** The API's description: the gateway itself, plans, approvals, schedules, usage. */
import { z } from 'zod';
import { codeSchema } from '../../sign-in/routes.ts';
import { answerSchema } from '../approvals.ts';
import { languageAnswer, languageSchema } from '../language.ts';
import { changeSchema as planChangeSchema, requestSchema, runSchema } from '../plans.ts';
import { changeSchema, scheduleSchema } from '../schedules.ts';
import { approval, receipt, schedule } from './answers.ts';
import type { Operations } from './operation.ts';

export const WORK_OPERATIONS: Operations = {
  'GET /healthz': {
    tag: 'gateway',
    summary: 'Alive',
    description: 'Answers as long as the process does; needs no token and asks nothing of the store.',
    answer: z.object({ status: z.literal('ok') }),
  },
  'GET /readyz': {
    tag: 'gateway',
    summary: 'Ready, with the state of store, model and channels; more for admins',
    description:
      '503 until the store and HTTP are up. A channel that is off or refused only shows in the body; addresses, counts, reasons and the version are for admins.',
    answer: z.looseObject({ ready: z.boolean() }),
  },
  'GET /metrics': {
    tag: 'gateway',
    summary: 'Metrics for Prometheus',
    description: 'Counters and histograms in the text format of Prometheus, from the gateway and its worker.',
    answer: 'text',
  },
  'GET /v1/openapi.json': {
    tag: 'gateway',
    summary: 'This description',
    description: 'OpenAPI 3.1, made from the schemas that check the requests.',
  },
  'POST /v1/sign-in': {
    tag: 'gateway',
    summary: 'Sign a browser in with the code of a link',
    description:
      'For the page: sets the cookie of a browser whose link was made with the command line. A code works once.',
    body: codeSchema,
  },
  'POST /v1/sign-in/proxy': {
    tag: 'gateway',
    summary: 'Sign this browser in as the user whom a trusted proxy names',
    description:
      'For the page behind an identity proxy: `signedIn` is false, with a reason, when the request does not come from that proxy or names no known user.',
    answer: z.object({ signedIn: z.boolean(), reason: z.string().optional() }),
  },
  'POST /v1/sign-out': {
    tag: 'gateway',
    summary: 'Sign this browser out',
    description: 'Ends the sign-in of the cookie and removes it; without one nothing happens.',
  },
  'POST /v1/stream-tickets': {
    tag: 'gateway',
    summary: 'A ticket for one stream whose client cannot send headers',
    description:
      'It works once, for a minute, in the query `ticket` of `/v1/events`, `/v1/ws` or the events of a session.',
    status: 201,
  },
  'GET /v1/sign-ins': {
    tag: 'gateway',
    summary: 'Browsers that are signed in',
    description:
      "Those of the token's person, with the time of their last use; `isOwn` marks the one that asks.",
  },
  'DELETE /v1/sign-ins': {
    tag: 'gateway',
    summary: 'Sign all of them out but the one that asks',
    description: 'The browser that asks stays signed in.',
  },
  'DELETE /v1/sign-ins/:id': {
    tag: 'gateway',
    summary: 'Sign one of them out',
    description: 'Its next request is refused with 401.',
  },
  'POST /v1/hooks/:name': {
    tag: 'gateway',
    summary: 'Call a webhook of config.json with a signed body',
    description:
      'The signature of the body stands for a token. The message is durable once this answers 202; a repeated delivery is accepted once.',
    body: z.unknown(),
    status: 202,
  },
  'POST /v1/updates/:channel': {
    tag: 'gateway',
    summary: 'An update of a bot, posted by its platform with the secret of the webhook',
    description: 'For the platform alone, in webhook mode; what does not carry its secret is refused.',
    body: z.unknown(),
    answer: z.object({ ok: z.literal(true) }),
  },
  'POST /v1/interactions/:channel': {
    tag: 'gateway',
    summary: 'What someone does with a command or a button of a bot, posted and signed by its platform',
    description: 'For the platform alone; what it has not signed is refused.',
    body: z.unknown(),
    status: 202,
  },
  'GET /v1/commands': {
    tag: 'gateway',
    summary: 'The commands that the token may use',
    description: "For menus: names, arguments and what they do, in the language of the token's person.",
  },
  'GET /v1/me/memories': {
    tag: 'gateway',
    summary: 'What is remembered about the person of the token, newest first',
    description: 'From all chats that are theirs.',
  },
  'DELETE /v1/me/memories/:id': {
    tag: 'gateway',
    summary: 'Forget one of it',
    description: 'No later answer is told of it.',
  },
  'GET /v1/language': {
    tag: 'gateway',
    summary: 'The language that the token reads',
    description: '`auto` means that each request says it with `Accept-Language`.',
    answer: languageAnswer,
  },
  'PATCH /v1/language': {
    tag: 'gateway',
    summary: 'Choose another one; "auto" leaves it to Accept-Language',
    description: "Counts in every chat of the token's person, as the command `/language` does.",
    body: languageSchema,
    answer: languageAnswer,
  },
  'GET /v1/settings': {
    tag: 'gateway',
    summary: 'The settings that count, and what is wrong with their file',
    description:
      '`values` are in effect, `errors` say why the newest file is not, `needsRestart` names changes that wait for a restart.',
  },
  'GET /v1/sessions/:key/plan': {
    tag: 'plans',
    summary: 'The newest plan of a session, and its todo list',
    description: '`null` without a plan; the steps have their states as they are now.',
  },
  'POST /v1/sessions/:key/plans': {
    tag: 'plans',
    summary: 'Make a plan without running it',
    description: 'The event `plan_ready` brings it. 409 `planning_off` under a profile that does not plan.',
    body: requestSchema,
    status: 202,
    answer: receipt,
  },
  'GET /v1/plans': {
    tag: 'plans',
    summary: 'The plans of a session',
    description: 'Newest first, each with its number in the session; runs of a stored plan are not listed.',
    query: { session: 'its key' },
  },
  'GET /v1/plans/:id': {
    tag: 'plans',
    summary: 'One plan with its version',
    description: 'Its steps, and the version that a change must name.',
  },
  'PATCH /v1/plans/:id': {
    tag: 'plans',
    summary: 'Change steps that have not begun',
    description: 'All edits or none. 409 `plan_changed` when the plan has another version by then.',
    body: planChangeSchema,
  },
  'POST /v1/plans/:id/:action': {
    tag: 'plans',
    summary: '`run`, `skip`, `pause`, `resume` or `stop`; a stored plan is run, 202',
    description:
      'Running a stored plan answers 202 with its turn; the other actions act on the running plan at once.',
    query: { step: 'the step to skip' },
    body: runSchema,
    bodyOptional: true,
    others: [{ status: 202, body: z.looseObject({}) }],
  },
  'GET /v1/turns/:id/trace': {
    tag: 'sessions',
    summary: 'What became of a turn, and why',
    description: "In the language of the token's person; the text of errors is for admins.",
    query: { include: '`prompt`: also what was sent to the newest model call' },
  },
  'GET /v1/approvals': {
    tag: 'approvals',
    summary: 'Calls that wait for a decision',
    description:
      'With their arguments, the files that these name, and the reason; `mayDecide` says whether this token may answer.',
    answer: z.object({ approvals: z.array(approval), mayDecide: z.boolean() }),
  },
  'POST /v1/approvals/:id': {
    tag: 'approvals',
    summary: 'Decide one; the first decision counts',
    description:
      'The first answer counts, any further one is 409. `always` makes a rule of it; the model reads the `reason` of a denial.',
    body: answerSchema,
  },
  'GET /v1/approval-rules': {
    tag: 'approvals',
    summary: 'Calls that run without asking',
    description: 'Those of the sessions that the token may see, newest first.',
  },
  'DELETE /v1/approval-rules/:id': {
    tag: 'approvals',
    summary: 'End a rule',
    description: 'Such calls wait for a person again.',
  },
  'GET /v1/schedules': {
    tag: 'schedules',
    summary: 'The schedules of the token, oldest first',
    description: 'Those of the sessions that the token may see.',
    query: { session: 'only those of this session' },
    answer: z.object({ schedules: z.array(schedule) }),
  },
  'POST /v1/schedules': {
    tag: 'schedules',
    summary: 'Add a schedule, with one of `cron`, `everyMinutes`, `inMinutes` and `at`',
    description:
      'A repeated Idempotency-Key gets the same schedule. Times are read in `timeZone`, by default that of the gateway.',
    body: scheduleSchema,
    status: 201,
    answer: schedule,
  },
  'PATCH /v1/schedules/:id': {
    tag: 'schedules',
    summary: 'Change its task or timing, or pause it',
    description: 'What is left out stays; `paused` keeps its timing.',
    body: changeSchema,
  },
  'GET /v1/schedules/:id/runs': {
    tag: 'schedules',
    summary: 'Its newest runs, and what became of each',
    description: 'At most 50: when each was due, when it began, how it ended or why it did not start.',
  },
  'POST /v1/schedules/:id/run': {
    tag: 'schedules',
    summary: 'Run it now',
    description: 'Its timing stays, except for the slot that this run replaces.',
    status: 202,
  },
  'DELETE /v1/schedules/:id': {
    tag: 'schedules',
    summary: 'Remove a schedule',
    description: 'A run that has begun ends as it would have.',
  },
  'GET /v1/usage': {
    tag: 'usage',
    summary: 'Tokens and model time',
    description: 'Admins see everything, others their own; `cost` where prices are set.',
    query: {
      from: 'ISO date, inclusive',
      to: 'ISO date, exclusive',
      by: '`day`, `session`, `user`, `model` or `purpose`',
    },
  },
};
