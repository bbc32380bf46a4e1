/** The routes about sessions: list, read, change, delete, post, stop. A session the caller may not see looks as if it did not exist. */
import { z } from 'zod';
import { cleanText } from '../../../src/lib/text.ts';
import { readMode } from '../../../src/contracts/plan.ts';
import { readJson } from '../body.ts';
import { MAX_MEDIA, MAX_PAGE_SIZE, MODELS_TIMEOUT_MS } from '../config.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { HttpError, noSession } from '../errors.ts';
import { postableId, readableKey, refusal, toInbound } from '../inbound.ts';
import { wireMessage, wireReceipt, wireSession, wireWork } from '../wire.ts';

const DEFAULT_PAGE_SIZE = 50;

/** The caller's sessions, newest first; `before` continues from the `updatedAt` of the last one read. */
export async function listSessions(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const before = c.req.query('before');
  const date = before === undefined ? undefined : new Date(before);
  if (date !== undefined && Number.isNaN(date.getTime())) throw badQuery('before', 'an ISO date');
  const sessions = await deps.gateway.sessions(c.get('caller'), { limit: pageSize(c), before: date });
  return c.json({ sessions: sessions.map(wireSession) });
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
});

/** Changes profile, model, mode or queue mode; the error names the invalid field. */
export async function changeSession(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const change = await readJson(c.env.incoming, c.env.outgoing, changeSchema);
  const session = await deps.gateway.updateSession(c.get('caller'), key, {
    ...(change.profileId === undefined ? {} : { profileId: change.profileId }),
    ...(change.model === undefined ? {} : { model: change.model }),
    ...(change.mode === undefined ? {} : { mode: change.mode }),
    ...(change.queueMode === undefined ? {} : { queueMode: change.queueMode }),
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

/** The newest `limit` messages before `before`, ascending. */
export async function listMessages(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const text = c.req.query('before');
  const before = text === undefined ? undefined : wholeNumber(text, 'before');
  const messages = await deps.gateway.messages(c.get('caller'), key, { limit: pageSize(c), before });
  if (messages === undefined) throw noSession(key);
  return c.json({ messages: messages.map(wireMessage) });
}

const messageSchema = z.strictObject({
  content: z.string(),
  media: z
    .array(
      z.strictObject({
        kind: z.enum(['image', 'audio', 'video', 'file']),
        name: z.string().optional(),
        mimeType: z.string().optional(),
        bytes: z.int().min(0).optional(),
        url: z.string().min(1),
      }),
    )
    .max(MAX_MEDIA)
    .default([]),
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
  const message = toInbound(incoming, caller, id, { content: cleanText(body.content), media: body.media });
  const signal = AbortSignal.timeout(MODELS_TIMEOUT_MS);
  const choice = body.model === undefined ? {} : await deps.gateway.resolveModel(body.model, signal);
  const mode = body.mode === undefined ? undefined : readMode(body.mode);
  const receipt = await deps.receive(message, { caller, mode, ...choice });
  if (receipt.kind === 'refused') throw refusal(receipt, `http:${id}`);
  return c.json(wireReceipt(receipt), receipt.kind === 'handled' ? 200 : 202);
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
