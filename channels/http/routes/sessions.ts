/** The routes about sessions: list, read, change, delete, post, stop. A session the caller may not see looks as if it did not exist. */
import { z } from 'zod';
import { cleanText } from '../../../src/lib/text.ts';
import { MAX_DELETED_AT_ONCE } from '../../../src/contracts/sessions/session-list.ts';
import type { Media } from '../../../src/contracts/media.ts';
import { MAX_QUOTED_CHARS } from '../../../src/contracts/quoted.ts';
import { readMode } from '../../../src/contracts/plan.ts';
import { readJson } from '../body.ts';
import { MAX_FILE_REFERENCE, MAX_PAGE_SIZE, MODELS_TIMEOUT_MS } from '../config.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { endUserSchema } from './end-user.ts';
import { HttpError, noSession } from '../errors.ts';
import { checkRepeat, postableId, readableKey, refusal, toInbound } from '../inbound.ts';
import { acceptedAt, wireFound, wireListed, wireMessage, wireSession, wireWork } from '../wire.ts';

const DEFAULT_PAGE_SIZE = 50;

/**
 * The caller's sessions, newest first, the pinned ones before them; `before` continues from the `updatedAt` of the last one
 * read, and `archived=true` lists those that are left out otherwise.
 */
export async function listSessions(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const before = c.req.query('before');
  const date = before === undefined ? undefined : new Date(before);
  if (date !== undefined && Number.isNaN(date.getTime())) throw badQuery('before', 'an ISO date');
  const archived = c.req.query('archived') === 'true';
  const page = { limit: pageSize(c), before: date, archived };
  const sessions = await deps.gateway.sessions(c.get('caller'), page);
  return c.json({ sessions: sessions.map(wireListed) });
}

/** Sessions found by words of their titles and messages; `more` when not all that match are given. */
export async function searchSessions(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const text = cleanText(c.req.query('q') ?? '').trim();
  if (text === '') throw badQuery('q', 'the words to search for');
  const { found, more } = await deps.gateway.searchSessions(c.get('caller'), text, pageSize(c));
  return c.json({ found: found.map(wireFound), more });
}

const deleteSchema = z.strictObject({ keys: z.array(z.string()).min(1).max(MAX_DELETED_AT_ONCE) });

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

const changeSchema = z.strictObject({
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
  /** null = without one; the next answer makes a new one. */
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

/** The newest `limit` messages before `before`, ascending; with `include=steps`, the work of their turns besides. */
export async function listMessages(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const text = c.req.query('before');
  const before = text === undefined ? undefined : wholeNumber(text, 'before');
  const page = { limit: pageSize(c), before };
  const include = c.req.query('include');
  if (include !== undefined && include !== 'steps') throw badQuery('include', '"steps"');
  if (include === 'steps') {
    const found = await deps.gateway.messagesWithWork(c.get('caller'), key, page);
    if (found === undefined) throw noSession(key);
    return c.json({ messages: found.messages.map(wireMessage), steps: found.work });
  }
  const messages = await deps.gateway.messages(c.get('caller'), key, page);
  if (messages === undefined) throw noSession(key);
  return c.json({ messages: messages.map(wireMessage) });
}

const messageSchema = z.strictObject({
  content: z.string(),
  /** Files of the session that were uploaded for this message. */
  files: z.array(z.string().min(1).max(MAX_FILE_REFERENCE)).default([]),
  /** What the message replies to, as text of somebody else. */
  quoted: z
    .strictObject({
      text: z.string().min(1).max(MAX_QUOTED_CHARS),
      author: z.string().max(200).optional(),
    })
    .optional(),
  /** As in chat completions: the end user whose memories count. */
  user: endUserSchema,
  /** As in chat completions, for this turn only. */
  model: z.string().min(1).optional(),
  /** The plan mode of this turn, instead of the session's. */
  mode: z.string().optional(),
});

/** 202 once the message is committed; a repeated `Idempotency-Key` gets the same answer. A command runs at once: 200. */
export async function postMessage(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const caller = c.get('caller');
  const id = postableId(c.req.param('key') ?? '');
  const body = await readJson(incoming, outgoing, messageSchema);
  const media = await mediaOf(c, deps, id, body.files);
  const { user, quoted } = body;
  const content = cleanText(body.content);
  const message = toInbound(incoming, caller, id, { content, media, user, quoted });
  const signal = AbortSignal.timeout(MODELS_TIMEOUT_MS);
  const choice = body.model === undefined ? {} : await deps.gateway.resolveModel(body.model, signal);
  const mode = body.mode === undefined ? undefined : readMode(body.mode);
  // Read before the message is accepted: a fast turn may have ended when this answer is made.
  const before = deps.gateway.lastEventId(`http:${id}`);
  const receipt = await deps.receive(message, { caller, mode, ...choice });
  if (receipt.kind === 'refused') throw refusal(receipt, `http:${id}`);
  checkRepeat(receipt);
  return c.json(acceptedAt(receipt, before), receipt.kind === 'handled' ? 200 : 202);
}

/** The uploaded files that the message names. Throws `HttpError` 400 or 404. */
async function mediaOf(
  c: HttpContext,
  { gateway }: HandlerDeps,
  id: string,
  files: string[],
): Promise<Media[]> {
  if (files.length === 0) return [];
  const { maxFilesPerMessage } = gateway.files.limits;
  if (files.length > maxFilesPerMessage || new Set(files).size < files.length) {
    const text = `A message brings at most ${maxFilesPerMessage} files, each of them once.`;
    throw new HttpError(400, 'too_many_files', text, { param: 'files' });
  }
  const media = await gateway.files.named(c.get('caller'), `http:${id}`, files);
  if (media === undefined) throw noSession(`http:${id}`);
  return media;
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

function badQuery(param: string, expected: string): HttpError {
  return new HttpError(400, 'invalid_query', `"${param}" must be ${expected}.`, { param });
}
