/** Any OpenAI-compatible server as a provider (llama-server, vLLM, LM Studio, …), through the `openai` package. */
import type OpenAI from 'openai';
import { ConfigError } from '../../contracts/errors.ts';
import type { ChatChunk, ChatRequest, LLMProvider, ModelCapabilities } from '../../contracts/provider.ts';
import { createDiscovery, DISCOVERY_TIMEOUT_MS, UNKNOWN_WINDOW } from '../discovery.ts';
import type { BodyFilter } from '../exchange.ts';
import { lostConnection, toProviderError } from '../errors.ts';
import { createDocumentFilter } from '../line-filter.ts';
import { createEventFilter } from './events.ts';
import { failedMidway, openaiAt, refusedBy, unknownModel } from './errors.ts';
import type { OpenaiPlace } from './errors.ts';
import { createAnswerReader, eventOfWhole, findModel, readModels, toWire } from './wire.ts';
import type { ListedModel } from './wire.ts';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import { DEFAULT_CONCURRENCY } from '../kind.ts';
import type { ServerOptions } from '../kind.ts';
import { requestWithin } from '../request.ts';
import { createTransport } from '../transport.ts';
import type { OpenCall } from '../transport.ts';

/** `baseUrl` is where the API begins, usually ending in `/v1`. */
export interface OpenaiOptions extends ServerOptions {
  /** False: the server cannot stream, and each answer comes whole, in one chunk of each kind (B-40). Default true. */
  stream?: boolean;
}

/** The client has a limit of its own on silence: as long as a timer can be, for the turn has the real ones. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** Makes the provider; nothing is connected before the first call. Throws `ConfigError` when `baseUrl` is no address. */
export function createOpenai(options: OpenaiOptions): LLMProvider {
  const { apiKey } = options;
  const timeoutMs = options.answerWithinMs ?? DISCOVERY_TIMEOUT_MS;
  const url = readBaseUrl(options);
  const at = openaiAt(url, options);
  const transport = createTransport();
  const limit = options.concurrency ?? DEFAULT_CONCURRENCY;
  const enter = createConcurrencyLimit(limit, 'the model server', `providers.${options.name}.concurrency`);
  /** What a server says may hold the key it was sent. */
  const hide = (said: string): string => (apiKey === undefined ? said : said.replaceAll(apiKey, '…'));

  const open = async (
    where: OpenaiPlace,
    signal: AbortSignal,
    filter: BodyFilter,
  ): Promise<{ client: OpenAI; call: OpenCall }> => {
    const call = transport.open({
      signal,
      filter,
      refused: (status, text) => refusedBy(where, status, hide(text)),
      lost: (error, answered) => lostConnection(where, error, answered),
    });
    return { call, client: await makeClient({ baseURL: url, apiKey, fetch: call.fetch }) };
  };

  const list = async (signal: AbortSignal | undefined, where: OpenaiPlace): Promise<ListedModel[]> => {
    return await requestWithin(where, timeoutMs, signal, async (until) => {
      const { client, call } = await open(where, until, createDocumentFilter());
      try {
        return readModels(await client.get('/models'));
      } finally {
        call.end();
      }
    });
  };

  /** Servers of one model serve it under any name, so the name is checked here; a server that lists nothing is taken at its word. */
  const discover = async (model: string): Promise<ModelCapabilities> => {
    const models = await list(undefined, { ...at, model });
    const found = findModel(models, model);
    if (found === undefined && models.length > 0) {
      const ids = models.map(({ id }) => id);
      throw unknownModel(
        { ...at, model },
        ids.map((id) => `${options.name}/${id}`),
      );
    }
    return {
      contextWindow: found?.window ?? UNKNOWN_WINDOW,
      ...(found?.window === undefined && { windowGuessed: true }),
      tools: true,
      thinking: found?.thinking ?? false,
      vision: false,
    };
  };
  const known = createDiscovery(discover, options.monotonicNow);

  async function* streamChat(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatChunk> {
    const where = { ...at, model: request.model };
    const leave = await enter(request, signal);
    let call: OpenCall | undefined;
    try {
      const wire = toWire(request, await known.capabilities(request.model, signal));
      const filter =
        options.stream === false
          ? createDocumentFilter()
          : createEventFilter((said) => failedMidway(where, hide(said)));
      const opened = await open(where, signal, filter);
      call = opened.call;
      const { completions } = opened.client.chat;
      const answer = createAnswerReader();
      if (options.stream === false) {
        const whole = { ...wire, stream: false as const, stream_options: null };
        yield* answer.read(eventOfWhole(await completions.create(whole)));
      } else for await (const event of await completions.create(wire)) yield* answer.read(event);
      yield* answer.end();
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
    models: async (signal) => (await list(signal, at)).map(({ id }) => id),
    capabilities: known.capabilities,
    streamChat,
    close: () => transport.close(),
  };
}

/** A client of one call. The package is large and read only once a call needs it; keys and accounts its own variables name are left out. */
async function makeClient(given: {
  baseURL: string;
  apiKey: string | undefined;
  fetch: typeof fetch;
}): Promise<OpenAI> {
  const { OpenAI: Client } = await import('openai');
  return new Client({
    baseURL: given.baseURL,
    fetch: given.fetch,
    apiKey: given.apiKey ?? 'none',
    ...(given.apiKey === undefined && { defaultHeaders: { authorization: null } }),
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    logLevel: 'off',
  });
}

function readBaseUrl({ baseUrl, addressSetting, keySetting }: ServerOptions): string {
  const parsed = URL.parse(baseUrl);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new ConfigError(
      'bad_openai_base_url',
      `${addressSetting} is not an address: write http://host:port/v1.`,
    );
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new ConfigError(
      'bad_openai_base_url',
      `${addressSetting} must hold no user or password: put the key into ${keySetting}.`,
    );
  }
  return `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(/\/$/, '')}`;
}
