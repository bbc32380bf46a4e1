/** Ollama as a provider: chats over its HTTP API, one connection per call, closed at once when the call ends; models through its client. */
import { ConfigError, ProviderError } from '../../protocol/errors.ts';
import type { LLMProvider } from '../../protocol/agent/provider.ts';
import { type ChatServer, createCapabilities, createChat } from '../chat.ts';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import { type CallRules, createConnections } from '../http/connections.ts';
import { createDiscovery, DISCOVERY_TIMEOUT_MS } from '../discovery.ts';
import { createEmbed } from '../embed.ts';
import { clip, lostConnection, type Where } from '../errors.ts';
import { DEFAULT_CONCURRENCY, type ServerOptions } from '../kind.ts';
import { createLearnedModels } from '../learned.ts';
import { createLineSplitter } from '../answers/text-splitters.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { fieldsOf, wordOf } from '../answers/read-fields.ts';
import { commonRefusal, inWords, midwayRefusal, publicWords, type Refusal, saidIn } from '../refusals.ts';
import { parseJson } from '../../lib/json/json.ts';
import { createAnswerReader } from './lines.ts';
import { forceToolCall } from './forced-call.ts';
import { discover, modelNames } from './models.ts';
import { OPTION_FIELDS, readEmbeddings, toWire } from './wire.ts';

/**
 * Makes the provider; nothing is connected before the first call. The address may be a URL or `host:port`; user and
 * password in it become basic authorization. Throws `ConfigError` when it is not an address.
 */
export function createOllama(options: ServerOptions): LLMProvider {
  const { url, at, connections, rules, acquire, hide } = connect(options);
  /** The window that was last requested for each model, in tokens. */
  const askedWindow = new Map<string, number>();

  const answerWithinMs = options.answerWithinMs ?? DISCOVERY_TIMEOUT_MS;
  const models = { url, at, connections, rules, answerWithinMs };
  const known = createDiscovery(
    (model) => discover(models, model, askedWindow.get(model)),
    options.monotonicNow,
  );

  const learned = createLearnedModels(options.monotonicNow);
  const server: ChatServer = {
    at,
    acquire,
    known,
    learned,
    extras: [],
    options: OPTION_FIELDS,
    body: ({ request, can }) => toWire(request, can),
    async send(body, { model, contextWindow }, signal) {
      const sent = connections.send(
        { method: 'POST', path: '/api/chat', body },
        rules({ ...at, model }, signal),
      );
      askedWindow.set(model, contextWindow);
      return await sent;
    },
    read: (model, reading) => ({
      reader: createAnswerReader({
        ...reading,
        failed: (error) => failedMidway({ ...at, model }, hide(error)),
      }),
      splitter: createLineSplitter(),
    }),
  };

  return {
    name: options.name,
    models: (signal) => modelNames(models, signal),
    capabilities: createCapabilities(server),
    omissions: () => learned.omissions(),
    streamChat: withForcedCalls(createChat(server)),
    embed: createEmbed({
      at,
      acquire,
      connections,
      rules,
      path: '/api/embed',
      body: { truncate: false },
      read: readEmbeddings,
    }),
    close: () => connections.close(),
  };
}

/** The connections to the server, how their failures read, and the limit of its calls. */
function connect(options: ServerOptions) {
  const { url, headers, hide } = readHost(options);
  return {
    url,
    hide,
    at: ollamaAt(url, options.addressSetting),
    connections: createConnections(url, headers, options.loopDelayMs),
    rules: (where: Where, signal: AbortSignal): CallRules => ({
      signal,
      refused: (refusal) => refusedBy(where, { ...refusal, text: hide(refusal.text) }),
      lost: (error, answered) => lostConnection(where, error, answered),
    }),
    acquire: createConcurrencyLimit(
      options.concurrency ?? DEFAULT_CONCURRENCY,
      'Ollama',
      `providers.${options.name}.concurrency`,
    ),
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
  /** Takes the key or the password out of what the server says. */
  hide: (text: string) => string;
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
  const password = decodeURIComponent(parsed.password);
  const secrets = [apiKey ?? '', password].filter((each) => each !== '');
  return {
    url: `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(API_PATH, '')}`,
    headers,
    hide: (text) => secrets.reduce((hidden, each) => hidden.replaceAll(each, '…'), text),
  };
}

/** An Ollama as error messages name it; `host` is without credentials, `setting` holds its address. */
function ollamaAt(host: string, setting: string): Where {
  return { server: 'Ollama', host, setting, start: textRef('provider.start_ollama') };
}

/** The error for an answer that is not 200. */
function refusedBy(where: Where, refusal: Refusal): ProviderError {
  const { status, text } = refusal;
  const { host, setting } = where;
  const serverText = saidIn(text);
  if (status === 404 && where.model !== undefined && serverText !== undefined) return unknownModel(where);
  if (status === 401 || status === 403) return accessRefused(where, refusal, serverText ?? '');
  return (
    commonRefusal(where, refusal, serverText) ??
    new ProviderError('bad_response', textRef('provider.not_ollama', { host, status, setting }))
  );
}

/**
 * The error for a missing key, or an account that its cloud does not serve: it answers 401 with an address to sign in at,
 * or 403 with its reason.
 */
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
  return midwayRefusal(where, error, {
    refusedBy: (refusal) => refusedBy(where, refusal),
    broken: (reason) => textRef('provider.ollama_broke_off', { reason }),
  });
}

/** The error for a model that the server does not list. */
function unknownModel({ host, model }: Where): ProviderError {
  return new ProviderError('unknown_model', textRef('provider.ollama_no_model', { host, model: `${model}` }));
}
