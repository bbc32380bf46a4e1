/** Real gateway processes that are started, killed, frozen and restarted. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileCacheFolder } from '../../src/launch/compile-cache.js';
import { crashGateway } from '../runs/crash-gateway.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGES = path.join(ROOT, 'node_modules');
/** How long a start may take, in milliseconds: the first one writes a fresh embedded database. */
const READY_TIMEOUT_MS = 60_000;

/** Currently live processes: none outlives the one that started it, however that ends. */
const living = new Set<ChildProcess>();
process.on('exit', () => living.forEach((child) => child.kill('SIGKILL')));

export interface GatewayProcessOptions {
  /** Further arguments of Node.js, such as `--import=…`. */
  nodeArguments?: readonly string[];
  /** The program that starts Node.js, such as `['unshare', '--pid', …]`. */
  prefix?: readonly string[];
}

/** One home and its current process. */
export class GatewayProcess {
  readonly home: string;
  /** Unexpected ends, such as `code 1` or `SIGSEGV`. */
  readonly exits: string[] = [];
  readonly #environment: Record<string, string>;
  readonly #options: GatewayProcessOptions;
  #child: ChildProcess | undefined;
  /** Was asked to end, and may. */
  #terminated: ChildProcess | undefined;
  /** Where it listens; waits while it is starting. */
  #url: PromiseWithResolvers<string> = Promise.withResolvers();

  constructor(home: string, environment: Record<string, string>, options: GatewayProcessOptions = {}) {
    this.home = home;
    this.#environment = environment;
    this.#options = options;
  }

  /** False when the process ended on its own, and before the first start. */
  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The process id; undefined while there is none. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts a process in the home. Returns `performance.now()` of the start at once; `url()` waits until it is ready. */
  start(): number {
    // Like `src/launch.js`: without it, compiling takes a third of the CPU time of a start.
    const cache = compileCacheFolder(PACKAGES, this.home);
    const env = {
      PATH: process.env['PATH'] ?? '',
      ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }),
      ...this.#environment,
      GATEWAY_HOME: this.home,
    };
    const { prefix = [], nodeArguments = [] } = this.#options;
    const node = [process.execPath, '--max-semi-space-size=4', ...nodeArguments, crashGateway()];
    const [command, ...rest] = [...prefix, ...node] as [string, ...string[]];
    const child = spawn(command, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    living.add(child);
    const log = createWriteStream(path.join(path.dirname(this.home), `${path.basename(this.home)}.log`), {
      flags: 'a',
    });
    let seen = '';
    const { resolve } = this.#url;
    child.stdout.on('data', (bytes: Buffer) => {
      log.write(bytes);
      if (seen === 'ready') return;
      seen += bytes.toString('utf8');
      const found = /Parley is ready: (\S+)/.exec(seen);
      if (found === null) return;
      seen = 'ready';
      resolve(found[1] ?? '');
    });
    child.stderr.on('data', (bytes: Buffer) => void log.write(bytes));
    child.once('close', () => log.end());
    child.once('exit', (code, signal) => {
      living.delete(child);
      const mayEnd = this.#terminated === child && code === 0;
      if (this.#child === child && !mayEnd) this.exits.push(signal ?? `code ${code}`);
    });
    return performance.now();
  }

  /** Where it listens, as soon as it does. Throws when that takes too long. */
  async url(): Promise<string> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error(`The gateway in ${this.home} did not start; see its log beside the home.`)),
      READY_TIMEOUT_MS,
    );
    try {
      return await Promise.race([this.#url.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** SIGSTOP: it stands still, its connections stay open. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  /** SIGCONT. */
  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** SIGTERM without waiting, as at the start of a drain. */
  terminate(): void {
    this.#terminated = this.#child;
    this.#child?.kill('SIGTERM');
  }

  /** SIGKILL; resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** SIGTERM, the way a supervisor ends it. */
  async close(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** The process itself, when it was started by another program that does not pass on signals. */
  #startedByPrefix(): number | undefined {
    const pid = this.#child?.pid;
    if (this.#options.prefix === undefined || pid === undefined) return undefined;
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    return first === undefined || first === '' ? undefined : Number(first);
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    const inner = signal === 'SIGTERM' ? this.#startedByPrefix() : undefined;
    this.#child = undefined;
    this.#url = Promise.withResolvers();
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    if (inner === undefined) child.kill(signal);
    else process.kill(inner, signal);
    await gone;
  }
}
