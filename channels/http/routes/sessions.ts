/** The routes about sessions: list, read, change, delete, post, stop. A session the caller may not see looks as if it did not exist. */
import { z } from 'zod';
import { cleanText } from '../../../src/lib/text.ts';
import { MAX_DELETED_AT_ONCE } from '../../../src/protocol/sessions/session-list.ts';
import type { MessageRecord } from '../../../src/protocol/store/records.ts';
import { readJson } from '../body.ts';
import { MAX_PAGE_SIZE } from '../config.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { HttpError, noSession } from '../errors.ts';
import { idempotencyKey, wantedLanguages, postableId, readableKey } from '../inbound.ts';
import { sayToCaller } from './language.ts';
import { acceptPosted, messageSchema } from './posted-message.ts';
import { wireFound, wireListed, wireMessage, type WireReset, wireSession, wireWork } from '../wire.ts';

const DEFAULT_PAGE_SIZE = 50;

/**
 * The caller's sessions, pinned ones first, then newest first; `before` continues from the `updatedAt` of the last one
 * read, and `archived=true` lists those that are left out otherwise.
 */
export async function listSessions(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const before = c.req.query('before');
  const date = before === undefined ? undefined : new Date(before);
  if (date !== undefined && Number.isNaN(date.getTime())) throw badQuery('before', 'an ISO date');
  const archived = c.req.query('archived') === 'true';
  const page = { limit: pageSize(c), before: date, archived };
  const sessions = await deps.gateway.sessions(c.get('caller'), page);
  return c.json({ sessions: sessions.map((session) => wireListed(session, c.get('caller'))) });
}

/** Sessions found by words of their titles and messages; `more` when not all matches are returned. */
export async function searchSessions(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const text = cleanText(c.req.query('q') ?? '').trim();
  if (text === '') throw badQuery('q', 'the words to search for');
  const { found, more } = await deps.gateway.searchSessions(c.get('caller'), text, pageSize(c));
  return c.json({ found: found.map(wireFound), more });
}

/** The body. */
export const deleteSchema = z.strictObject({ keys: z.array(z.string()).min(1).max(MAX_DELETED_AT_ONCE) });

/** Deletes several sessions with their messages; `deleted` names those that were the caller's. */
export async function deleteSessions(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { keys } = await readJson(c.env.incoming, c.env.outgoing, deleteSchema);
  const deleted: string[] = [];
  for (const key of new Set(keys))
    if (await deps.gateway.deleteSession(c.get('caller'), readableKey(key))) deleted.push(key);
  return c.json({ deleted });
}

/** Reads one session. */
export async function readSession(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const session = await deps.gateway.session(c.get('caller'), key);
  if (session === undefined) throw noSession(key);
  return c.json(wireSession(session));
}

/** The body. */
export const changeSchema = z.strictObject({
  profileId: z.string().min(1).optional(),
  /** null = the profile's model. */
  model: z.string().min(1).nullable().optional(),
  mode: z.string().optional(),
  /** How messages that arrive during a turn are handled. */
  queueMode: z.string().optional(),
  pinned: z.boolean().optional(),
  archived: z.boolean().optional(),
  /** The last message that was read. */
  readSeq: z.int().min(0).max(2_147_483_647).optional(),
  /** null = none; the next answer makes a new one. */
  title: z.string().nullable().optional(),
});

/** Changes profile, model, mode, queue mode or title; the error names the invalid field. */
export async function changeSession(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const change = await readJson(c.env.incoming, c.env.outgoing, changeSchema);
  const session = await deps.gateway.updateSession(c.get('caller'), key, {
    ...(change.profileId === undefined ? {} : { profileId: change.profileId }),
    ...(change.model === undefined ? {} : { model: change.model }),
    ...(change.mode === undefined ? {} : { mode: change.mode }),
    ...(change.queueMode === undefined ? {} : { queueMode: change.queueMode }),
    ...(change.pinned === undefined ? {} : { pinned: change.pinned }),
    ...(change.archived === undefined ? {} : { archived: change.archived }),
    ...(change.readSeq === undefined ? {} : { readSeq: change.readSeq }),
    ...(change.title === undefined ? {} : { title: change.title }),
  });
  if (session === undefined) throw noSession(key);
  return c.json(wireSession(session));
}

/** The newest plan of a session and its todo list. */
export async function readPlan(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const work = await deps.gateway.plan(c.get('caller'), key);
  if (work === undefined) throw noSession(key);
  return c.json(wireWork(work));
}

/** Deletes a session and its messages. */
export async function deleteSession(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  if (!(await deps.gateway.deleteSession(c.get('caller'), key))) throw noSession(key);
  return c.json({ key, deleted: true });
}

/** Stops the running turn and cancels queued messages; needs no body. */
export async function stopSession(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const result = await deps.gateway.stop(c.get('caller'), key);
  if (result === undefined) throw noSession(key);
  return c.json({ stopped: result.stopped, cancelled: result.cancelled, agents: result.agents });
}

/** The newest `limit` messages before `before`, ascending, and where `/new` came behind one of them; with `include=steps`, also the work of their turns. */
export async function listMessages(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const text = c.req.query('before');
  const before = text === undefined ? undefined : wholeNumber(text, 'before');
  const page = { limit: pageSize(c), before };
  const include = c.req.query('include');
  if (include !== undefined && include !== 'steps') throw badQuery('include', '"steps"');
  if (include === 'steps') {
    const say = await sayToCaller(c, deps);
    const found = await deps.gateway.messagesWithWork(c.get('caller'), key, page, say);
    if (found === undefined) throw noSession(key);
    const resets = await resetsAmong(c, deps, found.messages, before);
    return c.json({ messages: found.messages.map(wireMessage), resets, steps: found.work });
  }
  const messages = await deps.gateway.messages(c.get('caller'), key, page);
  if (messages === undefined) throw noSession(key);
  return c.json({
    messages: messages.map(wireMessage),
    resets: await resetsAmong(c, deps, messages, before),
  });
}

/** Where `/new` came behind one of the messages of a page. */
async function resetsAmong(
  c: HttpContext,
  { gateway }: HandlerDeps,
  [oldest]: readonly MessageRecord[],
  before: number | undefined,
): Promise<WireReset[]> {
  if (oldest === undefined) return [];
  const found = await gateway.conversations.resets(c.get('caller'), keyOf(c), { from: oldest.seq, before });
  return (found ?? []).map(({ after, at }) => ({ after, at: at.toISOString() }));
}

/** 202 once the message is committed; a repeated `Idempotency-Key` gets the same answer. A command runs at once: 200. */
export async function postMessage(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const id = postableId(c.req.param('key') ?? '');
  const body = await readJson(incoming, outgoing, messageSchema);
  const answer = await acceptPosted(deps, c.get('caller'), {
    ...body,
    id,
    key: idempotencyKey(incoming),
    language: wantedLanguages(incoming),
  });
  return c.json(answer, 'handled' in answer ? 200 : 202);
}

function keyOf(c: HttpContext): ReturnType<typeof readableKey> {
  return readableKey(c.req.param('key') ?? '');
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

export function badQuery(param: string, expected: string): HttpError {
  return new HttpError(400, 'invalid_query', `"${param}" must be ${expected}.`, { param });
}
