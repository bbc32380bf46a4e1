/** An Ollama over a real socket, as strict as the real one; the test scripts its answers and failures and reads its calls. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CallScript,
  createCallScript,
  FAKE_TITLE,
  type FakeControls,
  MAX_KEPT_CALLS,
} from './call-script.ts';
import {
  createModelLibrary,
  FAKE_MODELS,
  type FakeModel,
  fitPrompt,
  type ModelLibrary,
  type ModelLoad,
  sendPull,
  unsupported,
} from './models.ts';
import { createRequestSlots, type RequestSlots } from './request-slots.ts';
import { sendReply, sendError } from './send-reply.ts';
import { type Answer, toReply } from './reply.ts';
import { type ChatBody, readChatBody, readModelName } from './request.ts';
import { lastUserText } from '../model/spoken-text.ts';
import { createPrefixCache } from '../model/prefix-cache.ts';
import { readText } from '../read-text.ts';
import { readVectors } from '../model/vectors.ts';

export type { Answer, Failure, FakeToolCall, Reply } from './reply.ts';
export type { ChatBody } from './request.ts';
export type { FakeModel } from './models.ts';
export type { FakeCall } from './call-script.ts';

const BUSY = 'server busy, please try again.  maximum pending requests exceeded';

export interface FakeOllamaOptions {
  port?: number;
  host?: string;
  models?: readonly FakeModel[];
  /** The answer when none is queued; default repeats the last user message. */
  fallback?: Answer;
  /** OLLAMA_NUM_PARALLEL; the real default is 1, the fake's is no limit. */
  parallel?: number;
  /** OLLAMA_MAX_QUEUE: how many may wait for `parallel` before the answer is 503. */
  maxQueue?: number;
  /** The largest window the machine's memory holds. */
  maxWindow?: number;
  /** Replaces the schedule of paced replies. */
  wait?: (ms: number) => Promise<void>;
}

export interface FakeOllama extends FakeControls {
  /** `http://127.0.0.1:port`, for OLLAMA_HOST. */
  readonly url: string;
  /** Streams being answered now, and the maximum at once. */
  readonly active: number;
  readonly activePeak: number;
  /** Every request's method and path, refused ones included. */
  readonly requests: readonly string[];
  /** The `authorization` header of every request; empty if there was none. */
  readonly authorizations: readonly string[];
  /** Times a model was loaded or reloaded. */
  readonly loads: readonly ModelLoad[];
  /** Connections accepted since the start. */
  readonly connections: number;
  /** Replaces the models at runtime. */
  setModels(models: readonly FakeModel[]): void;
  /** Closes connections on which nothing is running. */
  closeIdle(): void;
  /** Ends everything, including open streams. */
  close(): Promise<void>;
}

/** Everything a route needs. */
interface FakeServer {
  library: ModelLibrary;
  script: CallScript;
  slots: RequestSlots;
  /** Of the only slot; undefined with several. The reported count is that of the whole prompt (ollama/ollama, runner). */
  prefill: ((body: ChatBody) => number) | undefined;
  wait: (ms: number) => Promise<void>;
}

/** Starts a fake Ollama; port 0 (default) takes a free one. */
export async function startFakeOllama(options: FakeOllamaOptions = {}): Promise<FakeOllama> {
  const library = createModelLibrary(options.models ?? FAKE_MODELS, options.maxWindow);
  const script = createCallScript<ChatBody, Answer>(
    { fallback: options.fallback ?? ((body) => `echo: ${lastUserText(body)}`), title: FAKE_TITLE },
    lastUserText,
  );
  const slots = createRequestSlots(options.parallel ?? Infinity, options.maxQueue ?? 512);
  // Does not keep the process alive: a paced answer may be longer than the test that requested it.
  const wait = options.wait ?? ((ms: number) => delay(ms, undefined, { ref: false }));
  const prefill = options.parallel === 1 ? createPrefixCache() : undefined;
  const fake = { library, script, slots, prefill, wait };
  const requests: string[] = [];
  const authorizations: string[] = [];
  let connections = 0;

  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    authorizations.push(request.headers.authorization ?? '');
    if (requests.length > MAX_KEPT_CALLS) {
      requests.shift();
      authorizations.shift();
    }
    route(request, response, fake).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, 500, String(error));
    });
  });
  server.on('connection', () => (connections += 1));
  const host = options.host ?? '127.0.0.1';
  const port = await listen(server, options.port ?? 0, host);
  return {
    url: `http://${host}:${port}`,
    answer: (answer, match) => script.answer(answer, match),
    calls: script.calls,
    titleCalls: script.titleCalls,
    nextCall: () => script.nextCall(),
    requests,
    authorizations,
    loads: library.loads,
    get active() {
      return slots.active;
    },
    get activePeak() {
      return slots.peak;
    },
    get connections() {
      return connections;
    },
    setModels: (models) => void (library.models = [...models]),
    closeIdle: () => server.closeIdleConnections(),
    async close() {
      const ended = new Promise<void>((resolve) => void server.close(() => resolve()));
      server.closeAllConnections();
      await ended;
    },
  };
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 4_096 }, resolve);
  });
  const bound = server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : port;
}

async function route(request: IncomingMessage, response: ServerResponse, fake: FakeServer): Promise<void> {
  if (!isLocalHost(request.headers.host ?? '')) return void response.writeHead(403).end();
  const text = await readText(request);
  if (text === undefined) return;
  switch (`${request.method} ${request.url}`) {
    case 'POST /api/chat':
      return chat(text, response, fake);
    case 'POST /api/embed':
      return embed(text, response, fake.library);
    case 'POST /api/show':
      return show(text, response, fake.library);
    case 'POST /api/pull':
      return sendPull(response, fake.library, readModelName(text));
    case 'GET /api/tags':
      return sendJson(response, fake.library.tags());
    case 'GET /api/ps':
      return sendJson(response, fake.library.ps());
    case 'GET /api/version':
      return sendJson(response, { version: '0.33.0' });
    case 'GET /':
    case 'HEAD /':
      return sendText(response, 200, 'Ollama is running');
    default:
      return sendText(response, 404, '404 page not found');
  }
}

/** A request may ask for the model to be unloaded once it is answered, as a number or as a duration. */
function asksToUnload({ keep_alive: keptFor }: ChatBody): boolean {
  return keptFor !== undefined && Number.parseFloat(String(keptFor)) === 0;
}

async function chat(text: string, response: ServerResponse, fake: FakeServer): Promise<void> {
  const read = readChatBody(text);
  if ('error' in read) return sendError(response, 400, read.error);
  const { body } = read;
  const model = fake.library.find(body.model);
  if (model === undefined) return sendError(response, 404, `model '${body.model}' not found`);
  const refusal = unsupported(model, body);
  if (refusal !== undefined) return sendError(response, 400, refusal);
  if (fake.slots.full) return sendError(response, 503, BUSY);
  const call = fake.script.record(body, response);
  if (!(await fake.slots.acquire(response))) return;
  const fit = fitPrompt(body, fake.library.load(model, body));
  if ('error' in fit) return sendError(response, 400, fit.error);
  call.dropped = fit.dropped;
  call.prefilled = fake.prefill?.(body);
  const answer: Answer =
    body.messages.length > 0
      ? fake.script.choose(body)
      : { doneReason: asksToUnload(body) ? 'unload' : 'load' };
  try {
    await sendReply(toReply(answer, body), {
      model: body.model,
      promptTokens: fit.promptTokens,
      response,
      call,
      wait: fake.wait,
    });
  } finally {
    if (asksToUnload(body)) fake.library.unload(model);
  }
}

function embed(text: string, response: ServerResponse, library: ModelLibrary): void {
  const name = readModelName(text);
  if (library.find(name) === undefined) return sendError(response, 404, `model '${name}' not found`);
  const made = readVectors(text);
  if ('error' in made) return sendError(response, 400, made.error);
  sendJson(response, { model: name, embeddings: made.vectors, prompt_eval_count: made.tokens });
}

function show(text: string, response: ServerResponse, library: ModelLibrary): void {
  const name = readModelName(text);
  const model = library.find(name);
  if (model === undefined) return sendError(response, 404, `model '${name}' not found`);
  sendJson(response, library.show(model));
}

function sendJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(text);
}

/** The server's check of the Host header when it listens on loopback: addresses and local names only. */
function isLocalHost(header: string): boolean {
  const name = header.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return name === '' || isIP(name) !== 0 || /^(localhost|.*\.(localhost|local|internal))$/.test(name);
}
