/** Ollama as a provider: chats over its HTTP API, one connection per call, closed at once when the call ends; models through its client. */
import type { Ollama } from 'ollama';
import { ConfigError, ProviderError } from '../../contracts/errors.ts';
import type {
  ChatChunk,
  ChatRequest,
  LLMProvider,
  ModelCapabilities,
} from '../../contracts/model/provider.ts';
import { createCapabilities, createChat } from '../chat.ts';
import type { ChatServer } from '../chat.ts';
import { callClient } from '../http/client-call.ts';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import { createConnections } from '../http/connections.ts';
import type { CallRules } from '../http/connections.ts';
import { createDiscovery, DISCOVERY_TIMEOUT_MS, UNKNOWN_WINDOW } from '../discovery.ts';
import { createEmbed } from '../embed.ts';
import { lostConnection } from '../errors.ts';
import type { Where } from '../errors.ts';
import { DEFAULT_CONCURRENCY } from '../kind.ts';
import type { ServerOptions } from '../kind.ts';
import { createLearnedModels } from '../learned.ts';
import { requestWithin } from '../http/request.ts';
import { createLineSplitter } from '../answers/text-splitters.ts';
import { failedMidway, ollamaAt, refusedBy } from './errors.ts';
import { createAnswerReader } from './lines.ts';
import { forceToolCall } from './forced-call.ts';
import { readCapabilities, readEmbeddings, readModels, toWire } from './wire.ts';

/**
 * Makes the provider; nothing is connected before the first call. The address may be a URL or `host:port`; user and
 * password in it become basic authorization. Throws `ConfigError` when it is not an address.
 */
export function createOllama(options: ServerOptions): LLMProvider {
  const answerWithinMs = options.answerWithinMs ?? DISCOVERY_TIMEOUT_MS;
  const { url, headers } = readHost(options);
  const at = ollamaAt(url, options.addressSetting);
  const connections = createConnections(url, headers);
  const acquire = createConcurrencyLimit(
    options.concurrency ?? DEFAULT_CONCURRENCY,
    'Ollama',
    `providers.${options.name}.concurrency`,
  );
  /** The window that was last requested for each model, in tokens. */
  const askedWindow = new Map<string, number>();

  const rulesFor = (where: Where, signal: AbortSignal): CallRules => ({
    signal,
    refused: (refusal) => refusedBy(where, refusal),
    lost: (error, answered) => lostConnection(where, error, answered),
  });

  /** Makes requests other than chats. The client is loaded with the first call, outside its time limit. */
  const ask = async <T>(
    question: (client: Ollama) => Promise<T>,
    { signal, model }: { signal?: AbortSignal; model?: string } = {},
  ): Promise<T> => {
    const where = { ...at, model };
    const { Ollama: Client } = await import('ollama');
    return await requestWithin(where, answerWithinMs, signal, (until) =>
      callClient(connections, rulesFor(where, until), (clientFetch) =>
        question(new Client({ host: url, fetch: clientFetch })),
      ),
    );
  };

  /**
   * What the server says about a model. A server that cannot describe models (imitations of Ollama only chat) is
   * trusted, unless it lists its models and this is not one of them.
   */
  const describe = async (model: string): Promise<ReturnType<typeof readCapabilities>> => {
    try {
      return await ask(async (client) => readCapabilities(await client.show({ model })), { model });
    } catch (error) {
      if (!isMissing(error)) throw error;
      const listed = await ask(async (client) => readModels(await client.list())).catch(
        (unlisted: unknown) => {
          if (isMissing(unlisted)) return undefined;
          throw unlisted;
        },
      );
      if (listed !== undefined && !listed.some(({ name }) => isNamed(name, model))) throw error;
      return { contextWindow: undefined, tools: true, thinking: false, vision: false };
    }
  };

  /**
   * A model's own window and abilities. If the server loaded the model with a smaller window than a call asked for, the
   * loaded window counts: the machine's memory holds no more.
   */
  const discover = async (model: string): Promise<ModelCapabilities> => {
    const shown = await describe(model);
    const own = shown.contextWindow;
    const capabilities = {
      ...shown,
      contextWindow: own ?? UNKNOWN_WINDOW,
      ...(own === undefined && { windowGuessed: true }),
    };
    const asked = askedWindow.get(model);
    if (asked === undefined) return capabilities;
    const running = await ask(async (client) => readModels(await client.ps()));
    const loaded = running.find(({ name }) => isNamed(name, model))?.window ?? asked;
    return loaded < asked ? { ...shown, contextWindow: Math.min(own ?? loaded, loaded) } : capabilities;
  };

  const known = createDiscovery(discover, options.monotonicNow);

  const learned = createLearnedModels(options.monotonicNow);
  const server: ChatServer = {
    at,
    acquire,
    known,
    learned,
    async send({ request, can, signal }) {
      const body = toWire(request, can);
      const sent = connections.send(
        { method: 'POST', path: '/api/chat', body },
        rulesFor({ ...at, model: request.model }, signal),
      );
      askedWindow.set(request.model, request.contextWindow);
      return await sent;
    },
    read: (model, makeCall) => ({
      reader: createAnswerReader({ failed: (error) => failedMidway({ ...at, model }, error), makeCall }),
      splitter: createLineSplitter(),
    }),
  };

  const chat = createChat(server);
  /** The server has no tool choice: a forced call is an answer in the form of its arguments. */
  const streamChat = (request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatChunk> => {
    const forced = forceToolCall(request);
    return forced === undefined ? chat(request, signal) : forced.read(chat(forced.request, signal));
  };

  return {
    name: options.name,
    models: (signal) =>
      ask(async (client) => readModels(await client.list()).map(({ name }) => name), { signal }),
    capabilities: createCapabilities(server),
    streamChat,
    embed: createEmbed({
      at,
      acquire,
      connections,
      rules: rulesFor,
      path: '/api/embed',
      body: { truncate: false },
      read: readEmbeddings,
    }),
    close: () => connections.close(),
  };
}

/** True if the server does not have what was requested: a model, or the whole endpoint. */
function isMissing(error: unknown): boolean {
  return error instanceof ProviderError && /^(unknown_model|bad_response|bad_request)$/.test(error.code);
}

/** People may omit the tag `latest`. */
function isNamed(listed: string, model: string): boolean {
  return listed === model || listed === `${model}:latest`;
}

const DEFAULT_PORT = '11434';

/** Reads the address as Ollama's own tools do; credentials go into a header, so that no message shows them. */
function readHost({ baseUrl, apiKey, addressSetting }: ServerOptions): {
  url: string;
  headers: Record<string, string>;
} {
  const given = baseUrl.trim();
  const spelled = given.startsWith(':') ? `127.0.0.1${given}` : given || '127.0.0.1';
  const explicit = spelled.includes('://');
  let parsed: URL;
  try {
    parsed = new URL(explicit ? spelled : `http://${spelled}`);
  } catch {
    throw new ConfigError(
      'bad_ollama_host',
      `${addressSetting} is not an address: write http://host:port or host:port.`,
    );
  }
  if (parsed.port === '' && !explicit) parsed.port = DEFAULT_PORT;
  // 0.0.0.0 is an address to listen on; clients cannot reach it on every system.
  if (parsed.hostname === '0.0.0.0') parsed.hostname = '127.0.0.1';
  const secret = `${decodeURIComponent(parsed.username)}:${decodeURIComponent(parsed.password)}`;
  const basic = parsed.username === '' ? undefined : `Basic ${Buffer.from(secret).toString('base64')}`;
  const authorization = apiKey === undefined ? basic : `Bearer ${apiKey}`;
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  return { url: `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(/\/$/, '')}`, headers };
}
