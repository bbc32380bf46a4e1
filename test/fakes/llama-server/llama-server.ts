/** A llama-server over a real socket, as strict as the real one; the test scripts its answers and reads its calls. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { sendLlamaReply, sendJson, sendLlamaError } from './send-reply.ts';
import { type LlamaAnswer, toLlamaReply } from './reply.ts';
import { type LlamaBody, promptTokens, readLlamaBody } from './request.ts';
import { lastUserText } from '../model/spoken-text.ts';
import { type CallScript, createCallScript, FAKE_TITLE, type FakeControls } from '../ollama/call-script.ts';
import { createRequestSlots, type RequestSlots } from '../ollama/request-slots.ts';
import { createPrefixCache } from '../model/prefix-cache.ts';
import { readText } from '../read-text.ts';
import { readVectors } from '../model/vectors.ts';

export interface FakeLlamaOptions {
  /** What GET /v1/models lists; default one model, `fake`, as llama-server does. Others serve several. */
  models?: readonly Record<string, unknown>[];
  /** Tokens a slot holds. */
  window?: number;
  /** `--parallel`: slots; more requests wait without headers and are never refused. */
  slots?: number;
  /** `--api-key`. */
  apiKey?: string;
  /** The model is still loading. */
  loading?: boolean;
  /** Where it listens; default a free port. */
  port?: number;
  /** False: an older version, whose list has only `n_ctx_train`; GET /props still names the window. */
  listsWindow?: false;
  /** Behaves like LM Studio: its list names no window, and it words a prompt that is too long in its own way. */
  lmStudio?: LmStudioOptions;
}

export interface LmStudioOptions {
  /**
   * What GET /api/v0/models adds to the model (lmstudio-ai/docs, 1_developer/2_rest/endpoints.mdx); undefined: an older
   * version, without that list.
   */
  reports?: { state: 'loaded' | 'not-loaded'; max_context_length: number; loaded_context_length?: number };
  /**
   * `n_ctx`: lmstudio-ai/lmstudio-bug-tracker issue 2256; `only`: issue 546; `bare` names no number
   * (NousResearch/hermes-agent issue 348).
   */
  overflow: 'n_ctx' | 'only' | 'bare';
}

export interface FakeLlama extends FakeControls<LlamaBody, LlamaAnswer> {
  /** `http://127.0.0.1:port/v1`, for OPENAI_BASE_URL. */
  readonly url: string;
  /** Slots that are currently working. */
  readonly active: number;
  /** Every request's method and path, refused ones included. */
  readonly requests: readonly string[];
  /** The headers of every request. */
  readonly headers: readonly IncomingMessage['headers'][];
  /** Connections accepted since the start. */
  readonly connections: number;
  /** Changes at runtime; the models, and whether it is loading. */
  change(options: Pick<FakeLlamaOptions, 'models' | 'loading'>): void;
  close(): Promise<void>;
}

interface FakeServer {
  options: FakeLlamaOptions;
  window: number;
  script: CallScript<LlamaBody, LlamaAnswer>;
  slots: RequestSlots;
  /** Of the only slot; undefined with several. */
  prefill: ((body: LlamaBody) => number) | undefined;
}

/** Starts a fake llama-server on loopback. */
export async function startFakeLlama(given: FakeLlamaOptions = {}): Promise<FakeLlama> {
  const options = { ...given };
  const script = createCallScript<LlamaBody, LlamaAnswer>(
    { fallback: (body) => `echo: ${lastUserText(body)}`, title: FAKE_TITLE },
    lastUserText,
  );
  const slots = createRequestSlots(options.slots ?? Infinity, Infinity);
  const prefill = options.slots === 1 ? createPrefixCache() : undefined;
  const fake: FakeServer = { options, window: options.window ?? 8_192, script, slots, prefill };
  const requests: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    headers.push(request.headers);
    route(request, response, fake).catch((error: unknown) => {
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
    titleCalls: script.titleCalls,
    nextCall: () => script.nextCall(),
    requests,
    headers,
    get active() {
      return slots.active;
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

async function route(request: IncomingMessage, response: ServerResponse, fake: FakeServer): Promise<void> {
  const { apiKey, loading } = fake.options;
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
      return chat(text, response, fake);
    case 'POST /v1/embeddings':
      return embed(text, response);
    case 'GET /v1/models':
      return sendJson(response, 200, { object: 'list', data: modelsOf(fake) });
    case 'GET /props':
      if (fake.options.models !== undefined || fake.options.lmStudio !== undefined) break;
      // ggml-org/llama.cpp, tools/server/README.md, GET /props.
      return sendJson(response, 200, {
        default_generation_settings: { n_ctx: fake.window },
        total_slots: fake.options.slots ?? 1,
      });
    case 'GET /api/v0/models':
      if (fake.options.lmStudio?.reports === undefined) break;
      return sendJson(response, 200, {
        object: 'list',
        data: [{ id: 'fake', object: 'model', type: 'llm', ...fake.options.lmStudio.reports }],
      });
  }
  return sendLlamaError(response, { code: 404, message: 'File Not Found', type: 'not_found_error' });
}

/** The real server's entry: the window of a slot, and the length the model was trained for. */
function modelsOf({ options, window }: FakeServer): readonly object[] {
  if (options.lmStudio !== undefined)
    return [{ id: 'fake', object: 'model', owned_by: 'organization_owner' }];
  const listed = options.listsWindow === false ? {} : { n_ctx: window };
  const meta = { vocab_type: 2, n_vocab: 32_000, ...listed, n_ctx_train: 131_072, n_embd: 64 };
  return options.models ?? [{ id: 'fake', object: 'model', created: 1, owned_by: 'llamacpp', meta }];
}

function embed(text: string, response: ServerResponse): void {
  const made = readVectors(text);
  if ('error' in made) {
    return sendLlamaError(response, { code: 400, message: made.error, type: 'invalid_request_error' });
  }
  // In no order: the index identifies the text.
  const data = made.vectors
    .map((embedding, index) => ({ object: 'embedding', index, embedding }))
    .toReversed();
  const usage = { prompt_tokens: made.tokens, total_tokens: made.tokens };
  sendJson(response, 200, { object: 'list', model: 'fake', data, usage });
}

/** An unknown model name is served like any other. */
async function chat(text: string, response: ServerResponse, fake: FakeServer): Promise<void> {
  const read = readLlamaBody(text);
  if ('error' in read) return sendLlamaError(response, read.error);
  const { body } = read;
  const call = fake.script.record(body, response);
  if (!(await fake.slots.acquire(response))) return;
  const tokens = promptTokens(body);
  const { lmStudio } = fake.options;
  if (tokens > fake.window && lmStudio !== undefined)
    return sendJson(response, 400, { error: lmStudioOverflow(lmStudio.overflow, tokens, fake.window) });
  if (tokens > fake.window) {
    return sendLlamaError(response, {
      code: 400,
      message: `request (${tokens} tokens) exceeds the available context size (${fake.window} tokens), try increasing it`,
      type: 'exceed_context_size_error',
      n_prompt_tokens: tokens,
      n_ctx: fake.window,
    });
  }
  call.prefilled = fake.prefill?.(body);
  await sendLlamaReply(toLlamaReply(fake.script.choose(body), body), response, call);
}

function lmStudioOverflow(words: LmStudioOptions['overflow'], tokens: number, window: number): string {
  switch (words) {
    case 'n_ctx':
      return `The number of tokens to keep from the initial prompt is greater than the context length (n_keep: ${tokens}>= n_ctx: ${window}). Try to load the model with a larger context length, or provide a shorter input.`;
    case 'only':
      return `Trying to keep the first ${tokens} tokens when context the overflows. However, the model is loaded with context length of only ${window} tokens, which is not enough.`;
    case 'bare':
      return 'Context size has been exceeded.';
    default:
      return words satisfies never;
  }
}
