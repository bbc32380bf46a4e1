/** The gateway as an agent of an editor (Agent Client Protocol, version 1). */
import {
  agent,
  type AgentApp,
  type ListSessionsRequest,
  type ListSessionsResponse,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { GatewayClient } from './gateway-client.ts';
import { EditorSession, type EditorSessionDeps } from './editor-session.ts';

/** Sessions that an editor lists. */
const LISTED = 50;

const listed = z.object({
  sessions: z.array(z.object({ key: z.string(), title: z.string().nullable(), updatedAt: z.string() })),
});

/** The agent; what it knows of sessions is forgotten with the connection. */
export function createAgent(
  gateway: GatewayClient,
  version: string,
  report: (line: string) => void,
  clock: Clock = systemClock,
): AgentApp {
  const sessions = new Map<string, EditorSession>();
  const closing = new AbortController();
  const open = (key: string, editor: EditorSessionDeps['editor']): EditorSession => {
    const session = new EditorSession(key, { gateway, editor, signal: closing.signal, clock, report });
    sessions.set(key, session);
    return session;
  };
  const find = (key: string): EditorSession => {
    const session = sessions.get(key);
    if (session === undefined) throw RequestError.invalidParams({ sessionId: key }, 'load it first');
    return session;
  };
  return agent({ name: 'parley' })
    .onConnect(({ signal }) => {
      signal.addEventListener('abort', () => closing.abort(), { once: true });
    })
    .onRequest('initialize', () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: 'parley', title: 'Parley', version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { embeddedContext: true },
        sessionCapabilities: { list: {} },
      },
      authMethods: [],
    }))
    .onRequest('session/new', async ({ client }) => {
      // A token that does not work is said now, and not at the first prompt.
      await answered(gateway.call('/v1/sessions?limit=1', listed));
      const { key } = open(`http:acp-${newId()}`, client);
      return { sessionId: key };
    })
    .onRequest('session/load', async ({ params, client }) => {
      await answered(open(params.sessionId, client).load());
      return {};
    })
    .onRequest('session/list', async ({ params }) => await answered(listSessions(gateway, params)))
    .onRequest('session/prompt', async ({ params }) => {
      const stopReason = await answered(find(params.sessionId).prompt(params.prompt));
      return { stopReason };
    })
    .onNotification('session/cancel', async ({ params }) => await find(params.sessionId).cancel());
}

/** A page of the sessions that an editor may write to, newest first. Throws `GatewayError`. */
async function listSessions(
  gateway: GatewayClient,
  { cursor, cwd }: ListSessionsRequest,
): Promise<ListSessionsResponse> {
  const query = new URLSearchParams({ limit: String(LISTED) });
  if (typeof cursor === 'string') query.set('before', cursor);
  const page = await gateway.call(`/v1/sessions?${query.toString()}`, listed);
  const last = page.sessions.at(-1);
  return {
    sessions: page.sessions.flatMap(({ key, title, updatedAt }) =>
      // Chats of the networks are written to there. Sessions belong to no folder, so that of the question will do.
      key.startsWith('http:') ? [{ sessionId: key, cwd: cwd ?? process.cwd(), title, updatedAt }] : [],
    ),
    nextCursor: page.sessions.length === LISTED && last !== undefined ? last.updatedAt : null,
  };
}

/** Errors of the gateway as those of the protocol, with the text that says what to do. */
async function answered<Answer>(call: Promise<Answer>): Promise<Answer> {
  try {
    return await call;
  } catch (error) {
    const { code, message } = toGatewayError(error);
    if (code === 'invalid_api_key') throw RequestError.authRequired({ code }, message);
    throw RequestError.internalError({ code, details: message }, message);
  }
}
