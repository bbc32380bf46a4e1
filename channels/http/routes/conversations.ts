/** The routes by which people act on a conversation: fork it, ask again, choose an answer, take one back. A session the caller may not see looks as if it did not exist. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { newId } from '../../../src/lib/ids.ts';
import { readJson } from '../body.ts';
import { MODELS_TIMEOUT_MS } from '../config.ts';
import { noSession } from '../errors.ts';
import {
  checkRepeat,
  idempotencyKey,
  postableId,
  readableKey,
  refusal,
  toInbound,
  wantedLanguages,
} from '../inbound.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { acceptedAt, wireChoices, wireFork, wireSessionModel } from '../wire.ts';
import { sayToCaller } from './language.ts';

/** Largest number of a message. */
const MAX_SEQ = 2_147_483_647;

/** The body. */
export const forkSchema = z.strictObject({
  /** The last message that is copied; 0 = none. */
  seq: z.int().min(0).max(MAX_SEQ),
  /** Copies what precedes the question of that message instead. */
  before: z.boolean().optional(),
  title: z.string().optional(),
});

/** 201 with the new session; a repeated `Idempotency-Key` gets the same one. */
export async function forkSession(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const caller = c.get('caller');
  const key = readableKey(c.req.param('key') ?? '');
  const asked = await readJson(incoming, outgoing, forkSchema);
  const repeatable = idempotencyKey(incoming);
  const id = repeatable === undefined ? newId() : digestOf([caller.tokenId, key, repeatable]);
  const end = await deps.limits.beginSession(caller, `http:${id}`);
  try {
    const fork = await deps.gateway.conversations.fork(caller, key, { id, ...asked });
    if (fork === undefined) throw noSession(key);
    return c.json(wireFork(fork), 201);
  } finally {
    end();
  }
}

/** The body. */
export const retrySchema = z.strictObject({
  /** As in chat completions, for this answer only. */
  model: z.string().min(1).optional(),
});

/** Asks the last question of the session again: 202 as for a message, with a `note` if its answers have had effects. */
export async function retryQuestion(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const caller = c.get('caller');
  const id = postableId(c.req.param('key') ?? '');
  const { model } = await readJson(incoming, outgoing, retrySchema);
  const question = await deps.gateway.conversations.lastQuestion(caller, `http:${id}`);
  if (question === undefined) throw noSession(`http:${id}`);
  const { content, turnId: retryOf } = question;
  const choice =
    model === undefined ? {} : await deps.gateway.resolveModel(model, AbortSignal.timeout(MODELS_TIMEOUT_MS));
  const message = toInbound(idempotencyKey(incoming), caller, id, {
    content,
    media: [],
    language: wantedLanguages(incoming),
  });
  const before = deps.gateway.lastEventId(`http:${id}`);
  const receipt = await deps.receive(message, { caller, retryOf, ...choice });
  if (receipt.kind === 'refused') throw refusal(receipt, `http:${id}`);
  checkRepeat(receipt);
  return c.json(acceptedAt(receipt, before), 202);
}

/** Takes the last question and its answers out of what the model reads; names the question and its turn. */
export async function undoQuestion(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = readableKey(c.req.param('key') ?? '');
  const undone = await deps.gateway.conversations.undo(c.get('caller'), key);
  if (undone === undefined) throw noSession(key);
  return c.json(undone);
}

/** Lets the model read the answer of this turn instead of the others to its question, or again after it was taken back. */
export async function chooseAnswer(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = readableKey(c.req.param('key') ?? '');
  const chosen = await deps.gateway.conversations.choose(c.get('caller'), key, c.req.param('turn') ?? '');
  if (chosen === undefined) throw noSession(key);
  return c.json(chosen);
}

/** An id of a session, the same for the same parts. */
function digestOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** What may be chosen for a new session, or for one with the `profile` of the query; without a model server `problem` says why. */
export async function readChoices(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const say = await sayToCaller(c, deps);
  const found = await deps.gateway.conversations.choices(c.get('caller'), c.req.query('profile'), say);
  return c.json(wireChoices(found));
}

/** Who answers the next message of the session, the model that it should have, and why another one answers. */
export async function readSessionModel(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = readableKey(c.req.param('key') ?? '');
  const found = await deps.gateway.conversations.model(c.get('caller'), key);
  if (found === undefined) throw noSession(key);
  return c.json(wireSessionModel(found));
}
