/** What installed plug-ins add to the lists of channels and of kinds of model servers, and how they run. */
import path from 'node:path';
import { channels } from '../channels/index.ts';
import type { Config, Environment } from './config.ts';
import { homeOf } from './launch/default-home.js';
import {
  channelManifestOf,
  type ConfiguredPlugin,
  createPluginHosts,
  type InstalledPlugin,
  pluginConfinement,
  type PluginHosts,
  type PluginsDeps,
  readInstalled,
  verifyPlugin,
} from './plugins/index.ts';
import { toGatewayError } from './protocol/errors.ts';
import type { ChannelManifest } from './protocol/channel.ts';
import { type ProviderKind, settingsFor } from './providers/kind.ts';
import { providerKinds } from './providers/index.ts';
import * as security from './security/index.ts';
import * as skills from './skills/index.ts';

/** Plug-ins are fetched, read and pinned as skills are. */
export const folderTools = {
  openSource: skills.openSource,
  sourceName: skills.sourceName,
  readContents: skills.readContents,
  writeContents: skills.writeContents,
  hashOf: skills.hashOf,
};

/** What is installed in the home of an environment, with the manifests of all channels. Never throws. */
export function listsOf(environment: Environment): {
  installed: readonly InstalledPlugin[];
  manifests: readonly ChannelManifest[];
  problems: readonly string[];
} {
  const { plugins, problems } = readSafely(path.resolve(homeOf(environment)));
  const more = plugins.flatMap(({ manifest }) => channelManifestOf(manifest) ?? []);
  return { installed: plugins, manifests: more.length === 0 ? channels : [...channels, ...more], problems };
}

function readSafely(home: string): ReturnType<typeof readInstalled> {
  try {
    return readInstalled(home);
  } catch (error) {
    return { plugins: [], problems: [toGatewayError(error).message] };
  }
}

/** The kinds of model servers, those of plug-ins included; `hosts` run them, and without it they only have settings. */
export function kindsWith(
  plugins: readonly Pick<InstalledPlugin, 'manifest'>[],
  hosts?: PluginHosts,
): readonly ProviderKind[] {
  const kinds = plugins.flatMap(({ manifest: { name, provider } }) =>
    provider === undefined ? [] : [kindOf(name, hosts)],
  );
  return kinds.length === 0 ? providerKinds : [...providerKinds, ...kinds];
}

function kindOf(name: string, hosts: PluginHosts | undefined): ProviderKind {
  return {
    kind: name,
    settings: settingsFor(name),
    async create(server) {
      if (hosts === undefined) throw new TypeError('only a gateway opens the model servers of a plug-in');
      return await hosts.openProvider(name, server);
    },
  };
}

/** Makes the hosts of the configured plug-ins; no process is started. */
export function openPluginHosts(
  config: Pick<Config, 'plugins' | 'modelServers' | 'environment'>,
  parts: Pick<PluginsDeps, 'keys' | 'log' | 'redact'>,
): PluginHosts {
  return createPluginHosts({
    ...parts,
    plugins: config.plugins,
    serversOf: (plugin) =>
      config.modelServers.filter(({ kind }) => kind === plugin).map(({ baseUrl }) => baseUrl),
    environment: config.environment,
    openProxy: security.openEgressProxy,
    verify: verifyInstalled,
  });
}

/** Throws `GatewayError('plugin_changed')` if its files are not those that were installed. */
export async function verifyInstalled(
  plugin: Pick<ConfiguredPlugin, 'manifest' | 'folder' | 'hash'>,
): Promise<void> {
  await verifyPlugin(plugin, folderTools);
}

/** How plug-ins are kept from other hosts and files on this machine, in a sentence. */
export async function confinementSentence(): Promise<string> {
  const way = await pluginConfinement();
  if (way === 'open')
    return 'On this machine only a guard in its own process keeps a plug-in from other hosts: neither bubblewrap nor unshare works here.';
  return `On this machine ${way} keeps plug-ins from every host that is not named${way === 'bubblewrap' ? ', and hides all other files' : ''}.`;
}
