/** One connection to a server, made with the official client: its capabilities, and its end. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  McpError,
  ErrorCode,
  PromptListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { ServiceFetch } from '../protocol/agent/tool.ts';
import type { Logins } from './oauth/logins.ts';
import { BROKEN_ANSWER, repairResults } from './broken-answer.ts';
import { confined } from './oauth/origins.ts';
import { loginNeeded, refreshOnce, renewal } from './oauth/renewal.ts';
import type { McpServerSettings } from './settings.ts';
import { StdioTransport } from './stdio-transport.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { type Clock, pauseOn } from '../lib/clock.ts';

/** Longest wait for a server to introduce itself, in milliseconds; npx may have to download it first. */
const INTRODUCTION_MS = 120_000;
/** HTTP statuses of a server that does not know the current transport: it may know the older one. */
const NO_STREAMABLE_HTTP = [400, 404, 405, 406, 415, 501];
/** The user refused: the answer to a request to use our model. */
const REFUSED = -1;
/** The client's answer on behalf of the server when the connection ends. */
const CONNECTION_CLOSED: number = ErrorCode.ConnectionClosed;
/** Longest wait for an answer; the caller's signal ends a call long before that. */
const NEVER_MS = 2 ** 31 - 1;
/** The client's error for a request that it could not send. */
const CONNECTION_GONE = /^(Not connected|Error POSTing to endpoint)/;
/** The client's error for a stream that it has abandoned. */
const STREAM_GIVEN_UP = /Maximum reconnection attempts/;

const elicitation = z.looseObject({ message: z.string() });

export interface ConnectionDeps {
  settings: McpServerSettings;
  /** The gateway's version. */
  version: string;
  /** The gateway's own variables. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Where a program runs unless it has a `cwd`; it exists. */
  folder: string;
  service: ServiceFetch;
  logins: Logins;
  log: Log;
}

/** What a server does on its own. */
interface ServerEvents {
  /** Its tools or prompts have changed. */
  onListChanged: () => void;
  /** It has asked people a question, which was declined. */
  onQuestion: (question: string) => void;
}

/** An open connection. */
export interface Connection {
  readonly can: { tools: boolean; prompts: boolean; resources: boolean };
  /** Sends a request; cancels it on the server, too, when `signal` aborts. Throws anything. */
  request: Client['request'];
  /** Resolves when the connection is lost, with the reason; never rejects. */
  readonly lost: Promise<string>;
  /** Ends it, and a program with it. Never throws. */
  close(): Promise<void>;
}

/** Connects, over the older HTTP transport if the server does not know the current one. Throws `GatewayError('unavailable')`. */
export async function connect(
  deps: ConnectionDeps,
  events: ServerEvents,
  signal: AbortSignal,
): Promise<Connection> {
  const { connection, name } = deps.settings;
  if (connection.kind === 'stdio') {
    const transport = new StdioTransport(connection, deps.environment, deps.folder, deps.log);
    try {
      const { lost: loss, ...others } = await open(deps, events, transport, signal);
      return { ...others, lost: loss.then((reason) => transport.ending ?? reason) };
    } catch (error) {
      if (transport.ending === undefined) throw unavailable(error);
      throw new GatewayError('unavailable', transport.ending, { cause: error, retryable: true });
    }
  }
  const url = new URL(connection.url);
  const authProvider = renewal(deps.logins, name, connection.url);
  const server = { ...connection, name };
  const request = confined(deps.service.request, server, () => deps.logins.read(name, connection.url));
  const options = {
    fetch: repairResults(refreshOnce(request)),
    requestInit: { headers: { ...connection.headers } },
    authProvider,
  };
  try {
    return await open(deps, events, new StreamableHTTPClientTransport(url, options), signal);
  } catch (error) {
    if (
      error instanceof StreamableHTTPError &&
      error.code === 401 &&
      Object.keys(connection.headers).length === 0
    )
      throw loginNeeded(name);
    if (!(error instanceof StreamableHTTPError) || !NO_STREAMABLE_HTTP.includes(error.code ?? 0))
      throw unavailable(error);
    deps.log.debug({ err: error }, 'mcp_tries_sse');
  }
  try {
    return await open(deps, events, new SSEClientTransport(url, options), signal);
  } catch (error) {
    throw unavailable(error);
  }
}

/** Introduces the gateway to the server. Throws the client's errors. */
async function open(
  { log, version }: ConnectionDeps,
  { onListChanged, onQuestion }: ServerEvents,
  transport: Transport,
  signal: AbortSignal,
): Promise<Connection> {
  const client = new Client({ name: 'parley', version }, { capabilities: {} });
  client.fallbackRequestHandler = async ({ method, params }) => decline(method, params, log, onQuestion);
  client.setNotificationHandler(ToolListChangedNotificationSchema, onListChanged);
  client.setNotificationHandler(PromptListChangedNotificationSchema, onListChanged);
  const { promise: loss, resolve: lose } = Promise.withResolvers<string>();
  Object.assign(client, {
    onclose: () => lose('The server closed the connection.'),
    onerror: (error: Error) => {
      log.debug({ err: error }, 'mcp_connection_error');
      if (STREAM_GIVEN_UP.test(error.message) || error instanceof GatewayError) lose(error.message);
    },
  });
  try {
    await client.connect(transport, { timeout: INTRODUCTION_MS, signal });
  } catch (error) {
    await client.close();
    await transport.close();
    throw error;
  }
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  return {
    can: { tools: tools !== undefined, prompts: prompts !== undefined, resources: resources !== undefined },
    async request(request, schema, options) {
      try {
        return await client.request(request, schema, { timeout: NEVER_MS, ...options });
      } catch (error) {
        const reason = lossOf(error);
        if (reason !== undefined) lose(reason);
        throw error;
      }
    },
    lost: loss,
    async close() {
      if (transport instanceof StreamableHTTPClientTransport) {
        await transport
          .terminateSession()
          .catch((error: unknown) => log.debug({ err: error }, 'mcp_session_left'));
      }
      await client.close().catch((error: unknown) => log.warn({ err: error }, 'mcp_close_failed'));
    },
  };
}

/**
 * The answer to a server's request. Servers get neither our model nor questions to people; one that asks nevertheless
 * gets the protocol's refusal, and can continue. Throws `McpError`.
 */
function decline(
  method: string,
  params: unknown,
  log: Log,
  onQuestion: (question: string) => void,
): { action: 'decline' } {
  log.info({ method }, 'mcp_request_declined');
  if (method === 'elicitation/create') {
    onQuestion(elicitation.safeParse(params).data?.message ?? '');
    return { action: 'decline' };
  }
  if (method === 'sampling/createMessage')
    throw new McpError(REFUSED, 'The user does not allow the use of the model.');
  throw new McpError(ErrorCode.MethodNotFound, `This client does not support ${method.slice(0, 80)}.`);
}

/** Why a failed request means that the connection is lost; undefined if it is not. */
export function lossOf(error: unknown): string | undefined {
  if (error instanceof McpError) return error.code === CONNECTION_CLOSED ? messageOf(error) : undefined;
  // The server has forgotten the session, for example after a restart.
  if (error instanceof StreamableHTTPError)
    return error.code === 404 || error.code === 400 ? messageOf(error) : undefined;
  if (!(error instanceof Error)) return undefined;
  const ofNetwork = error instanceof GatewayError || ('code' in error && typeof error.code === 'string');
  return ofNetwork || CONNECTION_GONE.test(error.message) ? messageOf(error) : undefined;
}

function unavailable(error: unknown): GatewayError {
  return error instanceof GatewayError
    ? error
    : new GatewayError('unavailable', messageOf(error), { cause: error, retryable: true });
}

/** The error message, for operators. */
export function messageOf(error: unknown): string {
  if (error instanceof StreamableHTTPError && (error.code === 401 || error.code === 403)) {
    return `The server refused the credentials (status ${error.code}): check "headers", or remove them and sign in with "${PARLEY} mcp login".`;
  }
  if (error instanceof z.core.$ZodError || (error instanceof McpError && error.code === BROKEN_ANSWER))
    return 'The server sent an answer that does not follow the protocol.';
  if (error instanceof GatewayError) return error.message;
  if (error instanceof McpError && error.code === CONNECTION_CLOSED)
    return 'The connection ended before the answer came.';
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : '';
  return `${toGatewayError(error).message}${code}`;
}

/** Periodically checks whether a server is alive. */
/** How often the server is pinged, and the longest wait for its answer. In milliseconds. */
const PING_EVERY_MS = 60_000;
const PING_MS = 15_000;

/** Resolves with the reason if the server does not answer, or with '' after `signal` aborts. Never rejects. */
export async function pingUntilLost(
  connection: Connection,
  clock: Clock,
  log: Log,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    await pauseOn(clock, PING_EVERY_MS, signal);
    if (signal.aborted) return '';
    const late = new AbortController();
    const cancel = clock.after(PING_MS, () => late.abort());
    try {
      await connection.request({ method: 'ping' }, z.looseObject({}), {
        signal: AbortSignal.any([signal, late.signal]),
      });
    } catch (error) {
      if (late.signal.aborted) return `The server did not answer for ${PING_MS / 1_000} s.`;
      // Any other answer, even a refusal, shows that it is alive; a lost connection is reported separately.
      log.debug({ err: error }, 'mcp_ping_refused');
    } finally {
      cancel();
    }
  }
}

/** Reads complete lists from a server, page by page, within limits. */
/** Maximum number of entries in one list, and of its pages, that are read. */
const MAX_LISTED = 1_000;
const MAX_PAGES = 50;
/** Longest wait for one page, in milliseconds. */
const PAGE_MS = 30_000;

/** The lists that servers have, by the method that requests them. */
const LISTS = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const;

/** Every entry as the server sent it, at most `MAX_LISTED`. Throws the errors of the request. */
export async function listAll(
  connection: Connection,
  method: keyof typeof LISTS,
  signal: AbortSignal,
): Promise<unknown[]> {
  const field = LISTS[method];
  const page = z.looseObject({
    [field]: z.array(z.unknown()).default([]),
    nextCursor: z.string().optional(),
  });
  const items: unknown[] = [];
  let cursor: string | undefined;
  for (let n = 0; n < MAX_PAGES && items.length < MAX_LISTED; n += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await connection.request({ method, params }, page, { signal, timeout: PAGE_MS });
    const entries = answer[field];
    items.push(...(Array.isArray(entries) ? entries : []));
    const next = answer['nextCursor'];
    if (typeof next !== 'string' || next === cursor) break;
    cursor = next;
  }
  return items.slice(0, MAX_LISTED);
}
