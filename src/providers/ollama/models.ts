/** What an Ollama server says of its models: their names, and what each can do. */
import type { Ollama } from 'ollama';
import { ProviderError } from '../../protocol/errors.ts';
import type { ModelCapabilities } from '../../protocol/agent/provider.ts';
import { UNKNOWN_WINDOW } from '../discovery.ts';
import type { Where } from '../errors.ts';
import { callClient } from '../http/client-call.ts';
import type { CallRules, Connections } from '../http/connections.ts';
import { requestWithin } from '../http/request.ts';
import { readCapabilities, readModels } from './wire.ts';

export interface ModelServer {
  url: string;
  at: Where;
  connections: Connections;
  rules: (where: Where, signal: AbortSignal) => CallRules;
  /** Time limit of a question, in milliseconds. */
  answerWithinMs: number;
}

/** Makes requests other than chats. The client is loaded with the first call, outside its time limit. */
async function ask<T>(
  { url, at, connections, rules, answerWithinMs }: ModelServer,
  question: (client: Ollama) => Promise<T>,
  { signal, model }: { signal?: AbortSignal | undefined; model?: string } = {},
): Promise<T> {
  const where = { ...at, model };
  const { Ollama: Client } = await import('ollama');
  return await requestWithin(where, answerWithinMs, signal, (until) =>
    callClient(connections, rules(where, until), (clientFetch) =>
      question(new Client({ host: url, fetch: clientFetch })),
    ),
  );
}

/** The names of its models. Throws `ProviderError`. */
export async function modelNames(server: ModelServer, signal: AbortSignal): Promise<string[]> {
  return await ask(server, async (client) => readModels(await client.list()).map(({ name }) => name), {
    signal,
  });
}

/**
 * A model's own window and abilities. If the server loaded the model with a smaller window than a call asked for, the
 * loaded window counts: the machine's memory holds no more. Throws `ProviderError`.
 */
export async function discover(
  server: ModelServer,
  model: string,
  askedWindow: number | undefined,
): Promise<ModelCapabilities> {
  const shown = await describe(server, model);
  const own = shown.contextWindow;
  const capabilities = {
    ...shown,
    contextWindow: own ?? UNKNOWN_WINDOW,
    ...(own === undefined && { windowGuessed: true }),
  };
  if (askedWindow === undefined) return capabilities;
  const running = await ask(server, async (client) => readModels(await client.ps()));
  const loaded = running.find(({ name }) => isNamed(name, model))?.window ?? askedWindow;
  return loaded < askedWindow ? { ...shown, contextWindow: Math.min(own ?? loaded, loaded) } : capabilities;
}

/**
 * What the server says about a model. A server that cannot describe models (imitations of Ollama only chat) is
 * trusted, unless it lists its models and this is not one of them.
 */
async function describe(server: ModelServer, model: string): Promise<ReturnType<typeof readCapabilities>> {
  try {
    return await ask(server, async (client) => readCapabilities(await client.show({ model })), { model });
  } catch (error) {
    if (!isMissing(error)) throw error;
    const listed = await ask(server, async (client) => readModels(await client.list())).catch(
      (unlisted: unknown) => {
        if (isMissing(unlisted)) return undefined;
        throw unlisted;
      },
    );
    if (listed !== undefined && !listed.some(({ name }) => isNamed(name, model))) throw error;
    return { contextWindow: undefined, tools: true, thinking: false, vision: false };
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
