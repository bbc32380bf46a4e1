/** Any OpenAI-compatible server as a provider (llama-server, vLLM, LM Studio, …): chats, models and vectors over its HTTP API. */
import { ConfigError, ProviderError } from '../../protocol/errors.ts';
import type { LLMProvider } from '../../protocol/agent/provider.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { createDocumentCollector, createLineSplitter } from '../answers/read-answer.ts';
import { type ChatServer, createCapabilities, createChat } from '../chat.ts';
import { createDiscovery, createLearnedModels } from '../discovery.ts';
import type { Where } from '../errors.ts';
import type { ServerOptions } from '../kind.ts';
import { commonRefusal, inWords, midwayRefusal, publicWords, type Refusal, saidIn } from '../refusals.ts';
import { createEmbed, openServerCalls } from '../server-calls.ts';
import type { EchoTarget } from './echo.ts';
import { createEventReader, createWholeReader } from './events.ts';
import { discover, listModels, NATIVE_WITHIN_MS, unknownModel } from './models.ts';
import { EXTRA_FIELDS, OPTION_FIELDS, readEmbeddings, toWire } from './wire.ts';

/** `baseUrl` is where the API begins, usually ending in `/v1`. */
export interface OpenaiOptions extends ServerOptions {
  /** False: the server cannot stream, and each answer arrives whole, in one chunk of each kind (B-40). Default true. */
  stream?: boolean;
  /** False: its models see no pictures. By default they are sent, and left out if the server refuses them. */
  vision?: boolean;
}

/** Makes the provider, which connects with its first call. Throws `ConfigError` when `baseUrl` is no address. */
export function createOpenai(options: OpenaiOptions): LLMProvider {
  const { name, apiKey, addressSetting: setting, keySetting, stream = true, vision = true } = options;
  const server = textRef('provider.some_server');
  const host = readBaseUrl(options);
  const at: Where = { server, host, setting, keySetting, start: textRef('provider.start_server') };
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const calls = openServerCalls(at, options, headers, [apiKey ?? ''], refusedBy);
  const rootAt = { ...at, host: host.replace(/\/v1$/, '') };
  const rootOptions = { ...options, answerWithinMs: NATIVE_WITHIN_MS };
  const root = openServerCalls(rootAt, rootOptions, headers, [apiKey ?? ''], refusedBy);
  const discovery = createDiscovery(
    (model) => discover(name, calls, root, model, vision),
    options.monotonicNow,
  );
  const learnedModels = createLearnedModels(options.monotonicNow);
  const targetOf = (model: string): EchoTarget => ({
    from: `${name}/${model}`,
    habits: learnedModels.of(model),
  });

  const chat: ChatServer = {
    at,
    acquire: calls.acquire,
    discovery,
    learned: learnedModels,
    usageWaitMs: options.usageWaitMs,
    extras: EXTRA_FIELDS,
    options: OPTION_FIELDS,
    body(request, can, omitted) {
      const target = targetOf(request.model);
      target.habits.dropsThoughts ||= can.thinking;
      return toWire(request, can.thinking, stream, omitted, target);
    },
    send: (body, { model }, signal) =>
      calls.send({ method: 'POST', path: '/chat/completions', body }, signal, model),
    read(model, makeCall, onRecord) {
      const toError = (text: string): ProviderError => failedMidway({ ...at, model }, calls.hide(text));
      const target = targetOf(model);
      return stream
        ? { reader: createEventReader(makeCall, toError, target, onRecord), splitter: createLineSplitter() }
        : {
            reader: createWholeReader(makeCall, toError, target, onRecord),
            splitter: createDocumentCollector(),
          };
    },
  };
  return {
    name,
    models: async (signal) => (await listModels(calls, { signal })).map(({ id }) => id),
    capabilities: createCapabilities(discovery, learnedModels),
    omissions: () => learnedModels.omissions(),
    streamChat: createChat(chat),
    embed: createEmbed(calls, '/embeddings', { encoding_format: 'float' }, readEmbeddings),
    close: async () => void (await Promise.all([calls.close(), root.close()])),
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

/** The error for an answer that is not 200. */
function refusedBy(where: Where, refusal: Refusal): ProviderError {
  const { status, text } = refusal;
  const { host, model, setting, keySetting } = where;
  const serverText = saidIn(text);
  if (status === 401 || status === 403) {
    const reason = publicWords(serverText ?? '') ?? `${status}`;
    return new ProviderError(
      'unauthorized',
      textRef('provider.key_refused', { host, status, setting: keySetting, reason }),
      { forPeople: inWords(textRef('failure.unauthorized'), serverText ?? '') },
    );
  }
  if (status === 404 && model !== undefined && serverText !== undefined && /model/i.test(serverText)) {
    return unknownModel(where, []);
  }
  return (
    commonRefusal(where, refusal, serverText) ??
    new ProviderError('bad_response', textRef('provider.not_openai', { host, status, setting }))
  );
}

/** The error that an event reports after status 200. */
function failedMidway(where: Where, data: string): ProviderError {
  const { host } = where;
  return midwayRefusal(where, data, refusedBy, (reason) =>
    textRef('provider.openai_broke_off', { host, reason }),
  );
}
