/** The models that an OpenAI-compatible server lists, and what each can do. */
import type { ClientOptions } from 'openai';
import type { ModelCapabilities } from '../../contracts/model/provider.ts';
import { UNKNOWN_WINDOW } from '../discovery.ts';
import { callClient } from '../http/client-call.ts';
import type { CallRules, Connections } from '../http/connections.ts';
import { requestWithin } from '../http/request.ts';
import { unknownModel } from './errors.ts';
import { nativeWindow } from './native-window.ts';
import type { OpenaiPlace } from './errors.ts';
import { findModel, readModels } from './wire.ts';
import type { ListedModel } from './wire.ts';

/**
 * What the client does not decide: the connections send the key and limit the time, failed calls are not repeated, and
 * the client's own variables (OPENAI_ORG_ID, OPENAI_LOG, …) change nothing.
 */
const CLIENT_OPTIONS: ClientOptions = {
  apiKey: 'sent by the connections',
  adminAPIKey: null,
  organization: null,
  project: null,
  maxRetries: 0,
  timeout: 2 ** 31 - 1,
  logLevel: 'off',
};

export interface ModelServer {
  /** By which people choose its models: `<name>/<model>`. */
  name: string;
  url: string;
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

/** Lists its models. The package is large: it is loaded with the first list, outside the time limit. Throws `ProviderError`. */
export async function listModels(
  { url, at, connections, rules, answerWithinMs }: ModelServer,
  signal: AbortSignal | undefined,
  model?: string,
): Promise<ListedModel[]> {
  const where = { ...at, model };
  const { OpenAI: Client } = await import('openai');
  return await requestWithin(where, answerWithinMs, signal, (until) =>
    callClient(connections, rules(where, until), async (clientFetch) => {
      const client = new Client({ ...CLIENT_OPTIONS, baseURL: url, fetch: clientFetch });
      // The client's page object would show an answer without a list as an empty list.
      const answer = await client.models.list().asResponse();
      return readModels(await answer.json());
    }),
  );
}

/**
 * What a model can do. Servers of one model serve it under any name, so the name is checked here; a server that lists nothing
 * is asked anyway. Throws `ProviderError`.
 */
export async function discover(server: ModelServer, model: string): Promise<ModelCapabilities> {
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
