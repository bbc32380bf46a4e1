/** A plug-in of the repository as a gateway runs it: built, in a process of its own with its rights, and its channel. */
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import pino from 'pino';
import { buildPlugin } from '../../../plugins/build.ts';
import { channelManifestOf } from '../../../src/plugins/channel-facts.ts';
import { createHostedChannel } from '../../../src/plugins/channel.ts';
import type { HostedChannel } from '../../../src/plugins/channel-receiving.ts';
import { readManifest } from '../../../src/plugins/manifest.ts';
import { PluginProcess } from '../../../src/plugins/plugin-process.ts';
import type { PluginManifest } from '../../../src/protocol/plugin.ts';
import { GatewayError } from '../../../src/protocol/errors.ts';
import { openEgressProxy } from '../../../src/security/index.ts';

type Values = Record<string, string | number | boolean>;

/** A plug-in that is built: in a folder of the test. */
export interface BuiltPlugin {
  manifest: PluginManifest;
  folder: string;
  remove(): Promise<void>;
}

export async function openBuiltPlugin(name: string): Promise<BuiltPlugin> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-test-'));
  await buildPlugin(name, path.join(folder, name));
  const manifest = readManifest(await readFile(path.join(folder, name, 'parley.plugin.json'), 'utf8'));
  return { manifest, folder: path.join(folder, name), remove: () => rm(folder, { recursive: true }) };
}

/** The settings with the defaults of the manifest. */
function settingsOf({ settings = [] }: PluginManifest, values: Values): Values {
  const usual = settings.flatMap(({ name, default: value }) => (value === undefined ? [] : [[name, value]]));
  return { ...Object.fromEntries(usual), ...values };
}

export class HostedPlugin {
  readonly channel: HostedChannel;
  readonly process: PluginProcess;
  /** What the plug-in stores; a second one on the same store is the plug-in after a restart. */
  readonly stored: Map<string, string>;
  readonly log: string[] = [];
  #server: ReturnType<typeof createServer> | undefined;

  constructor({ manifest, folder }: BuiltPlugin, values: Values, stored = new Map<string, string>()) {
    this.stored = stored;
    const log = pino({ level: 'trace' }, { write: (line: string) => void this.log.push(line) });
    this.process = new PluginProcess({
      manifest,
      folder,
      dataFolder: path.join(folder, '../data'),
      settings: settingsOf(manifest, values),
      environment: {},
      log,
      redact: (text) => text,
      verify: () => Promise.resolve(),
      openProxy: openEgressProxy,
      serve: async (method, args) => await this.#serve(method, args),
      onHealth: (state, detail) => this.channel.noteHealth(state, detail),
      onRestart: () => this.channel.restarted(),
    });
    const { ids } = channelManifestOf(manifest) ?? {};
    if (manifest.channel === undefined || ids === undefined) throw new Error('no channel');
    const receive = () => {
      throw new GatewayError('unavailable', 'not started', { retryable: true });
    };
    const { name, channel: facts } = manifest;
    this.channel = createHostedChannel({ name, facts, ids, process: this.process, log, receive });
  }

  /** Serves the plug-in's webhook as the gateway does; gives its address. */
  async listen(): Promise<string> {
    this.#server = createServer((request, response) => {
      void (async () => {
        const body = await buffer(request);
        const { search: query } = new URL(request.url ?? '/', 'http://127.0.0.1');
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([key, value]) => [key, value ?? '']),
        );
        const answer = await this.channel.answerRequest?.({
          method: request.method ?? '',
          query,
          headers,
          body,
        });
        response.writeHead(answer?.status ?? 404, answer?.headers).end(answer?.body);
      })();
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
  }

  /** Ends the process as an outage does, without a word. */
  async close(): Promise<void> {
    await this.process.close();
    if (this.#server === undefined) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(method: string, [first, second]: readonly unknown[]): Promise<unknown> {
    if (method === 'receive') return await this.channel.receiveFrom(first);
    const key = String(first);
    if (method === 'store.get') return this.stored.get(key);
    if (method !== 'store.set') throw new Error(`no ${method}`);
    if (typeof second === 'string') this.stored.set(key, second);
    else this.stored.delete(key);
    if (String(second).length > 16_384 || key.length > 200 || this.stored.size > 1_000)
      throw new Error('too much for the store');
    return undefined;
  }
}
