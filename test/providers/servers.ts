/** Servers as the environment configures them, and the providers and the router created for them. */
import type { LLMProvider } from '../../src/protocol/agent/provider.ts';
import { openModelServers, providerKinds } from '../../src/providers/index.ts';
import type { Environment, ServerOptions } from '../../src/providers/kind.ts';
import { configureServers, createModelNames } from '../../src/providers/servers.ts';
import { createRouter } from '../../src/providers/router.ts';

/** What error messages call the server that OLLAMA_HOST names. */
export const OLLAMA_SERVER = {
  name: 'ollama',
  addressSetting: 'OLLAMA_HOST',
  keySetting: 'providers.ollama.apiKeyEnv',
} satisfies Partial<ServerOptions>;

/** What error messages call the server that OPENAI_BASE_URL names. */
export const OPENAI_SERVER = {
  name: 'openai',
  addressSetting: 'OPENAI_BASE_URL',
  keySetting: 'OPENAI_API_KEY',
} satisfies Partial<ServerOptions>;

/** Creates the router that a gateway with these settings would have. */
export async function openRouter(env: Environment, listWithinMs?: number): Promise<LLMProvider> {
  const { servers } = configureServers(providerKinds, { env, file: {} });
  if (listWithinMs === undefined)
    return (await openModelServers({ modelServers: servers, env: {} })).provider;
  const providers = new Map<string, LLMProvider>();
  for (const server of servers) {
    const kind = providerKinds.find((known) => known.kind === server.kind);
    if (kind !== undefined) providers.set(server.name, await kind.create(server, server.settings));
  }
  return createRouter(providers, createModelNames(servers, providerKinds), listWithinMs);
}
