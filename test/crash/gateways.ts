/** Real gateway processes that are started, killed and started again. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(new URL('gateway-process.ts', import.meta.url));
/** How long a start may take, in milliseconds: the first one writes a fresh embedded database. */
const READY_TIMEOUT_MS = 60_000;

/** One home and the process that lives in it now. */
export class GatewayProcess {
  readonly home: string;
  readonly #environment: Record<string, string>;
  #child: ChildProcess | undefined;
  /** Where it listens; waits while it is starting. */
  #url: PromiseWithResolvers<string> = Promise.withResolvers();

  constructor(home: string, environment: Record<string, string>) {
    this.home = home;
    this.#environment = environment;
  }

  /** Starts a process in the home. Gives `performance.now()` of the start at once; `url()` waits until it is ready. */
  start(): number {
    const env = { PATH: process.env['PATH'] ?? '', ...this.#environment, GATEWAY_HOME: this.home };
    const child = spawn(process.execPath, ['--max-semi-space-size=4', ENTRY], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
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

  /** SIGKILL; resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** SIGTERM, as a supervisor ends it. */
  async close(): Promise<void> {
    await this.#end('SIGTERM');
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    this.#url = Promise.withResolvers();
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }
}
