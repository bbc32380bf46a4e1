/** The routes about sessions: list, read, change, delete, post, stop. A session the caller may not see looks as if it did not exist. */
import { z } from 'zod';
import {
  MAX_DELETED_AT_ONCE,
  MAX_SEARCHES_AT_ONCE,
  sessionChange,
} from '../../../src/protocol/sessions/session-list.ts';
import type { MessageRecord } from '../../../src/protocol/store/records.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { MAX_PAGE_SIZE } from '../config.ts';
import { badQuery, noSession } from '../errors.ts';
import { idempotencyKey, inSession, keyOf, postableId, readableKey, wantedLanguages } from '../inbound.ts';
import { type HandlerDeps, type HttpContext, type Route, routeOf } from '../route.ts';
import {
  handledJson,
  listedSessionJson,
  messageJson,
  receiptJson,
  resetJson,
  sessionJson,
  wireFound,
  wireListed,
  wireMessage,
  type WireReset,
  wireSession,
  wireWork,
} from '../wire.ts';
import { acceptPosted, messageSchema } from './messages.ts';
import { sayToCaller } from './person.ts';

const PAGE = { limit: 'most rows, 1 to 200 (50)' };
const DEFAULT_PAGE_SIZE = 50;

const route = routeOf('sessions');
const plansRoute = routeOf('plans');

export const sessionRoutes: readonly Route[] = [
  route('GET', '/v1/sessions', 'chat', {
    summary: 'The sessions of the token, newest first',
    description:
      'With a title, the beginning of the newest message, the state of its turn, and how many messages are unread.',
    query: {
      ...PAGE,
      before: 'the `updatedAt` of the last one read',
      archived: '`true`: those that are left out otherwise',
    },
    answer: z.object({ sessions: z.array(listedSessionJson) }),
    async handle(c, deps) {
      const beforeText = c.req.query('before');
      const date = beforeText === undefined ? undefined : new Date(beforeText);
      if (date !== undefined && Number.isNaN(date.getTime())) throw badQuery('before', 'an ISO date');
      const archived = c.req.query('archived') === 'true';
      const page = { limit: pageSize(c), before: date, archived };
      const sessions = await deps.gateway.sessions(c.get('caller'), page);
      return c.json({ sessions: sessions.map((session) => wireListed(session, c.get('caller'))) });
    },
  }),
  route('POST', '/v1/sessions/delete', 'chat', {
    summary: 'Delete several sessions with their messages',
    description: "At most 100 at once; `deleted` names those that were the token's own.",
    body: z.strictObject({ keys: z.array(z.string()).min(1).max(MAX_DELETED_AT_ONCE) }),
    answer: z.object({ deleted: z.array(z.string()) }),
    async handle(c, deps, read) {
      const { keys } = await read();
      const deleted: string[] = [];
      for (const key of new Set(keys))
        if (await deps.gateway.deleteSession(c.get('caller'), readableKey(key))) deleted.push(key);
      return c.json({ deleted });
    },
  }),
  route('GET', '/v1/search', 'chat', {
    summary: 'Sessions by words of their titles and messages',
    description: `Among the sessions that the token may see; \`more\` when there are others. A token may run ${MAX_SEARCHES_AT_ONCE} searches at a time (429 \`too_many_searches\`); each is ended after a second (503 \`search_timeout\`).`,
    query: { ...PAGE, q: 'the words; "a phrase", `or` and `-without` as in a web search' },
    async handle(c, deps) {
      const text = cleanText(c.req.query('q') ?? '').trim();
      if (text === '') throw badQuery('q', 'the words to search for');
      const caller = c.get('caller');
      const { found: matches, more } = await deps.limits.search(caller, () =>
        deps.gateway.searchSessions(caller, text, pageSize(c)),
      );
      return c.json({ found: matches.map(wireFound), more });
    },
  }),
  route('GET', '/v1/sessions/:key', 'chat', {
    summary: 'One session',
    description: '404 for one that does not exist and for one of another token alike.',
    answer: sessionJson,
    async handle(c, deps) {
      return c.json(wireSession(await inSession(c, (caller, key) => deps.gateway.session(caller, key))));
    },
  }),
  route('PATCH', '/v1/sessions/:key', 'chat', {
    summary: 'Change model, profile, modes, title, marks',
    description:
      'What is left out stays; `model: null` is that of the profile, `title: null` lets the next answer make one.',
    body: sessionChange,
    answer: sessionJson,
    async handle(c, deps, read) {
      const session = await inSession(c, async (caller, key) =>
        deps.gateway.updateSession(caller, key, await read()),
      );
      return c.json(wireSession(session));
    },
  }),
  route('DELETE', '/v1/sessions/:key', 'chat', {
    summary: 'Stop and delete a session with its files',
    description: 'Its streams end with `session_deleted`.',
    async handle(c, deps) {
      const key = keyOf(c);
      if (!(await deps.gateway.deleteSession(c.get('caller'), key))) throw noSession(key);
      return c.json({ key, deleted: true });
    },
  }),
  route('GET', '/v1/sessions/:key/messages', 'chat', {
    summary: 'Messages, ascending',
    description:
      'The newest page, or the one before a message number; `resets` says where `/new` began anew.',
    query: { ...PAGE, before: 'a message number', include: '`steps`: also the work of their turns' },
    answer: z.looseObject({ messages: z.array(messageJson), resets: z.array(resetJson) }),
    async handle(c, deps) {
      const text = c.req.query('before');
      const beforeSeq = text === undefined ? undefined : wholeNumber(text, 'before');
      const page = { limit: pageSize(c), before: beforeSeq };
      const include = c.req.query('include');
      if (include !== undefined && include !== 'steps') throw badQuery('include', '"steps"');
      const { messages, work } = await inSession(c, async (caller, key) => {
        if (include === 'steps')
          return await deps.gateway.messagesWithWork(caller, key, page, await sayToCaller(c, deps));
        const messages = await deps.gateway.messages(caller, key, page);
        return messages && { messages, work: undefined };
      });
      const resets = await resetsAmong(c, deps, messages, beforeSeq);
      return c.json({ messages: messages.map(wireMessage), resets, steps: work });
    },
  }),
  route('POST', '/v1/sessions/:key/messages', 'chat', {
    summary: 'Send a message; a repeated Idempotency-Key gets the same answer',
    description:
      '202 once the message is durable; 200 for a command, which runs at once. With another body, a repeated Idempotency-Key is 422.',
    body: messageSchema,
    status: 202,
    answer: receiptJson,
    others: [{ status: 200, body: handledJson }],
    async handle(c, deps, read) {
      const { incoming } = c.env;
      const id = postableId(c.req.param('key') ?? '');
      const body = await read();
      const answer = await acceptPosted(deps, c.get('caller'), {
        ...body,
        id,
        key: idempotencyKey(incoming),
        language: wantedLanguages(incoming),
      });
      return c.json(answer, 'handled' in answer ? 200 : 202);
    },
  }),
  plansRoute('GET', '/v1/sessions/:key/plan', 'chat', {
    summary: 'The newest plan of a session, and its todo list',
    description: '`null` without a plan; the steps have their states as they are now.',
    async handle(c, deps) {
      return c.json(wireWork(await inSession(c, (caller, key) => deps.gateway.plan(caller, key))));
    },
  }),
  route('POST', '/v1/sessions/:key/stop', 'chat', {
    summary: 'Stop the running turn and drop what waits',
    description: 'Acts within a second, whatever the model is doing; needs no body.',
    async handle(c, deps) {
      const { stopped, cancelled, agents } = await inSession(c, (caller, key) =>
        deps.gateway.stop(caller, key),
      );
      return c.json({ stopped, cancelled, agents });
    },
  }),
];

/** Where `/new` came behind one of the messages of a page. */
async function resetsAmong(
  c: HttpContext,
  { gateway }: HandlerDeps,
  [oldest]: readonly MessageRecord[],
  beforeSeq: number | undefined,
): Promise<WireReset[]> {
  if (oldest === undefined) return [];
  const resets = await gateway.conversations.resets(c.get('caller'), keyOf(c), {
    from: oldest.seq,
    before: beforeSeq,
  });
  return (resets ?? []).map(({ after, at }) => ({ after, at: at.toISOString() }));
}

function pageSize(c: HttpContext): number {
  const limit = c.req.query('limit');
  return limit === undefined ? DEFAULT_PAGE_SIZE : Math.min(MAX_PAGE_SIZE, wholeNumber(limit, 'limit'));
}

function wholeNumber(text: string, param: string): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value < 1) throw badQuery(param, 'a whole number of at least 1');
  return value;
}
