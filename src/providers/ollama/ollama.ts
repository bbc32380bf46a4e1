/** Ollama as a provider: its own client, one per call, on connections that wait without limit and close at once when told. */
import { Ollama } from 'ollama';
import { ConfigError } from '../../contracts/errors.ts';
import type { ChatChunk, ChatRequest, LLMProvider, ModelCapabilities } from '../../contracts/provider.ts';
import { createDiscovery, DISCOVERY_TIMEOUT_MS, UNKNOWN_WINDOW } from '../discovery.ts';
import type { BodyFilter } from '../exchange.ts';
import { lostConnection, toProviderError } from '../errors.ts';
import type { Where } from '../errors.ts';
import { createDocumentFilter } from '../line-filter.ts';
import { failedMidway, ollamaAt, refusedBy } from './errors.ts';
import { createOllamaFilter } from './lines.ts';
import { createAnswerReader, readCapabilities, readModels, toWire } from './wire.ts';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import { DEFAULT_CONCURRENCY } from '../kind.ts';
import type { ServerOptions } from '../kind.ts';
import { requestWithin } from '../request.ts';
import { createTransport } from '../transport.ts';
import type { OpenCall } from '../transport.ts';

/**
 * Makes the provider; nothing is connected before the first call. The address may be a URL or `host:port`; user and
 * password in it become basic authorization. Throws `ConfigError` when it is no address.
 */
export function createOllama(options: ServerOptions): LLMProvider {
  const timeoutMs = options.answerWithinMs ?? DISCOVERY_TIMEOUT_MS;
  const { url, headers } = readHost(options);
  const at = ollamaAt(url, options.addressSetting);
  const transport = createTransport();
  const enter = createConcurrencyLimit(
    options.concurrency ?? DEFAULT_CONCURRENCY,
    'Ollama',
    `providers.${options.name}.concurrency`,
  );
  /** The window each model was last asked to hold. */
  const askedWindow = new Map<string, number>();

  const open = (
    where: Where,
    signal: AbortSignal,
    filter: BodyFilter,
  ): { client: Ollama; call: OpenCall } => {
    const call = transport.open({
      signal,
      filter,
      refused: (status, text) => refusedBy(where, status, text),
      lost: (error, answered) => lostConnection(where, error, answered),
    });
    return { call, client: new Ollama({ host: url, headers, fetch: call.fetch }) };
  };

  /** One question that is not a chat. */
  const ask = async <T>(
    signal: AbortSignal | undefined,
    model: string | undefined,
    question: (client: Ollama) => Promise<T>,
  ): Promise<T> => {
    const where = { ...at, model };
    return await requestWithin(where, timeoutMs, signal, async (until) => {
      const { client, call } = open(where, until, createDocumentFilter());
      try {
        return await question(client);
      } finally {
        call.end();
      }
    });
  };

  /**
   * A model's own window and abilities. Once a call asked for more than the server then loaded the model with, the loaded
   * window is the real one: the machine's memory holds no more.
   */
  const discover = async (model: string): Promise<ModelCapabilities> => {
    const shown = await ask(undefined, model, async (client) =>
      readCapabilities(await client.show({ model })),
    );
    const own = shown.contextWindow;
    const told = {
      ...shown,
      contextWindow: own ?? UNKNOWN_WINDOW,
      ...(own === undefined && { windowGuessed: true }),
    };
    const asked = askedWindow.get(model);
    if (asked === undefined) return told;
    const running = await ask(undefined, undefined, async (client) => readModels(await client.ps()));
    const loaded = running.find(({ name }) => name === model || name === `${model}:latest`)?.window ?? asked;
    return loaded < asked ? { ...shown, contextWindow: Math.min(own ?? loaded, loaded) } : told;
  };

  const known = createDiscovery(discover, options.monotonicNow);

  async function* streamChat(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatChunk> {
    const where = { ...at, model: request.model };
    const leave = await enter(request, signal);
    let call: OpenCall | undefined;
    try {
      const wire = toWire(request, await known.capabilities(request.model, signal));
      const opened = open(
        where,
        signal,
        createOllamaFilter((error) => failedMidway(where, error)),
      );
      call = opened.call;
      askedWindow.set(request.model, request.contextWindow);
      const read = createAnswerReader();
      for await (const line of await opened.client.chat(wire)) {
        for (const chunk of read(line)) yield chunk;
      }
    } catch (error) {
      const failure = toProviderError(where, error);
      // The window was not what it seemed: whoever asks next finds out anew (B-11).
      if (failure.code === 'context_overflow') known.forget(request.model);
      throw failure;
    } finally {
      call?.end();
      leave();
    }
  }

  return {
    name: options.name,
    models: (signal) =>
      ask(signal, undefined, async (client) => readModels(await client.list()).map((model) => model.name)),
    capabilities: known.capabilities,
    streamChat,
    close: () => transport.close(),
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
  // 0.0.0.0 is where a server listens, not where one can be reached everywhere.
  if (parsed.hostname === '0.0.0.0') parsed.hostname = '127.0.0.1';
  const secret = `${decodeURIComponent(parsed.username)}:${decodeURIComponent(parsed.password)}`;
  const basic = parsed.username === '' ? undefined : `Basic ${Buffer.from(secret).toString('base64')}`;
  const authorization = apiKey === undefined ? basic : `Bearer ${apiKey}`;
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  return { url: `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(/\/$/, '')}`, headers };
}
