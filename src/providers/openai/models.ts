/** The models that an OpenAI-compatible server lists, and what each can do. */
import type { ModelCapabilities } from '../../contracts/model/provider.ts';
import { parseJson } from '../../lib/json/json.ts';
import { UNKNOWN_WINDOW } from '../discovery.ts';
import { readWhole } from '../answers/read-answer.ts';
import { notJson } from '../http/client-call.ts';
import type { CallRules, Connections } from '../http/connections.ts';
import { requestWithin } from '../http/request.ts';
import { type OpenaiPlace, unknownModel } from './errors.ts';
import { nativeWindow } from './native-window.ts';
import { findModel, type ListedModel, readModels } from './wire.ts';

export interface ModelServer {
  /** By which people choose its models: `<name>/<model>`. */
  name: string;
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

/** Lists its models (`GET /models`). Throws `ProviderError`. */
export async function listModels(
  { at, connections, rules, answerWithinMs }: ModelServer,
  signal: AbortSignal | undefined,
  model?: string,
): Promise<ListedModel[]> {
  const where = { ...at, model };
  return await requestWithin(where, answerWithinMs, signal, async (until) => {
    const answer = await connections.send({ method: 'GET', path: '/models' }, rules(where, until));
    const list = parseJson(await readWhole(answer));
    if (list === undefined) throw notJson();
    return readModels(list);
  });
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
