/** The list of kinds of model servers, one line each, and the provider that reaches all configured servers. */
import { ConfigError } from '../protocol/errors.ts';
import { inEnglish, type TextRef } from '../protocol/texts/say.ts';
import type { LLMProvider } from '../protocol/agent/provider.ts';
import type { ProviderKind } from './kind.ts';
import {
  BARE_PROVIDER,
  createModelNames,
  defaultServer,
  type ModelNames,
  type ModelServer,
} from './servers.ts';
import { ollamaKind } from './ollama/kind.ts';
import { openaiKind } from './openai/kind.ts';
import { createRouter } from './router.ts';

/** The kinds that `providers.<name>.kind` in `config.json` may name. A kind is its folder and one line here. */
export const providerKinds: readonly ProviderKind[] = [ollamaKind, openaiKind];

interface ModelSettings {
  modelServers: readonly ModelServer[];
  env: { MODEL?: string | undefined };
}

/** The model servers, and the default when nothing names a model. */
export interface ModelServers {
  provider: LLMProvider;
  /** `MODEL`, with the name of its provider if it needs one. */
  model: string | undefined;
  /** Without `MODEL`: the server with this name provides its first model. */
  usual: string;
  /** Why no configured server can have a model of that name; undefined when one may. */
  modelProblem: (model: string) => TextRef | undefined;
}

/** Finds the server that a model is asked on, and its address; undefined for a model that none of them can have. */
export function serverLookup(
  servers: readonly ModelServer[],
  kinds: readonly ProviderKind[] = providerKinds,
): (model: string) => { provider: string; url: string } | undefined {
  const names = createModelNames(servers, kinds);
  return (model) => {
    const match = names.find(model);
    const server = 'problem' in match ? undefined : servers.find(({ name }) => name === match.provider);
    return server && { provider: server.name, url: server.baseUrl };
  };
}

interface ServerParts {
  kinds?: readonly ProviderKind[];
  /** Recent delay of the event loop in milliseconds. */
  loopDelayMs?: () => number;
}

/**
 * Makes a provider for each server, and the router. Without `MODEL`, the environment's server besides Ollama
 * (OPENAI_BASE_URL) provides its first model, else the default server does. Throws `ConfigError`.
 */
export async function openModelServers(
  { modelServers: servers, env }: ModelSettings,
  { kinds = providerKinds, loopDelayMs }: ServerParts = {},
): Promise<ModelServers> {
  const names = createModelNames(servers, kinds);
  const usual = defaultServer(servers);
  const model = env.MODEL === undefined ? undefined : defaultModel(env.MODEL, names, usual);
  const providers = new Map<string, LLMProvider>();
  for (const server of servers) {
    const options = loopDelayMs === undefined ? server : { ...server, loopDelayMs };
    providers.set(server.name, await createProvider(options, kinds));
  }
  const preferred = servers.find(({ name, namedBy }) => namedBy === 'environment' && name !== BARE_PROVIDER);
  return {
    provider: createRouter(providers, names),
    model,
    usual: prefixOf(preferred?.name ?? usual),
    modelProblem(name) {
      const match = names.find(name);
      return 'problem' in match ? match.problem : undefined;
    },
  };
}

/** `MODEL` is a model of the default server unless it names another. */
function defaultModel(model: string, names: ModelNames, usual: string): string {
  const match = names.find(model);
  if ('problem' in match) throw new ConfigError('bad_config', `MODEL: ${inEnglish.text(match.problem)}`);
  return match.model === model ? prefixOf(usual) + model : model;
}

function prefixOf(provider: string): string {
  return provider === BARE_PROVIDER ? '' : `${provider}/`;
}

async function createProvider(server: ModelServer, kinds: readonly ProviderKind[]): Promise<LLMProvider> {
  const kind = kinds.find((candidate) => candidate.kind === server.kind);
  if (kind !== undefined) return await kind.create(server, server.settings);
  throw new ConfigError('bad_config', `providers.${server.name}.kind: there is no kind "${server.kind}".`);
}
