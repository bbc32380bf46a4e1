/** One connection to a server, made with the official client: its capabilities, and its end. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
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
import { loginNeeded, renewal } from './oauth/renewal.ts';
import type { McpServerSettings } from './settings.ts';
import { oneLine } from '../lib/text.ts';
import { StdioTransport } from './stdio-transport.ts';
import { PARLEY } from '../protocol/texts/parley.ts';

/** Longest line, in UTF-16 units. */
export const MAX_LINE_CHARS = 500;

/** Maximum number of lines logged per time span; the others are only counted. */
export const MAX_LINES = 50;

export const SPAN_MS = 60_000;

/** Collects lines from pieces of text. */
interface StderrLog {
  write(text: string): void;
  /** The last line that was not empty; '' before the first one. */
  last(): string;
}

interface Answer {
  status: number;
  headers: [string, string][];
  text: string;
}

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
  /** The server reports that its tools or prompts have changed. */
  onChanged(): void;
  /** The server has asked people a question, which was declined. */
  onQuestion(question: string): void;
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
export async function connect(deps: ConnectionDeps, signal: AbortSignal): Promise<Connection> {
  const { connection } = deps.settings;
  if (connection.kind === 'stdio') return await overStdio(deps, connection, signal);
  const url = new URL(connection.url);
  const authProvider = renewal(deps.logins, deps.settings.name, connection.url);
  const options = {
    fetch: repairResults(refreshOnce(deps.service.request)),
    requestInit: { headers: { ...connection.headers } },
    ...(authProvider && { authProvider }),
  };
  try {
    return await open(deps, new StreamableHTTPClientTransport(url, options), signal);
  } catch (error) {
    if (
      error instanceof StreamableHTTPError &&
      error.code === 401 &&
      Object.keys(connection.headers).length === 0
    )
      throw loginNeeded(deps.settings.name);
    if (!(error instanceof StreamableHTTPError) || !NO_STREAMABLE_HTTP.includes(error.code ?? 0))
      throw unavailable(error);
    deps.log.debug({ err: error }, 'mcp_tries_sse');
  }
  try {
    return await open(deps, new SSEClientTransport(url, options), signal);
  } catch (error) {
    throw unavailable(error);
  }
}

async function overStdio(
  deps: ConnectionDeps,
  server: ConstructorParameters<typeof StdioTransport>[0]['server'],
  signal: AbortSignal,
): Promise<Connection> {
  const stderr = createStderrLog(deps.log);
  const { environment, folder } = deps;
  const transport = new StdioTransport({
    server,
    environment,
    folder,
    onStderr: (text) => stderr.write(text),
  });
  const ending = (): string => {
    const last = stderr.last();
    return `The program ended (${transport.ending})${last === '' ? '' : `; its last line: ${last}`}.`;
  };
  try {
    const opened = await open(deps, transport, signal);
    return { ...opened, lost: opened.lost.then((why) => (transport.ending === undefined ? why : ending())) };
  } catch (error) {
    if (transport.ending === undefined) throw unavailable(error);
    throw new GatewayError('unavailable', ending(), { cause: error, retryable: true });
  }
}

/** Introduces the gateway to the server. Throws the client's errors. */
async function open(deps: ConnectionDeps, transport: Transport, signal: AbortSignal): Promise<Connection> {
  const { log, version } = deps;
  const client = new Client({ name: 'parley', version }, { capabilities: {} });
  client.fallbackRequestHandler = async ({ method, params }) => decline(method, params, deps);
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => deps.onChanged());
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => deps.onChanged());
  const { promise: lost, resolve: lose } = Promise.withResolvers<string>();
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
    lost,
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
 * The answer to a request from the server. The gateway offers servers neither its model nor questions to its users; a
 * server that asks nevertheless gets an answer as the protocol defines it, and can continue. Throws `McpError`.
 */
function decline(
  method: string,
  params: unknown,
  { log, onQuestion }: Pick<ConnectionDeps, 'log' | 'onQuestion'>,
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
  if (error instanceof McpError && error.code === CONNECTION_CLOSED) {
    return 'The connection ended before the answer came.';
  }
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : '';
  return `${toGatewayError(error).message}${code}`;
}

/**
 * The same `fetch`, but requests to renew with a refresh token that is in use, or was used last, get the answer of
 * the first request: servers that rotate these tokens treat a second use as theft, and end the sign-in. Later
 * requests do not share a refusal.
 */
export function refreshOnce(request: FetchLike): FetchLike {
  let last: { token: string; answer: Promise<Answer> } | undefined;
  return async (url, init) => {
    const token = refreshTokenOf(init?.body);
    if (token === undefined) return await request(url, init);
    if (last?.token !== token) {
      const begun = { token, answer: readAnswer(request, url, init) };
      last = begun;
      const forget = (): void => {
        if (last === begun) last = undefined;
      };
      begun.answer.then(({ status }) => (status < 400 ? undefined : forget()), forget);
    }
    const { status, headers, text } = await last.answer;
    return new Response(text, { status, headers });
  };
}

async function readAnswer(request: FetchLike, ...asked: Parameters<FetchLike>): Promise<Answer> {
  const response = await request(...asked);
  return { status: response.status, headers: [...response.headers], text: await response.text() };
}

function refreshTokenOf(body: RequestInit['body']): string | undefined {
  if (!(body instanceof URLSearchParams) || body.get('grant_type') !== 'refresh_token') return undefined;
  return body.get('refresh_token') ?? undefined;
}

/** Creates one for a process; `monotonicNow` is a clock in milliseconds. */
export function createStderrLog(log: Log, monotonicNow = (): number => performance.now()): StderrLog {
  let open = '';
  let last = '';
  let spanStart = monotonicNow();
  let lines = 0;
  const say = (line: string): void => {
    if (line === '') return;
    last = line;
    if (monotonicNow() - spanStart >= SPAN_MS) {
      if (lines > MAX_LINES) log.info({ lines: lines - MAX_LINES }, 'mcp_stderr_left_out');
      spanStart = monotonicNow();
      lines = 0;
    }
    lines += 1;
    if (lines <= MAX_LINES) log.info({ line }, 'mcp_stderr');
  };
  return {
    write(text) {
      const pieces = (open + text).split('\n');
      open = (pieces.pop() ?? '').slice(0, MAX_LINE_CHARS);
      for (const piece of pieces) say(oneLine(piece.slice(0, MAX_LINE_CHARS)).trim());
    },
    last: () => oneLine(open).trim() || last,
  };
}
