/** The API's description: the gateway itself, the OpenAI-compatible routes, plans, approvals, schedules, usage. */
import { z } from 'zod';
import { codeSchema } from '../../sign-in/routes.ts';
import { answerSchema } from '../approvals.ts';
import { embedSchema, oldEmbedSchema } from '../ollama/embed.ts';
import { showSchema } from '../ollama/models.ts';
import { chatSchema, generateSchema } from '../ollama/requests.ts';
import { speechSchema } from '../openai/audio.ts';
import { textCompletionSchema } from '../openai/text-completions.ts';
import { completionSchema } from '../openai/completion-request.ts';
import { languageAnswer, languageSchema } from '../language.ts';
import { embeddingSchema } from '../openai/embeddings.ts';
import { responseSchema } from '../openai/response-request.ts';
import { changeSchema as planChangeSchema, requestSchema, runSchema } from '../plans.ts';
import { changeSchema, scheduleSchema } from '../schedules.ts';
import { approval, receipt, schedule } from './answers.ts';
import type { Operations } from './operation.ts';

/** A stream of server-sent events. */
const EVENTS = { type: 'text/event-stream', body: 'text' } as const;
/** A line of JSON for each piece. */
const LINES = { type: 'application/x-ndjson', body: 'text' } as const;

/** A recording in a form, with OpenAI's fields. */
const RECORDING = {
  'multipart/form-data': {
    schema: {
      type: 'object',
      required: ['file'],
      properties: {
        file: { type: 'string', format: 'binary' },
        model: { type: 'string' },
        language: { type: 'string' },
        prompt: { type: 'string' },
        temperature: { type: 'number' },
        response_format: { enum: ['json', 'text', 'verbose_json'] },
      },
    },
  },
};

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
  'POST /v1/chat/completions': {
    tag: 'openai',
    summary: 'Chat completions; with X-Session-Id in a session',
    description:
      'Without a session, the messages are the whole context and nothing but usage is stored. With one, the last message is posted to it and the turn is the answer. An Idempotency-Key makes a repeat safe. A field that changes the answer is honoured or refused by name.',
    body: completionSchema,
    others: [EVENTS],
  },
  'POST /v1/responses': {
    tag: 'openai',
    summary: 'Responses; with X-Session-Id in a session',
    description:
      "The newer of OpenAI's two routes, over the same sessions, tools and limits as chat completions. A field that changes the answer is honoured or refused by name.",
    body: responseSchema,
    others: [EVENTS],
  },
  'POST /v1/completions': {
    tag: 'openai',
    summary: 'The older text completions; with X-Session-Id in a session',
    description:
      'The prompt is asked as the only message of a chat. `suffix`, `echo`, `best_of`, `logprobs` and token ids are refused by name.',
    body: textCompletionSchema,
    others: [EVENTS],
  },
  'POST /v1/audio/transcriptions': {
    tag: 'openai',
    summary: 'What is said in a recording',
    description:
      'By the server of `transcription` in config.json, else 501. The recording is kept nowhere. `verbose_json` has what the server knows; `srt` and `vtt` are refused.',
    upload: RECORDING,
    answer: z.looseObject({ text: z.string() }),
    others: [{ type: 'text/plain', body: 'text' }],
  },
  'POST /v1/audio/speech': {
    tag: 'openai',
    summary: 'The sound of a text',
    description:
      'By the server of `speech` in config.json, else 501. The sound comes whole, by default as MP3.',
    body: speechSchema,
    answer: 'nothing',
    others: [{ type: 'audio/*', body: 'bytes' }],
  },
  'GET /api/version': {
    tag: 'ollama',
    summary: 'The version of Ollama whose API this is',
    description: 'A constant, for clients that ask whether an API is recent enough.',
  },
  'GET /api/tags': {
    tag: 'ollama',
    summary: '`default`, the profiles and the models',
    description: 'Each name has a tag, `latest` without another one; the name without it works, too.',
  },
  'GET /api/ps': {
    tag: 'ollama',
    summary: 'Models in memory: none that the gateway knows',
    description: 'Which models a server holds in memory is its own affair.',
  },
  'POST /api/show': {
    tag: 'ollama',
    summary: 'What a model can do',
    description: 'Its capabilities, and in `model_info` how many tokens it reads.',
    body: showSchema,
  },
  'POST /api/chat': {
    tag: 'ollama',
    summary: 'A chat; with X-Session-Id in a session',
    description:
      "Ollama's API over the same sessions, tokens and rights as chat completions: a line of JSON for each piece unless `stream` is false. Without messages it only checks the model.",
    body: chatSchema,
    others: [LINES],
  },
  'POST /api/generate': {
    tag: 'ollama',
    summary: 'An answer to a prompt',
    description:
      'The prompt is asked as the only message of a chat, after `system`. `suffix`, `template`, `context` and `raw` are refused by name.',
    body: generateSchema,
    others: [LINES],
  },
  'POST /api/embed': {
    tag: 'ollama',
    summary: 'Vectors of texts',
    description: 'Of one text or many; a text that is too long for the model is an error, never cut.',
    body: embedSchema,
  },
  'POST /api/embeddings': {
    tag: 'ollama',
    summary: 'The vector of a text',
    description: "The older of Ollama's two routes for vectors.",
    body: oldEmbedSchema,
  },
  'POST /v1/embeddings': {
    tag: 'openai',
    summary: 'Vectors of texts',
    description: 'Of one text or many; a text that is too long for the model is an error, never cut.',
    body: embeddingSchema,
  },
  'GET /v1/models': {
    tag: 'openai',
    summary: '`default`, the profiles and the models',
    description:
      'Tokens without `admin` see `default`, the profiles they may use and the model they would get.',
  },
  'GET /v1/models/*': {
    tag: 'openai',
    summary: 'One of them',
    description: 'A name may contain slashes; a missing one gets the whole list.',
  },
  'GET /v1/sessions/:key/plan': {
    tag: 'plans',
    summary: 'The newest plan of a session, and its todo list',
    description: '`null` without a plan; the steps have their states as they are now.',
  },
  'GET /v1/responses/:id': {
    tag: 'openai',
    summary: 'A stored response',
    description:
      'Of this token, for as long as it is kept; one of another token looks as if it did not exist.',
    answer: storedResponse,
  },
  'DELETE /v1/responses/:id': {
    tag: 'openai',
    summary: 'Delete a stored response',
    description: 'What continued it can no longer be continued by id.',
    answer: z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) }),
  },
  'GET /v1/responses/:id/input_items': {
    tag: 'openai',
    summary: 'The items of its request',
    description: 'The newest first, in pages.',
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
