/** Which model and which profile a request means. */
import { GatewayError, ProviderError, toGatewayError } from '../../contracts/errors.ts';
import type { Profile } from '../../contracts/profile.ts';
import type { LLMProvider } from '../../contracts/provider.ts';

/** Time that the server's list of models is cached, in milliseconds (B-26). */
const LIST_KEPT_MS = 5 * 60_000;

/** Longest wait of `/status` for the model server to name its models, in milliseconds. */
const DESCRIBE_MS = 2_000;

export interface ModelsDeps {
  provider: LLMProvider;
  /** The profiles as they are monotonicNow; one is called `default`. */
  profiles(): readonly Profile[];
  /** `MODEL`; unset = the first the server names. */
  model?: string | undefined;
  /** With several servers: a name that belongs to the one whose first model is meant. */
  usualServer?: string | undefined;
}

export interface Models {
  /** The profile of that id, else the one called `default`. Throws `GatewayError('unknown_profile')` when there is neither. */
  profile(id: string | undefined): Profile;
  /** The model to use when nothing names one: `MODEL`, else the server's first. Throws `ProviderError`. */
  fallback(signal: AbortSignal): Promise<string>;
  /** The model that answers in sessions of a profile that name none, or why there is none. Never throws. */
  describe(profileId?: string): Promise<string>;
  /** `default`, the profile ids, then the server's models. Throws `ProviderError`. */
  list(signal: AbortSignal): Promise<string[]>;
  /** Resolves a request's `model`. Throws `GatewayError('unknown_model')`, or `ProviderError` when the server is away. */
  resolve(name: string, signal: AbortSignal): Promise<{ profileId?: string; model?: string }>;
  /**
   * Before a session takes a profile: throws a `GatewayError` when no model would answer there for a reason that does not
   * pass by itself (no such model, no such server, a key is missing). A server that is only away is no such reason.
   */
  checkProfile(id: string, signal: AbortSignal): Promise<void>;
}

/** The name as the server lists it: Ollama's own tools leave out the tag `latest`, and people do. */
function listed(names: readonly string[], name: string): string | undefined {
  return [name, `${name}:latest`].find((spelled) => names.includes(spelled));
}

/** A list of names that is cached for a while once it holds one. */
function keptList(ask: (signal: AbortSignal) => Promise<readonly string[]>, monotonicNow: () => number) {
  let known: { names: readonly string[]; at: number } | undefined;
  const fresh = async (signal: AbortSignal): Promise<readonly string[]> => {
    const names = await ask(signal);
    known = { names, at: monotonicNow() };
    return names;
  };
  return {
    fresh,
    names: async (signal: AbortSignal): Promise<readonly string[]> =>
      known !== undefined && known.names.length > 0 && monotonicNow() - known.at < LIST_KEPT_MS
        ? known.names
        : await fresh(signal),
  };
}

/** `monotonicNow` is a clock in milliseconds. */
export function createModels(deps: ModelsDeps, monotonicNow: () => number = () => performance.now()): Models {
  const { provider, usualServer } = deps;
  const all = keptList((signal) => provider.models(signal), monotonicNow);
  const usual =
    usualServer === undefined
      ? all
      : keptList((signal) => provider.models(signal, usualServer), monotonicNow);
  /** The server that would have it is asked anew: it may be away, not configured, or have just fetched the model. */
  const findModel = async (name: string, signal: AbortSignal): Promise<string | undefined> =>
    listed(await all.names(signal), name) ?? listed(await provider.models(signal, name), name);
  const find = (id: string): Profile | undefined => deps.profiles().find((profile) => profile.id === id);

  const profile = (id: string | undefined): Profile => {
    const found = (id === undefined ? undefined : find(id)) ?? find('default');
    if (found !== undefined) return found;
    throw new GatewayError(
      'unknown_profile',
      'There is no profile "default": see profiles/ in GATEWAY_HOME.',
    );
  };
  const fallback = async (signal: AbortSignal): Promise<string> => {
    const model = deps.model ?? (await usual.names(signal))[0];
    if (model !== undefined) return model;
    throw new ProviderError(
      'unknown_model',
      'The model server has no model yet: fetch one (for Ollama: ollama pull llama3.2) or set MODEL.',
    );
  };
  return {
    profile,
    fallback,
    async describe(profileId) {
      try {
        return profile(profileId).model ?? (await fallback(AbortSignal.timeout(DESCRIBE_MS)));
      } catch (error) {
        return `none; ${toGatewayError(error).message}`;
      }
    },
    async list(signal) {
      const ids = deps.profiles().map((profile) => profile.id);
      return [...new Set(['default', ...ids, ...(await all.fresh(signal))])];
    },
    async resolve(name, signal) {
      if (name === 'default') return {};
      if (find(name) !== undefined) return { profileId: name };
      if (name === deps.model) return { model: name };
      const model = await findModel(name, signal);
      if (model !== undefined) return { model };
      throw new GatewayError(
        'unknown_model',
        `There is no model or profile "${name.slice(0, 100)}": GET /v1/models lists them.`,
      );
    },
    async checkProfile(id, signal) {
      const model = find(id)?.model;
      if (model === undefined || model === deps.model) return;
      const refused = (code: string, why: string, cause?: unknown): GatewayError =>
        new GatewayError(code, `The profile "${id}" cannot answer: ${why}`, { cause });
      try {
        if ((await findModel(model, signal)) !== undefined) return;
      } catch (error) {
        if (signal.aborted || !(error instanceof GatewayError) || error.retryable) return;
        throw refused(error.code, error.message, error);
      }
      throw refused('unknown_model', `there is no model "${model.slice(0, 100)}".`);
    },
  };
}
