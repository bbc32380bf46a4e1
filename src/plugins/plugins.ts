/** The plug-ins of a running gateway: one process each, which starts when it is first needed. */
import { z } from 'zod';
import { GatewayError } from '../protocol/errors.ts';
import type { LLMProvider } from '../protocol/agent/provider.ts';
import type { Tool } from '../protocol/agent/tool.ts';
import type { Channel, ChannelDeps, Finding, KeyStore } from '../protocol/channel.ts';
import type { Log } from '../protocol/log.ts';
import type { Receive } from '../protocol/receive.ts';
import type { HostedChannel } from './channel-receiving.ts';
import { channelManifestOf } from './channel-facts.ts';
import type { ConfiguredPlugin } from './configured.ts';
import type { PluginStatus } from '../protocol/operator/plugins.ts';
import type { PluginProcess, PluginParts } from './plugin-process.ts';
import type { HostedServer } from './provider.ts';
import type { OpenProxy } from './spawn-plugin.ts';
import { toolsOf } from './tools.ts';

/** Values that a plug-in keeps in the database, and how long each of them and its name may be. */
const MAX_STORED_KEYS = 1_000;
const MAX_STORED_CHARS = 16 * 1024;
/** Attempts to store a value while other nodes store theirs. */
const STORE_TRIES = 5;

export interface PluginsDeps {
  plugins: readonly ConfiguredPlugin[];
  /** Addresses of the model servers of a plug-in's kind. */
  serversOf: (plugin: string) => readonly string[];
  environment: Readonly<Record<string, string | undefined>>;
  keys: KeyStore;
  log: Log;
  redact: (text: string) => string;
  openProxy: OpenProxy;
  verify: (plugin: ConfiguredPlugin) => Promise<void>;
  timing?: PluginParts['timing'];
}

/** What the gateway asks of its plug-ins. */
export interface PluginHosts {
  /** The tools of all plug-ins; always the same list. */
  readonly tools: readonly Tool[];
  openChannel(name: string, deps: ChannelDeps, receive: Receive): Promise<Channel>;
  openProvider(name: string, server: HostedServer): Promise<LLMProvider>;
  /** What it finds about its own platform, for `parley doctor`. Throws `GatewayError`. */
  check(name: string, signal: AbortSignal): Promise<Finding[]>;
  status(): PluginStatus[];
  /** Ends all processes. Never throws. */
  close(): Promise<void>;
}

interface Host {
  plugin: ConfiguredPlugin;
  process: PluginProcess | undefined;
  channel: HostedChannel | undefined;
}

const key = z.string().min(1).max(200);

/** Makes them; no process is started, and none of their code loaded. */
export function createPluginHosts(deps: PluginsDeps): PluginHosts {
  const hosts = new Map<string, Host>(
    deps.plugins.map((plugin) => [plugin.manifest.name, { plugin, process: undefined, channel: undefined }]),
  );
  const hostOf = (name: string): Host => {
    const host = hosts.get(name);
    if (host === undefined)
      throw new GatewayError('unknown_plugin', `There is no plug-in ${name.slice(0, 64)}.`);
    return host;
  };
  const processOf = async (name: string): Promise<PluginProcess> => {
    const host = hostOf(name);
    host.process ??= await openProcess(host, deps);
    return host.process;
  };
  const callOf =
    (name: string) =>
    async (...args: Parameters<PluginProcess['call']>): Promise<unknown> =>
      await (await processOf(name)).call(...args);

  return {
    tools: deps.plugins.flatMap(({ manifest }) => toolsOf(manifest, callOf(manifest.name))),
    async openChannel(name, { log }, receive) {
      const host = hostOf(name);
      const { manifest } = host.plugin;
      const { ids } = channelManifestOf(manifest) ?? {};
      if (manifest.channel === undefined || ids === undefined)
        throw new GatewayError('unknown_plugin', `The plug-in ${name} has no channel.`);
      const { createHostedChannel } = await import('./channel.ts');
      const process = await processOf(name);
      host.channel = createHostedChannel({ name, facts: manifest.channel, ids, process, log, receive });
      return host.channel;
    },
    async openProvider(name, server) {
      const { createHostedProvider } = await import('./provider.ts');
      return createHostedProvider(server, callOf(name));
    },
    async check(name, signal) {
      if (hostOf(name).plugin.manifest.channel === undefined) return [];
      const { findingsOf } = await import('./channel.ts');
      return await findingsOf(callOf(name)('channel.check', [], { signal }));
    },
    status: () =>
      [...hosts.values()].map(({ plugin: { manifest }, process }) => {
        const { name, label, version } = manifest;
        return { name, label, version, ...(process?.state() ?? { state: 'idle', detail: undefined }) };
      }),
    async close() {
      await Promise.all([...hosts.values()].map(async ({ process }) => await process?.close()));
    },
  };
}

async function openProcess(host: Host, deps: PluginsDeps): Promise<PluginProcess> {
  const { plugin } = host;
  const { name } = plugin.manifest;
  const { PluginProcess } = await import('./plugin-process.ts');
  const values = createStored(deps.keys, `plugin:${name}`);
  // Another call may have opened it meanwhile.
  return (
    host.process ??
    new PluginProcess({
      ...plugin,
      servers: deps.serversOf(name),
      environment: deps.environment,
      log: deps.log.child({ plugin: name }),
      redact: deps.redact,
      openProxy: deps.openProxy,
      async verify() {
        if (plugin.missing.length > 0)
          throw new GatewayError('plugin_settings', `It needs ${plugin.missing.join(', ')}.`);
        await deps.verify(plugin);
      },
      async serve(method, args) {
        if (method === 'receive' && host.channel !== undefined)
          return await host.channel.receiveFrom(args[0]);
        if (method === 'store.get') return await values.get(args[0]);
        if (method === 'store.set') return await values.set(args[0], args[1]);
        throw new GatewayError('missing', `The gateway has no ${method.slice(0, 60)} for this plug-in.`);
      },
      onHealth: (state, detail) => host.channel?.noteHealth(state, detail),
      onRestart: () => host.channel?.restarted(),
      ...(deps.timing && { timing: deps.timing }),
    })
  );
}

/** The values that a plug-in keeps. */
function createStored(keys: KeyStore, device: string) {
  const nameOf = (value: unknown): string => {
    const { data } = key.safeParse(value);
    if (data === undefined) throw new GatewayError('bad_key', 'A key of the store has 1 to 200 characters.');
    return data;
  };
  return {
    async get(name: unknown): Promise<string | undefined> {
      const bytes = (await keys.records(device)).records.get(nameOf(name));
      return bytes && Buffer.from(bytes).toString('utf8');
    },
    async set(name: unknown, value: unknown): Promise<void> {
      const isText = typeof value === 'string';
      if (isText && value.length > MAX_STORED_CHARS)
        throw new GatewayError(
          'too_large',
          `A value of the store has at most ${MAX_STORED_CHARS} characters.`,
        );
      const changes = new Map([[nameOf(name), isText ? Buffer.from(value) : undefined]]);
      for (let attempt = 0; attempt < STORE_TRIES; attempt += 1) {
        const { version, records } = await keys.records(device);
        if (isText && records.size >= MAX_STORED_KEYS && !records.has(nameOf(name)))
          throw new GatewayError('too_many', `The store of a plug-in has at most ${MAX_STORED_KEYS} keys.`);
        if (await keys.changeKeys(device, version, changes)) return;
      }
      throw new GatewayError('busy', 'Others are storing values at the same time.', { retryable: true });
    },
  };
}
