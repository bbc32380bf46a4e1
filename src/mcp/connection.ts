/** One connection to a server, made with the official client: its capabilities, and its end. */
import {
  Client,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type PriorDiscovery,
  type ProgressCallback,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { GatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { ServiceFetch } from '../protocol/agent/tool.ts';
import { type Clock, pauseOn } from '../lib/clock.ts';
import { repairResults } from './broken-answer.ts';
import { knowsNoProbe, lossOf, unavailable } from './failures.ts';
import type { Logins } from './oauth/logins.ts';
import { confined } from './oauth/origins.ts';
import { loginNeeded, refreshOnce, renewal } from './oauth/renewal.ts';
import { declineRequest, withoutInput } from './questions.ts';
import type { McpServerSettings } from './settings.ts';
import { StdioTransport } from './stdio-transport.ts';

/** Longest wait for a server to introduce itself, in milliseconds; npx may have to download it first. */
const INTRODUCTION_MS = 120_000;
/** Longest wait for the answer to the question which protocol a server speaks, in milliseconds: old ones may ignore it. */
export const PROBE_MS = 10_000;
/** HTTP statuses of a server that does not know the current transport: it may know the older one. */
const NO_STREAMABLE_HTTP = [400, 404, 405, 406, 415, 501];
/** Longest wait for an answer; the caller's signal ends a call long before that. */
const NEVER_MS = 2 ** 31 - 1;
/** The client's error for a stream that it has abandoned. */
const STREAM_GIVEN_UP = /Maximum reconnection attempts/;
/** Pause before the reports of changes are requested again after their stream has ended, in milliseconds. */
const LISTEN_PAUSE_MS = 5_000;
/** The error for a stream that has ended too early, of those that JSON-RPC 2.0 leaves to implementations (section 5.1). */
const STREAM_ENDED = -32_097;
const ENDED_TEXT = 'The connection ended before the answer came. Whether it took effect is unknown.';
/** Servers of 2025 and before: nothing is asked before the introduction. */
const OLD: PriorDiscovery = { kind: 'legacy' };

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
  clock: Clock;
}

/** What a server does on its own. */
interface ServerEvents {
  /** Its tools or prompts have changed. */
  onListChanged: () => void;
  /** It has asked people a question, which was declined. */
  onQuestion: (question: string) => void;
}

/** How a request is sent. */
export interface AskOptions {
  /** Cancels it, on the server, too. */
  signal?: AbortSignal | undefined;
  /** In milliseconds. */
  timeout?: number;
  onprogress?: ProgressCallback | undefined;
}

/** An open connection. */
export interface Connection {
  readonly can: { tools: boolean; prompts: boolean; resources: boolean };
  /** Sends a request. Throws anything. */
  request<Result>(
    request: { method: string; params?: Record<string, unknown> },
    schema: z.ZodType<Result>,
    options?: AskOptions,
  ): Promise<Result>;
  /** Throws anything but what a server that is alive answers. */
  ping(signal: AbortSignal): Promise<void>;
  /** Resolves when the connection is lost, with the reason; never rejects. */
  readonly lost: Promise<string>;
  /** Ends it, and a program with it. Never throws. */
  close(): Promise<void>;
}

/**
 * Connects, with the current protocol if the server knows it, else with that of 2025; and over the older HTTP transport if it
 * knows no other. Throws `GatewayError('unavailable')`.
 */
export async function connect(
  deps: ConnectionDeps,
  events: ServerEvents,
  signal: AbortSignal,
): Promise<Connection> {
  const { connection } = deps.settings;
  const attempt = async (prior?: PriorDiscovery): Promise<Connection> =>
    connection.kind === 'stdio'
      ? await startProgram(deps, connection, events, signal, prior)
      : await connectHttp(deps, connection, events, signal, prior);
  try {
    return await attempt();
  } catch (error) {
    if (signal.aborted || !knowsNoProbe(error)) throw unavailable(error);
    deps.log.debug({ err: error }, 'mcp_tries_2025');
  }
  try {
    return await attempt(OLD);
  } catch (error) {
    throw unavailable(error);
  }
}

/** Starts a program and introduces the gateway to it. Throws how the program ended, else the client's errors. */
async function startProgram(
  deps: ConnectionDeps,
  server: Extract<McpServerSettings['connection'], { kind: 'stdio' }>,
  events: ServerEvents,
  signal: AbortSignal,
  prior?: PriorDiscovery,
): Promise<Connection> {
  const transport = new StdioTransport(server, deps.environment, deps.folder, deps.log);
  try {
    const { lost: loss, ...others } = await open(deps, events, transport, signal, prior);
    return { ...others, lost: loss.then((reason) => transport.ending ?? reason) };
  } catch (error) {
    if (transport.ending === undefined || (prior === undefined && knowsNoProbe(error))) throw error;
    throw new GatewayError('unavailable', transport.ending, { cause: error, retryable: true });
  }
}

/** Throws the client's errors, and `GatewayError('login_needed')`. */
async function connectHttp(
  deps: ConnectionDeps,
  { url: address, headers }: Extract<McpServerSettings['connection'], { kind: 'http' }>,
  events: ServerEvents,
  signal: AbortSignal,
  prior?: PriorDiscovery,
): Promise<Connection> {
  const { name } = deps.settings;
  const url = new URL(address);
  const server = { name, url: address, headers };
  const request = confined(deps.service.request, server, () => deps.logins.read(name, address));
  const options = {
    fetch: repairResults(refreshOnce(request)),
    requestInit: { headers: { ...headers } },
    authProvider: renewal(deps.logins, name, address),
  };
  try {
    return await open(deps, events, new HttpTransport(url, options), signal, prior);
  } catch (error) {
    if (!(error instanceof SdkHttpError)) throw error;
    if (error.status === 401 && Object.keys(headers).length === 0) throw loginNeeded(name);
    if (!NO_STREAMABLE_HTTP.includes(error.status)) throw error;
    deps.log.debug({ err: error }, 'mcp_tries_sse');
  }
  return await open(deps, events, new SSEClientTransport(url, options), signal, OLD);
}

/** A request whose stream ends without an answer gets an error at once: the official client waits for its time limit. */
class HttpTransport extends StreamableHTTPClientTransport {
  override async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    if (!isJSONRPCRequest(message)) return await super.send(message, options);
    const { id } = message;
    const onRequestStreamEnd = (): void => {
      options.onRequestStreamEnd?.();
      this.onmessage?.({ jsonrpc: '2.0', id, error: { code: STREAM_ENDED, message: ENDED_TEXT } });
    };
    await super.send(message, { ...options, onRequestStreamEnd });
  }
}

/** Introduces the gateway to the server. Throws the client's errors. */
async function open(
  { log, version, clock }: ConnectionDeps,
  { onListChanged, onQuestion }: ServerEvents,
  transport: Transport,
  signal: AbortSignal,
  prior: PriorDiscovery | undefined,
): Promise<Connection> {
  const client = createClient(version);
  client.fallbackRequestHandler = async ({ method, params }) =>
    declineRequest(method, params, log, onQuestion);
  client.setNotificationHandler('notifications/tools/list_changed', onListChanged);
  client.setNotificationHandler('notifications/prompts/list_changed', onListChanged);
  const { promise: lost, resolve: lose } = Promise.withResolvers<string>();
  Object.assign(client, {
    onclose: () => lose('The server closed the connection.'),
    onerror: (error: Error) => {
      // A stream has ended after its answer, as it should.
      if (error.message.includes(ENDED_TEXT)) return;
      log.debug({ err: error }, 'mcp_connection_error');
      if (STREAM_GIVEN_UP.test(error.message) || error instanceof GatewayError) lose(error.message);
    },
  });
  // The client's first question does not end with the signal.
  const abort = (): void => void transport.close();
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    await client.connect(transport, { timeout: INTRODUCTION_MS, signal, ...(prior && { prior }) });
  } catch (error) {
    await client.close();
    await transport.close();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
  return connectionOf(client, transport, { lost, lose }, { onListChanged, onQuestion }, { log, clock });
}

/** An introduced client as a connection, which follows changes until it is closed. */
function connectionOf(
  client: Client,
  transport: Transport,
  { lost, lose }: { lost: Promise<string>; lose: (reason: string) => void },
  { onListChanged, onQuestion }: ServerEvents,
  { log, clock }: Pick<ConnectionDeps, 'log' | 'clock'>,
): Connection {
  const closing = new AbortController();
  // A server of today keeps no session that it could forget.
  const loseBy = (error: unknown): void => {
    const reason = isCurrent(client) && error instanceof SdkHttpError ? undefined : lossOf(error);
    if (reason !== undefined) lose(reason);
  };
  void followChanges(client, onListChanged, loseBy, clock, closing.signal);
  const request: Connection['request'] = async (call, schema, options) => {
    try {
      const send = { timeout: NEVER_MS, ...options };
      return await withoutInput(client, call, schema, send, onQuestion);
    } catch (error) {
      loseBy(error);
      throw error;
    }
  };
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  const method = isCurrent(client) ? 'server/discover' : 'ping';
  return {
    can: { tools: tools !== undefined, prompts: prompts !== undefined, resources: resources !== undefined },
    request,
    ping: async (signal) => void (await request({ method }, z.looseObject({}), { signal })),
    lost,
    async close() {
      closing.abort();
      if (transport instanceof StreamableHTTPClientTransport) {
        await transport
          .terminateSession()
          .catch((error: unknown) => log.debug({ err: error }, 'mcp_session_left'));
      }
      await client.close().catch((error: unknown) => log.warn({ err: error }, 'mcp_close_failed'));
    },
  };
}

function createClient(version: string): Client {
  return new Client(
    { name: 'parley', version },
    {
      capabilities: {},
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_MS } },
      // A server's schemas never reach the client's own validator, which follows them whatever they cost.
      jsonSchemaValidator: {
        getValidator() {
          throw new TypeError('schemas of servers are checked by the gateway itself');
        },
      },
    },
  );
}

/** True for protocol 2026-07-28 and later. */
function isCurrent(client: Client): boolean {
  return client.getProtocolEra() === 'modern';
}

/** Asks a server of the current protocol for reports of changes, and again when they end; older ones send them unasked. Never rejects. */
async function followChanges(
  client: Client,
  onListChanged: () => void,
  onError: (error: unknown) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { tools, prompts } = client.getServerCapabilities() ?? {};
  const filter = {
    ...(tools?.listChanged === true && { toolsListChanged: true }),
    ...(prompts?.listChanged === true && { promptsListChanged: true }),
  };
  if (!isCurrent(client) || Object.keys(filter).length === 0) return;
  while (!signal.aborted) {
    try {
      const subscription = await client.listen(filter, { signal });
      await subscription.closed;
      // What has changed in the meantime is not reported later.
      if (!signal.aborted) onListChanged();
    } catch (error) {
      onError(error);
    }
    await pauseOn(clock, LISTEN_PAUSE_MS, signal);
  }
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
      await connection.ping(AbortSignal.any([signal, late.signal]));
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
