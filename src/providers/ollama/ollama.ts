/** Ollama as a provider: chats, models and vectors over its HTTP API. A call's connection is closed as soon as the call ends. */
import { ConfigError, ProviderError } from '../../protocol/errors.ts';
import type { LLMProvider } from '../../protocol/agent/provider.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { parseJson } from '../../lib/json/json.ts';
import { createLineSplitter } from '../answers/read-answer.ts';
import { fieldsOf, wordOf } from '../answers/read-fields.ts';
import { type ChatServer, createCapabilities, createChat } from '../chat.ts';
import { createDiscovery, createLearnedModels } from '../discovery.ts';
import { clip, type Where } from '../errors.ts';
import type { ServerOptions } from '../kind.ts';
import { commonRefusal, inWords, midwayRefusal, publicWords, type Refusal, saidIn } from '../refusals.ts';
import { createEmbed, openServerCalls } from '../server-calls.ts';
import { forceToolCall } from './forced-call.ts';
import { createAnswerReader } from './lines.ts';
import { discover, modelNames } from './models.ts';
import { OPTION_FIELDS, readEmbeddings, toWire } from './wire.ts';

/**
 * Makes the provider, which connects with its first call. The address is a URL or `host:port`; credentials in it become
 * basic authorization. Throws `ConfigError` when it is no address.
 */
export function createOllama(options: ServerOptions): LLMProvider {
  const { url, headers, secrets } = readHost(options);
  const { addressSetting: setting, keySetting } = options;
  const start = textRef('provider.start_ollama');
  const at: Where = { server: 'Ollama', host: url, setting, keySetting, start };
  const calls = openServerCalls(at, options, headers, secrets, refusedBy);
  /** The window that was last requested for each model, in tokens. */
  const requestedWindow = new Map<string, number>();
  const discovery = createDiscovery(
    (model) => discover(calls, model, requestedWindow.get(model)),
    options.monotonicNow,
  );
  const learnedModels = createLearnedModels(options.monotonicNow);
  const server: ChatServer = {
    at,
    acquire: calls.acquire,
    discovery,
    learned: learnedModels,
    extras: [],
    options: OPTION_FIELDS,
    body: toWire,
    async send(body, { model, contextWindow }, signal) {
      const answer = calls.send({ method: 'POST', path: '/api/chat', body }, signal, model);
      requestedWindow.set(model, contextWindow);
      return await answer;
    },
    read: (model, makeCall, onRecord) => ({
      reader: createAnswerReader(
        makeCall,
        (error) => failedMidway({ ...at, model }, calls.hide(error)),
        onRecord,
      ),
      splitter: createLineSplitter(),
    }),
  };
  return {
    name: options.name,
    models: (signal) => modelNames(calls, signal),
    capabilities: createCapabilities(discovery, learnedModels),
    omissions: () => learnedModels.omissions(),
    streamChat: withForcedCalls(createChat(server)),
    embed: createEmbed(calls, '/api/embed', { truncate: false }, readEmbeddings),
    close: () => calls.close(),
  };
}

/** The server has no tool choice: a forced call is an answer in the form of its arguments. */
function withForcedCalls(chat: LLMProvider['streamChat']): LLMProvider['streamChat'] {
  return (request, signal) => {
    const forced = forceToolCall(request);
    return forced === undefined ? chat(request, signal) : forced.read(chat(forced.request, signal));
  };
}

const DEFAULT_PORT = '11434';
/** Where the server's two APIs begin: other programs want them in the address. */
const API_PATH = /\/?(?:(?:v1|api)\/?)?$/;

/** Reads the address as Ollama's own tools do; credentials go into a header, so that no message shows them. */
function readHost({ baseUrl, apiKey, addressSetting }: ServerOptions): {
  url: string;
  headers: Record<string, string>;
  /** The key and the password, which the server may repeat. */
  secrets: string[];
} {
  const host = baseUrl.trim();
  const address = host.startsWith(':') ? `127.0.0.1${host}` : host || '127.0.0.1';
  const explicit = address.includes('://');
  const parsed = URL.parse(explicit ? address : `http://${address}`);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new ConfigError(
      'bad_ollama_host',
      `${addressSetting} is not an address: write http://host:port or host:port.`,
    );
  }
  if (parsed.port === '' && !explicit) parsed.port = DEFAULT_PORT;
  // 0.0.0.0 is an address to listen on; clients cannot reach it on every system.
  if (parsed.hostname === '0.0.0.0') parsed.hostname = '127.0.0.1';
  const [user, password] = [decodeURIComponent(parsed.username), decodeURIComponent(parsed.password)];
  const basic = user === '' ? undefined : `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const authorization = apiKey === undefined ? basic : `Bearer ${apiKey}`;
  return {
    url: `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(API_PATH, '')}`,
    headers: authorization === undefined ? {} : { authorization },
    secrets: [apiKey ?? '', password],
  };
}

/** The error for an answer that is not 200. */
function refusedBy(where: Where, refusal: Refusal): ProviderError {
  const { status, text } = refusal;
  const { host, setting } = where;
  const serverText = saidIn(text);
  if (status === 404 && where.model !== undefined && serverText !== undefined)
    return new ProviderError(
      'unknown_model',
      textRef('provider.ollama_no_model', { host, model: where.model }),
    );
  if (status === 401 || status === 403) return accessRefused(where, refusal, serverText ?? '');
  return (
    commonRefusal(where, refusal, serverText) ??
    new ProviderError('bad_response', textRef('provider.not_ollama', { host, status, setting }))
  );
}

/** The error of a missing key (401 with an address to sign in at), or an account without service (403). */
function accessRefused(
  { host, setting }: Where,
  { status, text }: Refusal,
  serverText: string,
): ProviderError {
  const url = wordOf(fieldsOf(parseJson(text))?.['signin_url']);
  if (url !== '') {
    const message = textRef('provider.not_signed_in', { host, status, url: clip(url) });
    return new ProviderError('unauthorized', message, { forPeople: textRef('failure.sign_in') });
  }
  const reason = publicWords(serverText);
  const forPeople = inWords(textRef('failure.unauthorized'), serverText);
  const message =
    status === 403 && reason !== undefined
      ? textRef('provider.access_forbidden', { host, status, reason })
      : textRef('provider.access_refused', { host, status, setting, reason: reason ?? `${status}` });
  return new ProviderError('unauthorized', message, { forPeople });
}

/** The error for an `{"error": …}` line after status 200. */
function failedMidway(where: Where, error: string): ProviderError {
  return midwayRefusal(where, error, refusedBy, (reason) => textRef('provider.ollama_broke_off', { reason }));
}
