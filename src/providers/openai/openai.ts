/** Any OpenAI-compatible server as a provider (llama-server, vLLM, LM Studio, …): chats over its HTTP API, models through the `openai` package. */
import { ConfigError } from '../../contracts/errors.ts';
import { textRef } from '../../contracts/texts/say.ts';
import type { LLMProvider } from '../../contracts/model/provider.ts';
import { type ChatServer, createCapabilities, createChat } from '../chat.ts';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import { type CallRules, createConnections } from '../http/connections.ts';
import { createDiscovery, DISCOVERY_TIMEOUT_MS } from '../discovery.ts';
import { createEmbed } from '../embed.ts';
import { lostConnection } from '../errors.ts';
import { DEFAULT_CONCURRENCY, type ServerOptions } from '../kind.ts';
import { createLearnedModels } from '../learned.ts';
import { createDocumentCollector, createLineSplitter } from '../answers/text-splitters.ts';
import type { EchoTarget } from './echo.ts';
import { failedMidway, openaiAt, type OpenaiPlace, refusedBy } from './errors.ts';
import { createEventReader, createWholeReader, type ReaderOptions } from './events.ts';
import { discover, listModels } from './models.ts';
import { EXTRA_FIELDS, OPTION_FIELDS, readEmbeddings, toWire } from './wire.ts';

const CHAT_PATH = '/chat/completions';

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
 * Makes the provider; nothing is connected before the first call. Throws `ConfigError` when `baseUrl` is not an
 * address.
 */
export function createOpenai(options: OpenaiOptions): LLMProvider {
  const { at, connections, root, rules, acquire, hide } = connect(options);
  const streams = options.stream ?? true;
  const models = {
    name: options.name,
    at,
    connections,
    root,
    rules,
    answerWithinMs: options.answerWithinMs ?? DISCOVERY_TIMEOUT_MS,
    vision: options.vision ?? true,
  };
  const known = createDiscovery((model) => discover(models, model), options.monotonicNow);
  const learned = createLearnedModels(options.monotonicNow);
  const targetOf = (model: string): EchoTarget => {
    return { from: `${options.name}/${model}`, habits: learned.of(model) };
  };

  const server: ChatServer = {
    at,
    acquire,
    known,
    learned,
    usageWaitMs: options.usageWaitMs,
    extras: EXTRA_FIELDS,
    options: OPTION_FIELDS,
    body({ request, can, omitted }) {
      const target = targetOf(request.model);
      target.habits.dropsThoughts ||= can.thinking;
      return toWire(request, can, { stream: streams, omitted, target });
    },
    send: (body, { model }, signal) =>
      connections.send({ method: 'POST', path: CHAT_PATH, body }, rules({ ...at, model }, signal)),
    read: (model, reading) =>
      readersOf(streams, {
        ...reading,
        failed: (text) => failedMidway({ ...at, model }, hide(text)),
        target: targetOf(model),
      }),
  };

  return {
    name: options.name,
    models: async (signal) => (await listModels(models, signal)).map(({ id }) => id),
    capabilities: createCapabilities(server),
    omissions: () => learned.omissions(),
    streamChat: createChat(server),
    embed: createEmbed({
      at,
      acquire,
      connections,
      rules,
      path: '/embeddings',
      body: { encoding_format: 'float' },
      read: readEmbeddings,
    }),
    close: async () => void (await Promise.all([connections.close(), root.close()])),
  };
}

/** What reads an answer that comes event by event, or whole. */
function readersOf(streams: boolean, options: ReaderOptions): ReturnType<ChatServer['read']> {
  return streams
    ? { reader: createEventReader(options), splitter: createLineSplitter() }
    : { reader: createWholeReader(options), splitter: createDocumentCollector() };
}

/** The connections to the server, how their failures read, and the limit of its calls. */
function connect(options: OpenaiOptions) {
  const { apiKey } = options;
  const url = readBaseUrl(options);
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  /** What a server says may contain the key it was sent. */
  const hide = (said: string): string => (apiKey === undefined ? said : said.replaceAll(apiKey, '…'));
  return {
    url,
    hide,
    at: openaiAt(url, options),
    connections: createConnections(url, headers, options.loopDelayMs),
    root: createConnections(url.replace(/\/v1$/, ''), headers),
    rules: (where: OpenaiPlace, signal: AbortSignal): CallRules => ({
      signal,
      refused: (refusal) => refusedBy(where, { ...refusal, text: hide(refusal.text) }),
      lost: (error, answered) => lostConnection(where, error, answered),
    }),
    acquire: createConcurrencyLimit(
      options.concurrency ?? DEFAULT_CONCURRENCY,
      textRef('provider.the_server'),
      `providers.${options.name}.concurrency`,
    ),
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
