/** Any OpenAI-compatible server as a provider (llama-server, vLLM, LM Studio, …): chats over its HTTP API, models through the `openai` package. */
import type { ClientOptions } from 'openai';
import { ConfigError } from '../../contracts/errors.ts';
import { said } from '../../contracts/texts/say.ts';
import type { LLMProvider, ModelCapabilities } from '../../contracts/model/provider.ts';
import { createCapabilities, createChat } from '../chat.ts';
import type { ChatServer } from '../chat.ts';
import { callClient } from '../http/client-call.ts';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import { createConnections } from '../http/connections.ts';
import type { CallRules } from '../http/connections.ts';
import { createDiscovery, DISCOVERY_TIMEOUT_MS, UNKNOWN_WINDOW } from '../discovery.ts';
import { createEmbed } from '../embed.ts';
import { lostConnection } from '../errors.ts';
import { DEFAULT_CONCURRENCY } from '../kind.ts';
import type { ServerOptions } from '../kind.ts';
import { createLearnedModels } from '../learned.ts';
import { requestWithin } from '../http/request.ts';
import { createDocumentCollector, createLineSplitter } from '../answers/text-splitters.ts';
import { failedMidway, openaiAt, refusedBy, unknownModel } from './errors.ts';
import type { OpenaiPlace } from './errors.ts';
import { createEventReader, createWholeReader } from './events.ts';
import { findModel, readEmbeddings, readModels, toWire, withRefused } from './wire.ts';
import type { ListedModel } from './wire.ts';

/** `baseUrl` is where the API begins, usually ending in `/v1`. */
export interface OpenaiOptions extends ServerOptions {
  /** False: the server cannot stream, and each answer arrives whole, in one chunk of each kind (B-40). Default true. */
  stream?: boolean;
  /**
   * False: its models see no pictures, and none are sent. Default true: if a server refuses them, they are left out.
   */
  vision?: boolean;
}

/**
 * What the client does not decide: the connections send the key and limit the time, failed calls are not repeated, and
 * the client's own variables (OPENAI_ORG_ID, OPENAI_LOG, …) change nothing.
 */
const CLIENT_OPTIONS: ClientOptions = {
  apiKey: 'sent by the connections',
  adminAPIKey: null,
  organization: null,
  project: null,
  maxRetries: 0,
  timeout: 2 ** 31 - 1,
  logLevel: 'off',
};

/**
 * Makes the provider; nothing is connected before the first call. Throws `ConfigError` when `baseUrl` is not an
 * address.
 */
export function createOpenai(options: OpenaiOptions): LLMProvider {
  const { apiKey } = options;
  const answerWithinMs = options.answerWithinMs ?? DISCOVERY_TIMEOUT_MS;
  const url = readBaseUrl(options);
  const at = openaiAt(url, options);
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const connections = createConnections(url, headers);
  const streams = options.stream ?? true;
  const limit = options.concurrency ?? DEFAULT_CONCURRENCY;
  const acquire = createConcurrencyLimit(
    limit,
    said('provider.the_server'),
    `providers.${options.name}.concurrency`,
  );
  /** What a server says may contain the key it was sent. */
  const hide = (said: string): string => (apiKey === undefined ? said : said.replaceAll(apiKey, '…'));

  const rulesFor = (where: OpenaiPlace, signal: AbortSignal): CallRules => ({
    signal,
    refused: (refusal) => refusedBy(where, { ...refusal, text: hide(refusal.text) }),
    lost: (error, answered) => lostConnection(where, error, answered),
  });

  /** The package is large: it is loaded with the first list, outside the time limit. */
  const list = async (signal: AbortSignal | undefined, where: OpenaiPlace): Promise<ListedModel[]> => {
    const { OpenAI: Client } = await import('openai');
    return await requestWithin(where, answerWithinMs, signal, (until) =>
      callClient(connections, rulesFor(where, until), async (clientFetch) => {
        const client = new Client({ ...CLIENT_OPTIONS, baseURL: url, fetch: clientFetch });
        // The client's page object would show an answer without a list as an empty list.
        const answer = await client.models.list().asResponse();
        return readModels(await answer.json());
      }),
    );
  };

  /** Servers of one model serve it under any name, so the name is checked here; a server that lists nothing is asked anyway. */
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
      vision: options.vision ?? true,
    };
  };
  const known = createDiscovery(discover, options.monotonicNow);

  const server: ChatServer = {
    at,
    acquire,
    known,
    learned: createLearnedModels(options.monotonicNow),
    async send({ request, can, refused, signal }) {
      const body = withRefused(toWire(request, can, streams), refused);
      const sent = { method: 'POST', path: '/chat/completions', body } as const;
      return await connections.send(sent, rulesFor({ ...at, model: request.model }, signal));
    },
    read(model, makeCall) {
      const failed = (said: string) => failedMidway({ ...at, model }, hide(said));
      return streams
        ? { reader: createEventReader({ failed, makeCall }), splitter: createLineSplitter() }
        : { reader: createWholeReader({ failed, makeCall }), splitter: createDocumentCollector() };
    },
  };

  return {
    name: options.name,
    models: async (signal) => (await list(signal, at)).map(({ id }) => id),
    capabilities: createCapabilities(server),
    streamChat: createChat(server),
    embed: createEmbed({
      at,
      acquire,
      connections,
      rules: rulesFor,
      path: '/embeddings',
      body: { encoding_format: 'float' },
      read: readEmbeddings,
    }),
    close: () => connections.close(),
  };
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
