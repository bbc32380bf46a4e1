/** The routes of the messages that wait in a session. A session the caller may not see looks as if it did not exist. */
import { z } from 'zod';
import type { ConversationApi } from '../../../src/protocol/sessions/conversation-api.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { readJson } from '../body.ts';
import { noSession } from '../errors.ts';
import { readableKey } from '../inbound.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { wireQueue } from '../wire.ts';

/** How messages wait (`mode`), and those that do, the next one first. */
export async function readQueue(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = readableKey(c.req.param('key') ?? '');
  const caller = c.get('caller');
  const queue = await deps.gateway.conversations.queue(caller, key);
  if (queue === undefined) throw noSession(key);
  return c.json(wireQueue(queue, caller));
}

/** The body. */
export const waitingSchema = z.strictObject({ content: z.string() });

/** Replaces the text of one's own waiting message; like the other changes, it answers with what waits then. */
export async function editWaiting(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { content } = await readJson(c.env.incoming, c.env.outgoing, waitingSchema);
  return await change(c, deps, { do: 'edit', content: cleanText(content) });
}

/** Drops a waiting message. */
export function dropWaiting(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  return change(c, deps, { do: 'drop' });
}

/** Ends the running answer, and answers this message next. */
export function sendWaitingNow(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  return change(c, deps, { do: 'send_now' });
}

async function change(
  c: HttpContext,
  deps: HandlerDeps,
  act: Parameters<ConversationApi['changeWaiting']>[3],
): Promise<Response> {
  const key = readableKey(c.req.param('key') ?? '');
  const caller = c.get('caller');
  const turn = c.req.param('turn') ?? '';
  const queue = await deps.gateway.conversations.changeWaiting(caller, key, turn, act);
  if (queue === undefined) throw noSession(key);
  return c.json(wireQueue(queue, caller));
}
