/** All model servers behind one provider: the name of a model determines which of them is used. */
import { ProviderError } from '../contracts/errors.ts';
import { textRef } from '../contracts/texts/say.ts';
import type { ModelOmissions } from '../contracts/model/omissions.ts';
import type { LLMProvider } from '../contracts/model/provider.ts';
import { unwrapJson } from './filter/json-answer.ts';
import { BARE_PROVIDER, type ModelNames } from './model-names.ts';

/** How long each of several servers may take to list its models: one that hangs must not delay the others. */
const LIST_WITHIN_MS = 3_000;

/**
 * Makes the router over providers by name. A server is first contacted when one of its models is used (S-49); one that
 * is not configured is an error that says what to set and does not affect the others (S-43).
 */
export function createRouter(
  providers: ReadonlyMap<string, LLMProvider>,
  names: ModelNames,
  listWithinMs = LIST_WITHIN_MS,
): LLMProvider {
  const find = (named: string): { provider: LLMProvider; model: string } => {
    const found = names.find(named);
    if ('problem' in found) throw new ProviderError('unknown_model', found.problem);
    const provider = providers.get(found.provider);
    if (provider !== undefined) return { provider, model: found.model };
    throw new ProviderError('unknown_model', textRef('provider.unconfigured', { provider: found.provider }));
  };
  const modelsOf = async (provider: LLMProvider, signal: AbortSignal): Promise<string[]> => {
    const models = await provider.models(signal);
    return models.map((model) => names.nameOf({ provider: provider.name, model }));
  };
  /**
   * The list uses the spelling of the name: with Ollama's prefix, even though it is optional, or without the prefix of
   * another server.
   */
  const modelsLike = async (like: string, signal: AbortSignal): Promise<string[]> => {
    const { provider, model } = find(like);
    if (provider.name !== BARE_PROVIDER && model === like) return await provider.models(signal);
    const prefix = `${BARE_PROVIDER}/`;
    if (provider.name !== BARE_PROVIDER || !like.startsWith(prefix)) return await modelsOf(provider, signal);
    return (await provider.models(signal)).map((model) => prefix + model);
  };
  return {
    name: 'router',
    async models(signal, like) {
      if (like !== undefined) return await modelsLike(like, signal);
      const [only, ...others] = providers.values();
      if (only === undefined) return [];
      if (others.length === 0) return await modelsOf(only, signal);
      const soon = AbortSignal.any([signal, AbortSignal.timeout(listWithinMs)]);
      const settled = await Promise.allSettled([only, ...others].map((provider) => modelsOf(provider, soon)));
      const lists = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      // An unreachable server must not hide the others; when none answers, the first one's error says why.
      return lists.length === 0 ? await modelsOf(only, signal) : lists.flat();
    },
    capabilities: async (named, signal) => {
      const { provider, model } = find(named);
      return await provider.capabilities(model, signal);
    },
    /** The server's own stream: nothing is done per chunk, unless the answer has to be JSON. */
    streamChat(request, signal) {
      const { provider, model } = find(request.model);
      const chunks = provider.streamChat(model === request.model ? request : { ...request, model }, signal);
      return request.format === undefined ? chunks : unwrapJson(chunks);
    },
    omissions: () => [...providers.values()].flatMap((provider) => omissionsOf(provider, names)),
    async embed(request, signal) {
      const { provider, model } = find(request.model);
      return await provider.embed({ ...request, model }, signal);
    },
    async close() {
      for (const provider of providers.values()) await provider.close();
    },
  };
}

/** What a server refuses, by the public names of its models. */
function omissionsOf(provider: LLMProvider, names: ModelNames): ModelOmissions[] {
  const own = provider.omissions?.() ?? [];
  return own.map(({ model, omissions }) => ({
    model: names.nameOf({ provider: provider.name, model }),
    omissions,
  }));
}
