/** What an Ollama server says of its models: their names, and what each can do; and how it gets another one. */
import { ProviderError, toGatewayError } from '../../protocol/errors.ts';
import type { ModelCapabilities } from '../../protocol/agent/provider.ts';
import { UNKNOWN_WINDOW } from '../discovery.ts';
import type { ServerCalls } from '../server-calls.ts';
import { readCapabilities, readModels } from './wire.ts';

/** Its models, each with the window it is loaded with, if the list has it. Throws `ProviderError`. */
async function listAt(calls: ServerCalls, path: '/api/tags' | '/api/ps', signal?: AbortSignal) {
  return await calls.ask({ method: 'GET', path }, readModels, { signal });
}

/** The names of its models. Throws `ProviderError`. */
export async function modelNames(calls: ServerCalls, signal: AbortSignal): Promise<string[]> {
  return (await listAt(calls, '/api/tags', signal)).map(({ name }) => name);
}

/**
 * A model's window and abilities. If the server loaded it with a smaller window than requested, that one counts: the
 * machine has no more memory. Throws `ProviderError`.
 */
export async function discover(
  calls: ServerCalls,
  model: string,
  requestedWindow: number | undefined,
): Promise<ModelCapabilities> {
  const capabilities = await describe(calls, model);
  if (requestedWindow === undefined) return capabilities;
  const running = await listAt(calls, '/api/ps');
  const loaded = running.find(({ name }) => isNamed(name, model))?.window ?? requestedWindow;
  if (loaded >= requestedWindow) return capabilities;
  const { windowGuessed: isGuess, ...others } = capabilities;
  return { ...others, contextWindow: isGuess === true ? loaded : Math.min(others.contextWindow, loaded) };
}

/** Names of the embedding models in Ollama's library. */
const EMBEDDING_NAME = /embed|(?:^|\/)(?:bge|all-minilm|paraphrase)-/i;

/** What the server says about a model. Imitations of Ollama that only chat are trusted, unless they list others. */
async function describe(calls: ServerCalls, model: string): Promise<ModelCapabilities> {
  try {
    const request = { method: 'POST', path: '/api/show', body: { model } } as const;
    const capabilities = await calls.ask(request, readCapabilities, { model });
    // Versions before 0.6.4 report no abilities.
    const isNamedSo = capabilities.chat === undefined && EMBEDDING_NAME.test(model);
    return isNamedSo ? { ...capabilities, embeds: true } : capabilities;
  } catch (error) {
    if (!isMissing(error)) throw error;
    const models = await listAt(calls, '/api/tags').catch((listError: unknown) => {
      if (isMissing(listError)) return undefined;
      throw listError;
    });
    if (models !== undefined && !models.some(({ name }) => isNamed(name, model))) throw error;
    return {
      contextWindow: UNKNOWN_WINDOW,
      windowGuessed: true,
      tools: true,
      thinking: false,
      vision: false,
    };
  }
}

/** True if the server does not have what was requested: a model, or the whole endpoint. */
function isMissing(error: unknown): boolean {
  return error instanceof ProviderError && /^(unknown_model|bad_response|bad_request)$/.test(error.code);
}

/** People may omit the tag `latest`. */
function isNamed(listed: string, model: string): boolean {
  return listed === model || listed === `${model}:latest`;
}

/** Pulls a model to the server; `progress` gets a status and perhaps a percentage. Throws `ProviderError`. */
export async function pullModel(
  baseUrl: string,
  model: string,
  progress: (status: string, percent: number | undefined) => void,
): Promise<void> {
  const client = await clientOf(baseUrl);
  try {
    for await (const { status, completed, total } of await client.pull({ model, stream: true }))
      progress(status, total ? Math.floor(((completed ?? 0) / total) * 100) : undefined);
  } catch (error) {
    const { message } = toGatewayError(error);
    throw new ProviderError('unavailable', `Ollama could not fetch ${model}: ${message}`, { cause: error });
  }
}

/** Ollama's own client, which is loaded with its first use. */
async function clientOf(host: string) {
  const { Ollama } = await import('ollama');
  return new Ollama({ host });
}
