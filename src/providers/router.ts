/** All model servers as one: `openai/<name>` is a model of the OpenAI-compatible server, any other name one of Ollama's. */
import { ProviderError } from '../contracts/errors.ts';
import type { LLMProvider } from '../contracts/provider.ts';

/** What the names of the OpenAI-compatible server's models begin with. */
export const OPENAI_PREFIX = 'openai/';

/** How long each of several servers may take to list its models: one that hangs must not hold up the other's. */
const LIST_WITHIN_MS = 3_000;

/** The server of a model, and the model's name there. */
interface Place {
  provider: LLMProvider;
  model: string;
}

/**
 * Makes the router over providers by name. A server is first spoken to when one of its models is asked for (S-49); one
 * that is not configured is an error that names its variable and takes nothing from the other (S-43).
 */
export function createRouter(
  providers: ReadonlyMap<string, LLMProvider>,
  listWithinMs = LIST_WITHIN_MS,
): LLMProvider {
  const placeOf = (named: string): Place => {
    const prefixed = named.startsWith(OPENAI_PREFIX);
    const provider = providers.get(prefixed ? 'openai' : 'ollama');
    if (provider === undefined) throw notConfigured(named, prefixed);
    return { provider, model: prefixed ? named.slice(OPENAI_PREFIX.length) : named };
  };
  const modelsOf = async (provider: LLMProvider, signal: AbortSignal): Promise<string[]> => {
    const names = await provider.models(signal);
    return provider.name === 'openai' ? names.map((name) => OPENAI_PREFIX + name) : names;
  };
  return {
    name: 'router',
    async models(signal, like) {
      if (like !== undefined) return await modelsOf(placeOf(like).provider, signal);
      const [only, ...others] = providers.values();
      if (only === undefined) return [];
      if (others.length === 0) return await modelsOf(only, signal);
      const soon = AbortSignal.any([signal, AbortSignal.timeout(listWithinMs)]);
      const asked = [only, ...others].map((provider) => modelsOf(provider, soon));
      const settled = await Promise.allSettled(asked);
      const lists = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      // A server that is away must not hide the other; when none answers, the first says why.
      return lists.length === 0 ? await modelsOf(only, signal) : lists.flat();
    },
    async capabilities(named, signal) {
      const { provider, model } = placeOf(named);
      return await provider.capabilities(model, signal);
    },
    /** The server's own stream: nothing is done per chunk. */
    streamChat(request, signal) {
      const { provider, model } = placeOf(request.model);
      return provider.streamChat(model === request.model ? request : { ...request, model }, signal);
    },
    async close() {
      for (const provider of providers.values()) await provider.close();
    },
  };
}

function notConfigured(named: string, openai: boolean): ProviderError {
  const server = openai ? 'OpenAI-compatible server' : 'Ollama';
  const variable = openai
    ? 'OPENAI_BASE_URL to where it is (or OPENAI_API_KEY for OpenAI itself)'
    : 'OLLAMA_HOST to where it is';
  const text = `"${named.slice(0, 100)}" is a model of the ${server}, and none is configured: set ${variable}.`;
  return new ProviderError('unknown_model', text);
}
