/** Which server a model's name means: `<provider>/<model>`, or a bare name for a model of Ollama or of the only server. */
import { textRef, type TextRef } from '../protocol/texts/say.ts';
import type { ProviderKind } from './kind.ts';
import type { ModelServer } from './servers.ts';

/** The provider whose models are named without its name, if it is configured. */
export const BARE_PROVIDER = 'ollama';

/** The provider of a model, and the model's name there. */
export interface ModelPlace {
  provider: string;
  model: string;
}

export interface ModelNames {
  /** The model that a name means, or why it means none. */
  find(name: string): ModelPlace | { problem: TextRef };
  /** The public name of a provider's model. */
  nameOf(place: ModelPlace): string;
}

/** The default server: Ollama if something names it or nothing names another, else the first one named. */
export function defaultServer(servers: readonly Pick<ModelServer, 'name' | 'namedBy'>[]): string {
  const named = servers.filter(({ namedBy }) => namedBy !== 'nobody');
  return named.some(({ name }) => name === BARE_PROVIDER) ? BARE_PROVIDER : (named[0]?.name ?? BARE_PROVIDER);
}

/** What a provider's name looks like; beyond that, Ollama's own ids contain slashes (`hf.co/user/model:tag`). */
const PREFIX = /^([a-z][a-z0-9_-]*)\/(.*)$/s;

/** Names longer than this are cut in messages. */
const MAX_NAME_SHOWN = 100;

/**
 * Only the name of a configured provider counts as a prefix. A name without one is a model of Ollama, or of the default
 * server if there is no Ollama. Once `config.json` names its own servers next to another, an unknown prefix before a
 * name without a tag is a mistake and not part of the model's name.
 */
export function createModelNames(
  servers: readonly ModelServer[],
  kinds: readonly ProviderKind[],
): ModelNames {
  const names = new Set(servers.map(({ name }) => name));
  const ownNames = names.size > 1 && [...names].some((name) => kinds.every(({ kind }) => kind !== name));
  const bareProvider = names.has(BARE_PROVIDER) ? BARE_PROVIDER : defaultServer(servers);

  const problemOf = (name: string, prefix: string, model: string): TextRef | undefined => {
    const about = { name: name.slice(0, MAX_NAME_SHOWN), provider: prefix };
    const environment = kinds.find(({ kind }) => kind === prefix)?.environment;
    if (environment !== undefined) {
      return textRef('provider.needs_setting', { ...about, needs: textRef(environment.needs) });
    }
    if (!ownNames || model.includes(':')) return undefined;
    const known = [...names].join(', ');
    return textRef('provider.not_configured', { ...about, known, usual: bareProvider });
  };

  return {
    find(name) {
      const [, prefix, model] = PREFIX.exec(name) ?? [];
      if (prefix === undefined || model === undefined) return { provider: bareProvider, model: name };
      if (names.has(prefix)) return { provider: prefix, model };
      const problem = problemOf(name, prefix, model);
      return problem === undefined ? { provider: bareProvider, model: name } : { problem };
    },
    nameOf({ provider, model }) {
      const [, prefix] = PREFIX.exec(model) ?? [];
      const isBare = provider === BARE_PROVIDER && (prefix === undefined || !names.has(prefix));
      return isBare ? model : `${provider}/${model}`;
    },
  };
}
