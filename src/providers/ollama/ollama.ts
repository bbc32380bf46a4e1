/** Ollama as a provider: chats over its HTTP API, one connection per call, closed at once when the call ends; models through its client. */
import type { Ollama } from 'ollama';
import { ConfigError } from '../../contracts/errors.ts';
import type { ChatChunk, ChatRequest, LLMProvider, ModelCapabilities } from '../../contracts/provider.ts';
import { callClient } from '../client-call.ts';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import { createConnections } from '../connections.ts';
import type { CallRules } from '../connections.ts';
import { createDiscovery, DISCOVERY_TIMEOUT_MS, UNKNOWN_WINDOW } from '../discovery.ts';
import { lostConnection, toProviderError } from '../errors.ts';
import type { Where } from '../errors.ts';
import { DEFAULT_CONCURRENCY } from '../kind.ts';
import type { ServerOptions } from '../kind.ts';
import { streamAnswer } from '../read-answer.ts';
import { requestWithin } from '../request.ts';
import { createLineSplitter } from '../text-splitters.ts';
import { failedMidway, ollamaAt, refusedBy } from './errors.ts';
import { createAnswerReader } from './lines.ts';
import { readCapabilities, readModels, toWire } from './wire.ts';

/**
 * Makes the provider; nothing is connected before the first call. The address may be a URL or `host:port`; user and
 * password in it become basic authorization. Throws `ConfigError` when it is no address.
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
    refused: (status, text) => refusedBy(where, status, text),
    lost: (error, answered) => lostConnection(where, error, answered),
  });

  /** Asks something else than a chat. The client is loaded with the first call, outside its time limit. */
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
   * A model's own window and abilities. If the server loaded the model with a smaller window than a call asked for, the
   * loaded window counts: the machine's memory holds no more.
   */
  const discover = async (model: string): Promise<ModelCapabilities> => {
    const shown = await ask(async (client) => readCapabilities(await client.show({ model })), { model });
    const own = shown.contextWindow;
    const capabilities = {
      ...shown,
      contextWindow: own ?? UNKNOWN_WINDOW,
      ...(own === undefined && { windowGuessed: true }),
    };
    const asked = askedWindow.get(model);
    if (asked === undefined) return capabilities;
    const running = await ask(async (client) => readModels(await client.ps()));
    const loaded = running.find(({ name }) => name === model || name === `${model}:latest`)?.window ?? asked;
    return loaded < asked ? { ...shown, contextWindow: Math.min(own ?? loaded, loaded) } : capabilities;
  };

  const known = createDiscovery(discover, options.monotonicNow);

  const streamChat = (request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatChunk> => {
    const where = { ...at, model: request.model };
    return streamAnswer({
      acquire: () => acquire(request, signal),
      async send() {
        const body = toWire(request, await known.capabilities(request.model, signal));
        const sent = connections.send({ method: 'POST', path: '/api/chat', body }, rulesFor(where, signal));
        askedWindow.set(request.model, request.contextWindow);
        return await sent;
      },
      reader: createAnswerReader((error) => failedMidway(where, error)),
      splitter: createLineSplitter(),
      toError(error) {
        const failure = toProviderError(where, error);
        // The cached window was wrong: the next call asks the server again (B-11).
        if (failure.code === 'context_overflow') known.invalidate(request.model);
        return failure;
      },
    });
  };

  return {
    name: options.name,
    models: (signal) =>
      ask(async (client) => readModels(await client.list()).map(({ name }) => name), { signal }),
    capabilities: known.capabilities,
    streamChat,
    close: () => connections.close(),
  };
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
