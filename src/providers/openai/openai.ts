/** Any OpenAI-compatible server as a provider (llama-server, vLLM, LM Studio, …): chats over its HTTP API, models through the `openai` package. */
import { ConfigError, ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { LLMProvider, ModelCapabilities } from '../../protocol/agent/provider.ts';
import { type ChatServer, createCapabilities, createChat } from '../chat.ts';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import { type CallRules, type Connections, createConnections } from '../http/connections.ts';
import { createDiscovery, DISCOVERY_TIMEOUT_MS, UNKNOWN_WINDOW } from '../discovery.ts';
import { createEmbed } from '../embed.ts';
import { lostConnection } from '../errors.ts';
import { DEFAULT_CONCURRENCY, type ServerOptions } from '../kind.ts';
import { createLearnedModels } from '../learned.ts';
import { createDocumentCollector, createLineSplitter } from '../answers/text-splitters.ts';
import type { EchoTarget } from './echo.ts';
import { failedMidway, openaiAt, type OpenaiPlace, refusedBy, unknownModel } from './errors.ts';
import { createEventReader, createWholeReader, type ReaderOptions } from './events.ts';
import { parseJson } from '../../lib/json/json.ts';
import { readWhole } from '../answers/read-answer.ts';
import { notJson } from '../http/client-call.ts';
import { requestWithin } from '../http/request.ts';
import { z } from 'zod';
import {
  EXTRA_FIELDS,
  findModel,
  type ListedModel,
  OPTION_FIELDS,
  readEmbeddings,
  readModels,
  toWire,
} from './wire.ts';

/** How long each question may take, in milliseconds: the window is worth little delay, and refusals tell it, too. */
const NATIVE_WITHIN_MS = 2_000;

/** Where these questions go: beside the API, not below it. */
interface NativeServer {
  at: OpenaiPlace;
  /** Connections to the address without its `/v1`. */
  root: Connections;
  rules: (where: OpenaiPlace, signal: AbortSignal) => CallRules;
}

/** A window in tokens; `guessed` = the model is not loaded, and may be loaded with a smaller one. */
interface NativeWindow {
  window: number;
  guessed: boolean;
}

const tokens = z.int().positive();

const nativeList = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      loaded_context_length: tokens.optional().catch(undefined),
      max_context_length: tokens.optional().catch(undefined),
    }),
  ),
});

const serverProps = z.object({ default_generation_settings: z.object({ n_ctx: tokens }) });

interface ModelServer {
  /** By which people choose its models: `<name>/<model>`. */
  name: string;
  at: OpenaiPlace;
  connections: Connections;
  /** Connections to the address without its `/v1`. */
  root: Connections;
  rules: (where: OpenaiPlace, signal: AbortSignal) => CallRules;
  /** Time limit of the list, in milliseconds. */
  answerWithinMs: number;
  /** Whether its models are sent pictures. */
  vision: boolean;
}

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

/** Lists its models (`GET /models`). Throws `ProviderError`. */
async function listModels(
  { at, connections, rules, answerWithinMs }: ModelServer,
  signal: AbortSignal | undefined,
  model?: string,
): Promise<ListedModel[]> {
  const where = { ...at, model };
  return await requestWithin(where, answerWithinMs, signal, async (until) => {
    const answer = await connections.send({ method: 'GET', path: '/models' }, rules(where, until));
    const list = parseJson(await readWhole(answer));
    if (list === undefined) throw notJson();
    return readModels(list);
  });
}

/**
 * What a model can do. Servers of one model serve it under any name, so the name is checked here; a server that lists nothing
 * is asked anyway. Throws `ProviderError`.
 */
async function discover(server: ModelServer, model: string): Promise<ModelCapabilities> {
  const models = await listModels(server, undefined, model);
  const found = findModel(models, model);
  if (found === undefined && models.length > 0) {
    const ids = models.map(({ id }) => `${server.name}/${id}`);
    throw unknownModel({ ...server.at, model }, ids);
  }
  const listed = found?.window;
  const native = listed === undefined ? await nativeWindow(server, found?.id ?? model) : undefined;
  return {
    contextWindow: listed ?? native?.window ?? UNKNOWN_WINDOW,
    ...(listed === undefined && native?.guessed !== false && { windowGuessed: true }),
    tools: true,
    thinking: found?.thinking ?? false,
    vision: server.vision,
  };
}

/**
 * Asks as LM Studio (`/api/v0/models`) and llama-server (`/props`) answer; undefined when the server does neither, or
 * not in time. Never throws.
 */
async function nativeWindow(server: NativeServer, model: string): Promise<NativeWindow | undefined> {
  const [listed, props] = await Promise.all([ask(server, '/api/v0/models'), ask(server, '/props')]);
  return listedWindow(listed, model) ?? propsWindow(props);
}

async function ask({ at, root, rules }: NativeServer, path: string): Promise<unknown> {
  try {
    return await requestWithin(at, NATIVE_WITHIN_MS, undefined, async (until) => {
      const answer = await root.send({ method: 'GET', path }, rules(at, until));
      return parseJson(await readWhole(answer));
    });
  } catch (error) {
    // Most servers do not know these paths: then the window stays unknown, as before.
    if (error instanceof ProviderError) return undefined;
    throw error;
  }
}

/** LM Studio's REST API v0 (lmstudio-ai/docs, 1_developer/2_rest/endpoints.mdx). */
function listedWindow(listed: unknown, model: string): NativeWindow | undefined {
  const read = nativeList.safeParse(listed);
  const entry = read.success ? read.data.data.find(({ id }) => id === model) : undefined;
  if (entry?.loaded_context_length !== undefined)
    return { window: entry.loaded_context_length, guessed: false };
  if (entry?.max_context_length === undefined) return undefined;
  return { window: Math.min(entry.max_context_length, UNKNOWN_WINDOW), guessed: true };
}

/** The window of one slot of llama-server (ggml-org/llama.cpp, tools/server/README.md, GET /props). */
function propsWindow(props: unknown): NativeWindow | undefined {
  const read = serverProps.safeParse(props);
  return read.success ? { window: read.data.default_generation_settings.n_ctx, guessed: false } : undefined;
}
