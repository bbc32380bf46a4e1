/** The routes by which people act on a conversation: fork it, ask again, choose an answer, take one back. A session the caller may not see looks as if it did not exist. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ConversationApi } from '../../../src/protocol/sessions/conversation-api.ts';
import { newId } from '../../../src/lib/ids.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { MODELS_TIMEOUT_MS } from '../config.ts';
import { badQuery, HttpError, noSession } from '../errors.ts';
import {
  accept,
  idempotencyKey,
  inSession,
  keyOf,
  postableId,
  toInbound,
  wantedLanguages,
} from '../inbound.ts';
import { type HandlerDeps, type HttpContext, type Route, routeOf } from '../route.ts';
import {
  queueJson,
  receiptJson,
  sessionJson,
  undoJson,
  wireChoices,
  wireFork,
  wireQueue,
  wireSessionModel,
  wireTrace,
  wireUndo,
} from '../wire.ts';
import { sayToCaller } from './person.ts';

const MAX_SEQ = 2_147_483_647;

const UNDO_QUERY = { turn: 'the id of the turn, or its end; the newest question without it' };

const route = routeOf('sessions');

export const conversationRoutes: readonly Route[] = [
  route('GET', '/v1/choices', 'chat', {
    summary:
      'Profiles, models and mode that may be chosen for a new session, and who answers without a choice',
    description:
      'For the start of a conversation: what this token may choose, and whether a mode has an effect with a profile.',
    query: { profile: 'the profile of the session; `default` without one' },
    async handle(c, deps) {
      const say = await sayToCaller(c, deps);
      const choices = await deps.gateway.conversations.choices(c.get('caller'), c.req.query('profile'), say);
      return c.json(wireChoices(choices, deps.gateway.audio));
    },
  }),
  route('POST', '/v1/sessions/:key/fork', 'chat', {
    summary: 'A new session that begins as this one was at a message',
    description:
      'Whole turns up to `seq`, with what the model knows about them; files are copied. A repeated Idempotency-Key gets the same session.',
    body: z.strictObject({
      /** The last message that is copied; 0 = none. */
      seq: z.int().min(0).max(MAX_SEQ),
      /** Copies what precedes the question of that message instead. */
      before: z.boolean().optional(),
      title: z.string().optional(),
    }),
    status: 201,
    answer: sessionJson,
    async handle(c, deps, read) {
      const { incoming } = c.env;
      const caller = c.get('caller');
      const key = keyOf(c);
      const body = await read();
      const repeatable = idempotencyKey(incoming);
      const id = repeatable === undefined ? newId() : digestOf([caller.tokenId, key, repeatable]);
      const end = await deps.limits.beginSession(caller, `http:${id}`);
      try {
        const fork = await deps.gateway.conversations.fork(caller, key, { id, ...body });
        if (fork === undefined) throw noSession(key);
        return c.json(wireFork(fork), 201);
      } finally {
        end();
      }
    },
  }),
  route('GET', '/v1/sessions/:key/queue', 'chat', {
    summary: 'The messages that wait behind the running turn, and how they wait',
    description: 'The next one first; `mode` says whether they wait, join the turn, or replace it.',
    answer: queueJson,
    async handle(c, deps) {
      const queue = await inSession(c, (caller, key) => deps.gateway.conversations.queue(caller, key));
      return c.json(wireQueue(queue, c.get('caller')));
    },
  }),
  route('PATCH', '/v1/sessions/:key/queue/:turn', 'chat', {
    summary: 'Change the text of one’s own waiting message',
    description: '409 `not_waiting` once its answer has begun.',
    body: z.strictObject({ content: z.string() }),
    answer: queueJson,
    async handle(c, deps, read) {
      const { content } = await read();
      return await change(c, deps, { do: 'edit', content: cleanText(content) });
    },
  }),
  route('DELETE', '/v1/sessions/:key/queue/:turn', 'chat', {
    summary: 'Drop a waiting message',
    description: '409 `not_waiting` once its answer has begun.',
    answer: queueJson,
    handle(c, deps) {
      return change(c, deps, { do: 'drop' });
    },
  }),
  route('POST', '/v1/sessions/:key/queue/:turn/send-now', 'chat', {
    summary: 'End the running answer, and answer this waiting message next',
    description: 'While the turn waits for a person, the message only moves to the front.',
    answer: queueJson,
    handle(c, deps) {
      return change(c, deps, { do: 'send_now' });
    },
  }),
  route('GET', '/v1/sessions/:key/model', 'chat', {
    summary: 'Who answers the next message, and why',
    description:
      '`configured` is what was meant, `answering` what answers now, with the reason if that is another.',
    async handle(c, deps) {
      const model = await inSession(c, (caller, key) => deps.gateway.conversations.model(caller, key));
      return c.json(wireSessionModel(model));
    },
  }),
  route('POST', '/v1/sessions/:key/retry', 'chat', {
    summary: 'Answer the last question again',
    description:
      'By another `model` if one is named, and in other words if `content` is given; the earlier version stays to choose from.',
    body: z.strictObject({
      /** The question in other words; its files stay. */
      content: z.string().optional(),
      /** As in chat completions, for this answer only. */
      model: z.string().min(1).optional(),
    }),
    status: 202,
    answer: receiptJson,
    async handle(c, deps, read) {
      const { incoming } = c.env;
      const caller = c.get('caller');
      const id = postableId(c.req.param('key') ?? '');
      const { model, content: text } = await read();
      const question = await deps.gateway.conversations.lastQuestion(caller, `http:${id}`);
      if (question === undefined) throw noSession(`http:${id}`);
      const { turnId: retryOf } = question;
      const content = text === undefined ? question.content : cleanText(text);
      const choice =
        model === undefined
          ? {}
          : await deps.gateway.resolveModel(model, AbortSignal.timeout(MODELS_TIMEOUT_MS));
      const message = toInbound(idempotencyKey(incoming), caller, id, {
        content,
        media: [],
        language: wantedLanguages(incoming),
      });
      return c.json(
        await accept(deps, message, { caller, retryOf, reworded: text !== undefined, ...choice }),
        202,
      );
    },
  }),
  route('GET', '/v1/sessions/:key/undo', 'chat', {
    summary: 'What an undo of the last question would bring back, and what not',
    description: 'Nothing is changed; 409 says why it cannot be undone.',
    query: UNDO_QUERY,
    answer: undoJson,
    handle: (c, deps) => answerUndo(c, deps, 'previewUndo'),
  }),
  route('POST', '/v1/sessions/:key/undo', 'chat', {
    summary: 'Undo the last question: its answers, and the files and notes that they changed',
    description:
      'It stays among the messages, marked as left out; 409 says why it cannot be undone. The same turn is undone once.',
    query: UNDO_QUERY,
    answer: undoJson,
    handle: (c, deps) => answerUndo(c, deps, 'undo'),
  }),
  route('POST', '/v1/sessions/:key/turns/:turn/choose', 'chat', {
    summary: 'Let the model read this answer instead of the others to its question',
    description: 'Also brings an answer back after an undo; 409 says why it cannot be chosen.',
    async handle(c, deps) {
      const turn = c.req.param('turn') ?? '';
      return c.json(
        await inSession(c, (caller, key) => deps.gateway.conversations.choose(caller, key, turn)),
      );
    },
  }),
  route('GET', '/v1/turns/:id/trace', 'chat', {
    summary: 'How a turn ended, and why',
    description: "In the language of the token's person; the text of errors is for admins.",
    query: { include: '`prompt`: also what was sent to the newest model call' },
    async handle(c, deps) {
      const id = c.req.param('id') ?? '';
      const include = c.req.query('include');
      if (include !== undefined && include !== 'prompt') throw badQuery('include', '"prompt"');
      const trace = await deps.gateway.trace(c.get('caller'), id, await sayToCaller(c, deps));
      if (trace !== undefined) return c.json(wireTrace(trace, include === 'prompt'));
      const text = `There is no turn "${id.slice(0, 80)}" that this token may see.`;
      throw new HttpError(404, 'turn_not_found', text);
    },
  }),
];

/** An id of a session, the same for the same parts. */
function digestOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

async function change(
  c: HttpContext,
  deps: HandlerDeps,
  act: Parameters<ConversationApi['changeWaiting']>[3],
): Promise<Response> {
  const turn = c.req.param('turn') ?? '';
  const { conversations } = deps.gateway;
  const queue = await inSession(c, (caller, key) => conversations.changeWaiting(caller, key, turn, act));
  return c.json(wireQueue(queue, c.get('caller')));
}

/** What an undo brings back, or would. */
async function answerUndo(c: HttpContext, deps: HandlerDeps, act: 'previewUndo' | 'undo'): Promise<Response> {
  const { conversations } = deps.gateway;
  const say = await sayToCaller(c, deps);
  const turn = c.req.query('turn');
  return c.json(wireUndo(await inSession(c, (caller, key) => conversations[act](caller, key, say, turn))));
}
