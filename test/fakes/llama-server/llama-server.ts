/** A llama-server over a real socket, as strict and as patient as the real one, with a hand for the test. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { playLlama, sendJson, sendLlamaError } from './play.ts';
import { toLlamaReply } from './reply.ts';
import type { LlamaAnswer } from './reply.ts';
import { lastWords, promptTokens, readLlamaBody } from './request.ts';
import type { LlamaBody } from './request.ts';
import { createScript } from '../ollama/hand.ts';
import type { Hand, Script } from '../ollama/hand.ts';
import { createConcurrencyLimit } from '../ollama/places.ts';
import type { Places } from '../ollama/places.ts';
import { readText } from '../read-text.ts';

export interface FakeLlamaOptions {
  /** What GET /v1/models lists; default one model, `fake`, as llama-server does. Others serve several. */
  models?: readonly Record<string, unknown>[];
  /** Tokens a slot holds. */
  window?: number;
  /** `--parallel`: slots; more requests wait without headers and are never refused. */
  slots?: number;
  /** `--api-key`. */
  apiKey?: string;
  /** The model is still being loaded. */
  loading?: boolean;
  /** Where it listens; default a free port. */
  port?: number;
}

export interface FakeLlama extends Hand<LlamaBody, LlamaAnswer> {
  /** `http://127.0.0.1:port/v1`, for OPENAI_BASE_URL. */
  readonly url: string;
  /** Slots that work now. */
  readonly active: number;
  /** Every request's method and path, refused ones included. */
  readonly requests: readonly string[];
  /** The headers of every request. */
  readonly headers: readonly IncomingMessage['headers'][];
  /** Connections accepted since the start. */
  readonly connections: number;
  /** Changes while it runs; the models, and whether it is loading. */
  change(options: Pick<FakeLlamaOptions, 'models' | 'loading'>): void;
  close(): Promise<void>;
}

interface House {
  options: FakeLlamaOptions;
  window: number;
  script: Script<LlamaBody, LlamaAnswer>;
  places: Places;
}

/** Starts a fake llama-server on loopback. */
export async function startFakeLlama(given: FakeLlamaOptions = {}): Promise<FakeLlama> {
  const options = { ...given };
  const script = createScript<LlamaBody, LlamaAnswer>((body) => `echo: ${lastWords(body)}`, lastWords);
  const places = createConcurrencyLimit(options.slots ?? Infinity, Infinity);
  const house: House = { options, window: options.window ?? 8_192, script, places };
  const requests: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    headers.push(request.headers);
    route(request, response, house).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendLlamaError(response, { code: 500, message: String(error), type: 'server_error' });
    });
  });
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => {
    server.listen({ port: options.port ?? 0, host: '127.0.0.1', backlog: 4_096 }, resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    answer: (answer, match) => script.answer(answer, match),
    calls: script.calls,
    nextCall: () => script.nextCall(),
    requests,
    headers,
    get active() {
      return places.active;
    },
    get connections() {
      return connections;
    },
    change: (changed) => void Object.assign(options, changed),
    async close() {
      const ended = new Promise<void>((resolve) => void server.close(() => resolve()));
      server.closeAllConnections();
      await ended;
    },
  };
}

async function route(request: IncomingMessage, response: ServerResponse, house: House): Promise<void> {
  const { apiKey, loading } = house.options;
  const text = await readText(request);
  if (text === undefined) return;
  if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`) {
    return sendLlamaError(response, { code: 401, message: 'Invalid API Key', type: 'authentication_error' });
  }
  if (loading === true) {
    return sendLlamaError(response, { code: 503, message: 'Loading model', type: 'unavailable_error' });
  }
  switch (`${request.method} ${request.url}`) {
    case 'POST /v1/chat/completions':
      return chat(text, response, house);
    case 'GET /v1/models':
      return sendJson(response, 200, { object: 'list', data: modelsOf(house) });
    default:
      return sendLlamaError(response, { code: 404, message: 'File Not Found', type: 'not_found_error' });
  }
}

/** The real server's entry: the window of a slot, and the length the model was trained for. */
function modelsOf({ options, window }: House): readonly object[] {
  const meta = { vocab_type: 2, n_vocab: 32_000, n_ctx: window, n_ctx_train: 131_072, n_embd: 64 };
  return options.models ?? [{ id: 'fake', object: 'model', created: 1, owned_by: 'llamacpp', meta }];
}

/** An unknown model name is served like any other. */
async function chat(text: string, response: ServerResponse, house: House): Promise<void> {
  const read = readLlamaBody(text);
  if ('error' in read) return sendLlamaError(response, read.error);
  const { body } = read;
  const call = house.script.record(body, response);
  if (!(await house.places.take(response))) return;
  const tokens = promptTokens(body);
  if (tokens > house.window) {
    return sendLlamaError(response, {
      code: 400,
      message: `request (${tokens} tokens) exceeds the available context size (${house.window} tokens), try increasing it`,
      type: 'exceed_context_size_error',
      n_prompt_tokens: tokens,
      n_ctx: house.window,
    });
  }
  await playLlama(toLlamaReply(house.script.choose(body), body), response, call);
}
