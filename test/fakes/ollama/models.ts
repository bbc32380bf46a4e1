/**
 * The models a fake Ollama has: what /api/show, /api/tags and /api/ps report about them, and what loading and windows
 * do.
 */
import type { ServerResponse } from 'node:http';
import type { ChatBody, ChatBodyMessage } from './request.ts';

export interface FakeModel {
  /** With its tag: `fake:latest`. */
  name: string;
  /** The length it was trained for, in tokens. */
  contextLength: number;
  capabilities: readonly ('completion' | 'tools' | 'thinking' | 'vision' | 'embedding')[];
}

export const FAKE_MODELS: readonly FakeModel[] = [
  { name: 'fake:latest', contextLength: 32_768, capabilities: ['completion', 'tools', 'thinking'] },
  { name: 'plain:latest', contextLength: 8_192, capabilities: ['completion'] },
];

/** A load of a model into memory; a changed `num_ctx` or `shift` causes another, which takes a real server seconds. */
export interface ModelLoad {
  model: string;
  numCtx: number;
  shift: boolean;
}

const SERVER_DEFAULT_WINDOW = 4_096;
const DIGEST = 'sha256:'.padEnd(71, '0');
const ARCHITECTURE = 'fakellama';

export interface ModelLibrary {
  models: FakeModel[];
  loads: ModelLoad[];
  find(name: string): FakeModel | undefined;
  /** Loads the model with the window a request asks for, clamped as the server does; returns the window in force. */
  load(model: FakeModel, body: ChatBody): number;
  /** Frees the model's memory: `ps` no longer lists it, and the next request loads it again. */
  unload(model: FakeModel): void;
  tags(): object;
  ps(): object;
  show(model: FakeModel): object;
}

/** Creates the models; `maxWindow` is the largest window that fits the memory: the server silently clamps to it. */
export function createModelLibrary(models: readonly FakeModel[], maxWindow = Infinity): ModelLibrary {
  const loaded = new Map<string, ModelLoad>();
  const details = {
    parent_model: '',
    format: 'gguf',
    family: ARCHITECTURE,
    families: [ARCHITECTURE],
    parameter_size: '1.0B',
    quantization_level: 'Q4_K_M',
  };
  const entry = (name: string): object => ({ name, model: name, size: 1_000_000, digest: DIGEST, details });
  const library: ModelLibrary = {
    models: [...models],
    loads: [],
    find: (name) =>
      library.models.find((model) => model.name === name || model.name === `${name}:latest`) ?? undefined,
    load(model, body) {
      const asked = Math.max(4, body.options?.num_ctx ?? SERVER_DEFAULT_WINDOW);
      const load = {
        model: model.name,
        numCtx: Math.min(asked, model.contextLength, maxWindow),
        shift: body.shift,
      };
      const before = loaded.get(model.name);
      if (before?.numCtx !== load.numCtx || before.shift !== load.shift) library.loads.push(load);
      loaded.set(model.name, load);
      return load.numCtx;
    },
    unload: (model) => void loaded.delete(model.name),
    tags: () => ({
      models: library.models.map((model) => ({ ...entry(model.name), modified_at: '2026-01-01T00:00:00Z' })),
    }),
    ps: () => ({
      models: [...loaded.values()].map((load) => ({
        ...entry(load.model),
        expires_at: new Date(Date.now() + 300_000).toISOString(),
        size_vram: 1_000_000,
        context_length: load.numCtx,
      })),
    }),
    show: (model) => ({
      license: '',
      modelfile: `FROM ${model.name}`,
      parameters: 'stop "<end>"',
      template: '{{ .Prompt }}',
      details,
      model_info: {
        'general.architecture': ARCHITECTURE,
        [`${ARCHITECTURE}.context_length`]: model.contextLength,
        [`${ARCHITECTURE}.embedding_length`]: 64,
      },
      capabilities: model.capabilities,
      modified_at: '2026-01-01T00:00:00Z',
    }),
  };
  return library;
}

/** The fake's tokenizer: a token is up to four characters, and each message costs four more. */
function countTokens(messages: readonly ChatBodyMessage[], tools: ChatBody['tools']): number {
  const texts = messages.map((message) => message.content + (message.thinking ?? ''));
  const calls = messages.flatMap((message) => message.tool_calls ?? []);
  const schemas = tools === undefined ? 0 : Math.ceil(JSON.stringify(tools).length / 4);
  const called = calls.length === 0 ? 0 : Math.ceil(JSON.stringify(calls).length / 4);
  return texts.reduce((sum, text) => sum + Math.ceil(text.length / 4) + 4, schemas + called);
}

/** Fits a prompt into a window as the server does: drops the oldest messages that are not system messages, or refuses. */
export function fitPrompt(
  body: ChatBody,
  window: number,
): { promptTokens: number; dropped: number } | { error: string } {
  const kept = [...body.messages];
  let dropped = 0;
  while (body.truncate && countTokens(kept, body.tools) > window) {
    const oldest = kept.findIndex((message) => message.role !== 'system');
    if (oldest === -1 || oldest === kept.length - 1) break;
    kept.splice(oldest, 1);
    dropped += 1;
  }
  const promptTokens = countTokens(kept, body.tools);
  return promptTokens > window ? { error: overflowText(promptTokens, window) } : { promptTokens, dropped };
}

/** llama-server's answer, which Ollama passes on as a string inside its own `error`. */
function overflowText(tokens: number, window: number): string {
  return JSON.stringify({
    error: {
      code: 400,
      message: `request (${tokens} tokens) exceeds the available context size (${window} tokens), try increasing it`,
      type: 'exceed_context_size_error',
      n_prompt_tokens: tokens,
      n_ctx: window,
    },
  });
}

/** The error text of the 400 when the model does not support the request; undefined when it does. */
export function unsupported(model: FakeModel, body: ChatBody): string | undefined {
  const can = (what: FakeModel['capabilities'][number]): boolean => model.capabilities.includes(what);
  if (!can('completion')) return `"${body.model}" does not support chat`;
  if (body.think !== undefined && body.think !== false && !can('thinking')) {
    return `"${body.model}" does not support thinking`;
  }
  if ((body.tools?.length ?? 0) > 0 && !can('tools')) {
    return `registry.ollama.ai/library/${model.name} does not support tools`;
  }
  return undefined;
}

/** Streams the progress of fetching a model as JSON lines, and has it from then on; `missing…` is in no registry. */
export function sendPull(response: ServerResponse, library: ModelLibrary, name: string): void {
  const tagged = name.includes(':') ? name : `${name}:latest`;
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  const line = (body: object): void => void response.write(`${JSON.stringify(body)}\n`);
  line({ status: 'pulling manifest' });
  if (name.startsWith('missing')) {
    line({ error: 'pull model manifest: file does not exist' });
  } else {
    for (const completed of [0, 50, 100])
      line({ status: 'pulling 8f68893c685c', digest: DIGEST, total: 100, completed });
    library.models = [
      ...library.models,
      { name: tagged, contextLength: 32_768, capabilities: ['completion', 'tools'] },
    ];
    line({ status: 'success' });
  }
  response.end();
}
