/** The processes of the bench: the model server, the plain proxy and the gateway, each separate. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import project from '../../package.json' with { type: 'json' };
import { programFile } from '../../src/launch/build.js';

export const BENCH_TOKEN = 'bench-token-of-sixteen-characters-or-more';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The arguments that `npm start` passes to node. */
export const START_ARGS = project.scripts.start.replace('exec node ', '').split(' ');
const READY_WITHIN_MS = 60_000;
const END_WITHIN_MS = 30_000;

/** A process that reports its address over IPC. */
export interface Helper {
  url: string;
  pid: number | undefined;
  /** Emits `report` with each further message. */
  reports: EventEmitter<{ report: [Record<string, string>] }>;
  stop(): Promise<void>;
}

/** Starts `test/bench/<name>.ts`. */
export async function startHelper(name: string, ...args: string[]): Promise<Helper> {
  const file = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  endWithUs(child);
  const [{ url }] = await once(child, 'message');
  const reports: Helper['reports'] = new EventEmitter();
  child.on('message', (message: Record<string, string>) => reports.emit('report', message));
  return { url: String(url), pid: child.pid, reports, stop: () => endChild(child) };
}

/** A gateway under measurement. */
export interface GatewayProcess {
  url: string;
  pid: number | undefined;
  /** From the start of the process to the first 200 of /readyz, in milliseconds. */
  readyAfterMs: number;
  /** Resident memory in MB. */
  rss(): number;
  /** CPU time of its main thread in milliseconds; undefined where /proc does not report it. */
  mainThreadMs(): number | undefined;
  /** A number from /metrics. */
  metric(name: string): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a gateway like `npm start`, with this many workers, and waits until ready. Logs to `gateway.log` in its home. */
export async function startGateway(
  home: string,
  env: Record<string, string>,
  workers = 1,
): Promise<GatewayProcess> {
  // The first start would build, which is not what is measured.
  await programFile(ROOT, true, (line) => void process.stderr.write(`${line}\n`));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const log = openSync(path.join(home, 'gateway.log'), 'a');
  const startedAt = performance.now();
  const more = workers === 1 ? [] : ['--workers', String(workers)];
  const child = spawn(process.execPath, [...START_ARGS, ...more], {
    cwd: ROOT,
    stdio: ['ignore', log, log],
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      GATEWAY_HOME: home,
      GATEWAY_TOKEN: BENCH_TOKEN,
      PORT: String(port),
      ...env,
    },
  });
  endWithUs(child);
  while (!(await isReady(url, workers))) {
    const late = performance.now() - startedAt > READY_WITHIN_MS;
    if (late || child.exitCode !== null)
      throw new Error(`the gateway did not get ready; see ${home}/gateway.log`);
    await pause(5);
  }
  const readyAfterMs = performance.now() - startedAt;
  return {
    url,
    pid: child.pid,
    readyAfterMs,
    mainThreadMs() {
      try {
        const [onCpu = ''] = readFileSync(`/proc/${child.pid}/task/${child.pid}/schedstat`, 'utf8').split(
          ' ',
        );
        return Number(onCpu) / 1e6;
      } catch {
        // Only Linux has it.
        return undefined;
      }
    },
    rss: () =>
      Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' })) / 1_024,
    async metric(name) {
      const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${BENCH_TOKEN}` } });
      const line = (await response.text()).split('\n').find((text) => text.startsWith(`${name} `));
      return Number(line?.split(' ')[1]);
    },
    stop: () => endChild(child),
  };
}

async function isReady(url: string, workers: number): Promise<boolean> {
  try {
    const response = await fetch(`${url}/readyz`);
    await response.arrayBuffer();
    return response.status === 200 && (workers === 1 || (await hasWorker(url, workers)));
  } catch {
    // It is not listening yet.
    return false;
  }
}

/** The metrics cover all listening workers. */
async function hasWorker(url: string, number: number): Promise<boolean> {
  const headers = { authorization: `Bearer ${BENCH_TOKEN}` };
  const metrics = await (await fetch(`${url}/metrics`, { headers })).text();
  return metrics.includes(`worker="${number}"`);
}

/** A currently free port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new TypeError('listening without a port');
  return address.port;
}

/** Kills every child when the bench ends, however it ends. */
function endWithUs(child: ChildProcess): void {
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  if (child.connected) child.disconnect();
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_WITHIN_MS);
  await gone;
  clearTimeout(timer);
}
