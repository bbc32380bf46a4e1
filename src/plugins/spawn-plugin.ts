/** Starts the process of a plug-in, shut in as closely as its rights and the machine allow. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Confinement, confinedCommand } from '../lib/confinement.ts';
import type { PluginManifest } from '../protocol/plugin.ts';
import { pluginConfinement, PROGRAM } from './confinement.ts';
import { DEFAULT_MEMORY_MB } from './manifest.ts';
import type { Opening } from './process/methods.ts';
import { type AllowedHost, allowedHosts, allowedPorts, hostOfServer, type PluginSettings } from './rights.ts';

const ROOT = path.resolve(fileURLToPath(new URL('../..', import.meta.url)));
const PRLIMIT = '/usr/bin/prlimit';
/** What Node.js itself reserves, in MiB: the limit of the system counts it, too. */
const RUNTIME_MB = 640;
const MIB = 1024 * 1024;
/** Node's option for each right to what it forbids otherwise. */
const RUNTIME_FLAGS = {
  'child-process': '--allow-child-process',
  worker: '--allow-worker',
  addons: '--allow-addons',
  wasi: '--allow-wasi',
} as const;

/** Opens the proxy through which a plug-in reaches its hosts. */
export type OpenProxy = (options: {
  socket: string;
  hosts: readonly AllowedHost[];
  onRefused: (target: string) => void;
  onFailed: (id: number, code: string) => void;
}) => Promise<{ close(): Promise<void> }>;

/** An installed plug-in, and with which settings it runs. */
export interface PluginPlace {
  manifest: PluginManifest;
  /** Absolute path of its files. */
  folder: string;
  /** Absolute path of what it may keep. */
  dataFolder: string;
  settings: PluginSettings;
  /** Addresses of model servers that it may connect to, besides its rights. */
  servers?: readonly string[];
  /** How it is shut in; for tests of machines that cannot do more. Default: as closely as this one can. */
  confinement?: Confinement;
  /** The gateway's environment: it gets what its rights name. */
  environment: Readonly<Record<string, string | undefined>>;
}

/** A running process. */
export interface RunningPlugin {
  child: ChildProcess;
  /** Frames in both directions. */
  channel: Duplex;
  opening: Opening;
  /** A folder for files that pass between the gateway and the plug-in. */
  files: string;
  /** Passes connections to a port of its rights on, from now on. */
  listen: (port: number) => void;
  /** Ends it, with everything that it started. Never throws. */
  kill: () => void;
  /** Removes what the start has made; after its end. */
  clear: () => Promise<void>;
}

/** Starts it; the first frame must be the call `open`. Throws errors of the file system, and `GatewayError('bad_plugin')`. */
export async function spawnPlugin(
  place: PluginPlace,
  openProxy: OpenProxy,
  listener: Pick<Parameters<OpenProxy>[0], 'onRefused' | 'onFailed'>,
): Promise<RunningPlugin> {
  const { manifest, settings } = place;
  const hosts = [...allowedHosts(manifest, settings), ...(place.servers ?? []).map(hostOfServer)];
  const run = await mkdtemp(path.join(tmpdir(), 'parley-plugin-'));
  const files = path.join(run, 'files');
  const sockets = path.join(run, 'net');
  for (const folder of [files, sockets]) await mkdir(folder, { mode: 0o700 });
  const proxy = await openProxy({ socket: path.join(sockets, 'egress.sock'), hosts, ...listener });
  const listens = allowedPorts(manifest, settings);
  const argv = await commandOf(place, { files, sockets, listens });
  const [file = '', ...args] = argv;
  const child = spawn(file, args, {
    cwd: place.folder,
    env: environmentOf(place),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const listeners: net.Server[] = [];
  const channel = child.stdio[3] as Duplex;
  return {
    child,
    channel,
    files,
    opening: {
      main: path.join(place.folder, manifest.main ?? ''),
      provides: (['channel', 'tools', 'provider'] as const).filter((part) => manifest[part] !== undefined),
      settings,
      dataFolder: place.dataFolder,
      folder: sockets,
      hosts,
      listens,
    },
    listen(port) {
      if (listens.includes(port) && listeners.length < listens.length)
        listeners.push(forward(port, path.join(sockets, `port-${port}.sock`)));
    },
    // With its group: bubblewrap that is killed while it starts would leave the program behind.
    kill() {
      const isRunning = child.exitCode === null && child.signalCode === null;
      if (child.pid !== undefined && isRunning) process.kill(-child.pid, 'SIGKILL');
    },
    async clear() {
      for (const listener of listeners) listener.close();
      await proxy.close();
      await rm(run, { recursive: true, force: true });
    },
  };
}

/** Connections to a port of loopback, which the process cannot have itself where it has no network. */
function forward(port: number, socket: string): net.Server {
  const server = net.createServer((client) => {
    const inside = net.connect(socket);
    for (const [one, other] of [
      [client, inside],
      [inside, client],
    ] as const) {
      one.on('error', () => undefined);
      one.once('close', () => other.destroy());
      one.pipe(other);
    }
  });
  // The port is taken: nothing reaches the plug-in there, and its log says what it waits for.
  server.on('error', () => undefined);
  return server.listen(port, '127.0.0.1');
}

function environmentOf({ manifest, environment }: PluginPlace): NodeJS.ProcessEnv {
  const names = manifest.rights?.environment ?? [];
  return Object.fromEntries(
    names.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
}

async function commandOf(
  { manifest, folder, dataFolder, confinement }: PluginPlace,
  { files, sockets, listens }: { files: string; sockets: string; listens: readonly number[] },
): Promise<string[]> {
  const { files: folders = {}, runtime = [], memory = DEFAULT_MEMORY_MB } = manifest.rights ?? {};
  const placesOf = (names: readonly string[] = []): string[] =>
    names.map((name) => path.join(dataFolder, name));
  const [reads, writes] = [placesOf(folders.read), placesOf(folders.write)];
  for (const place of [dataFolder, ...reads, ...writes]) await mkdir(place, { recursive: true, mode: 0o700 });
  const command = confinedCommand(
    {
      program: [PROGRAM],
      flags: [
        ...['SecurityWarning', 'ExperimentalWarning'].map((name) => `--disable-warning=${name}`),
        `--max-old-space-size=${memory}`,
        ...runtime.map((name) => RUNTIME_FLAGS[name]),
      ],
      reads: [path.dirname(PROGRAM), path.join(ROOT, 'package.json'), folder, ...reads, sockets],
      writes: [...writes, files, ...(listens.length > 0 ? [sockets] : [])],
      folder,
    },
    confinement ?? (await pluginConfinement()),
  );
  if (process.platform !== 'linux' || !existsSync(PRLIMIT)) return command;
  return [PRLIMIT, `--data=${(memory + RUNTIME_MB) * MIB}`, '--core=0', '--', ...command];
}
