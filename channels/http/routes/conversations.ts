/** The routes by which people act on a conversation: fork it. A session the caller may not see looks as if it did not exist. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { newId } from '../../../src/lib/ids.ts';
import { readJson } from '../body.ts';
import { noSession } from '../errors.ts';
import { idempotencyKey, readableKey } from '../inbound.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { wireFork } from '../wire.ts';

/** Largest number of a message. */
const MAX_SEQ = 2_147_483_647;

const forkSchema = z.strictObject({
  /** The last message that is copied; 0 = none. */
  seq: z.int().min(0).max(MAX_SEQ),
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

/** An id of a session, the same for the same words. */
function digestOf(words: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('hex');
}
