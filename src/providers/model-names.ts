/** Which server a model's name means: `<provider>/<model>`, or a bare name for a model of Ollama. */
import type { ProviderKind } from './kind.ts';
import type { ModelServer } from './servers.ts';

/** The provider whose models may be called without its name. */
export const BARE_PROVIDER = 'ollama';

/** The provider of a model, and the model's name there. */
export interface ModelPlace {
  provider: string;
  model: string;
}

export interface ModelNames {
  /** Where a name leads, or why it leads nowhere. */
  find(name: string): ModelPlace | { problem: string };
  /** The name under which everybody calls a provider's model. */
  nameOf(place: ModelPlace): string;
}

/** What a provider's name looks like; beyond that, Ollama's own ids hold slashes (`hf.co/user/model:tag`). */
const PREFIX = /^([a-z][a-z0-9_-]*)\/(.*)$/s;

/** Names longer than this are cut in messages. */
const MAX_NAME_SHOWN = 100;

/**
 * Only the name of a configured provider counts as a prefix. Once `config.json` names servers of its own, an unknown
 * prefix before a name without a tag is a mistake and not a model of Ollama.
 */
export function createModelNames(
  servers: readonly ModelServer[],
  kinds: readonly ProviderKind[],
): ModelNames {
  const names = new Set(servers.map(({ name }) => name));
  const ownNames = [...names].some((name) => kinds.every(({ kind }) => kind !== name));

  const problemOf = (name: string, prefix: string, model: string): string | undefined => {
    const shown = JSON.stringify(name.slice(0, MAX_NAME_SHOWN));
    const environment = kinds.find(({ kind }) => kind === prefix)?.environment;
    if (environment !== undefined) {
      return `${shown} is a model of the provider "${prefix}", and none is configured: set ${environment.needs}, or write providers.${prefix} into config.json.`;
    }
    if (!ownNames || model.includes(':')) return undefined;
    const known = [...names].join(', ');
    return `${shown} names the provider "${prefix}", which is not configured: write providers.${prefix} into config.json, or use one of ${known}. A model of Ollama with a slash in its name is called ${BARE_PROVIDER}/${prefix}/….`;
  };

  return {
    find(name) {
      const [, prefix, model] = PREFIX.exec(name) ?? [];
      if (prefix === undefined || model === undefined) return { provider: BARE_PROVIDER, model: name };
      if (names.has(prefix)) return { provider: prefix, model };
      const problem = problemOf(name, prefix, model);
      return problem === undefined ? { provider: BARE_PROVIDER, model: name } : { problem };
    },
    nameOf({ provider, model }) {
      const [, prefix] = PREFIX.exec(model) ?? [];
      const isBare = provider === BARE_PROVIDER && (prefix === undefined || !names.has(prefix));
      return isBare ? model : `${provider}/${model}`;
    },
  };
}
