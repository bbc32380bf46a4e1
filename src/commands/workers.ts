/** The supervisor of several gateway processes that share one port and one home; each is its own node. */
import cluster, { type Worker } from 'node:cluster';
import { loadConfig } from '../config.ts';
import type { Log } from '../protocol/log.ts';
import { backoffMs } from '../lib/async/backoff.ts';
import {
  bestStates,
  channelList,
  type ChannelStates,
  isMetricsAnswer,
  isWorkerMessage,
  openLines,
  WORKER_DATABASE,
  WORKER_NUMBER,
  WORKER_RESTARTS,
  type WorkerReady,
} from '../worker.ts';
import { openProcessLog } from './process-log.ts';
import { beginHandOver, handOver } from './upgrade/trial.ts';
import { type HomeLock, lockHome, makeHome, type EmbeddedDatabase, openEmbedded } from '../store/index.ts';

/** Longest wait for the metrics of a worker, in milliseconds; a busy one is missing from the answer. */
const ANSWER_MS = 2_000;

/** Connections of one worker to the embedded database at most, and of commands and tests beside them. */
const WORKER_CONNECTIONS = 10;
const COMMAND_CONNECTIONS = 40;

/** Pause before a dead worker is started again: doubling from the first, at most the second, in milliseconds. */
const RESTART_BASE_MS = 500;
const RESTART_CAP_MS = 30_000;
/** A worker that has lived this long begins with the shortest pause again, in milliseconds. */
const HEALTHY_MS = 60_000;

/**
 * Starts the workers and runs until a signal; a second signal ends it at once. The exit code is 1 if the first worker
 * cannot start. Throws `ConfigError`, and `StoreError` if the home is in use or its database does not open.
 */
export async function superviseWorkers(count: number): Promise<void> {
  const config = loadConfig(process.env);
  await makeHome(config.home);
  const { log } = openProcessLog(config);
  const lock = await lockHome(config.home);
  let database: EmbeddedDatabase | undefined;
  let isNext = false;
  try {
    if (config.env.DATABASE_URL === undefined) {
      const connections = COMMAND_CONNECTIONS + count * WORKER_CONNECTIONS;
      database = await openEmbedded(config.home, log, { connections });
      lock.publishSocket(database.socketPath);
    }
    const supervisor = new Supervisor(count, lock, database?.socketPath, log);
    await supervisor.run();
    isNext = supervisor.isAskedForNext;
  } finally {
    await database?.close();
    lock.release();
  }
  if (isNext) await handOver();
  // Signal handlers and the channels to the workers would keep the process alive.
  process.exit(process.exitCode);
}

class Supervisor {
  readonly #count: number;
  readonly #lock: HomeLock;
  readonly #socketPath: string | undefined;
  readonly #log: Log;
  /** By the worker's number, from 1. */
  readonly #workers = new Map<number, Worker>();
  readonly #failures = new Map<number, number>();
  readonly #restarts = new Map<number, number>();
  /** The channels of those that are ready. */
  readonly #ready = new Map<number, ChannelStates>();
  readonly #over = Promise.withResolvers<void>();
  #collecting: Promise<string> | undefined;
  #ending = false;
  #announced = false;
  #link: string | undefined;
  /** It ended so that another version can begin. */
  isAskedForNext = false;

  constructor(count: number, lock: HomeLock, socketPath: string | undefined, log: Log) {
    this.#count = count;
    this.#lock = lock;
    this.#socketPath = socketPath;
    this.#log = log;
  }

  /** Resolves when every worker has ended. */
  async run(): Promise<void> {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        this.#log.info({ signal }, 'stopping');
        if (this.#ending) process.exit(130);
        this.#end();
      });
    }
    // `parley upgrade` asks with it for the version that is due.
    process.on('SIGUSR2', () => {
      if (this.#ending || !beginHandOver()) return;
      this.#log.info('handing_over');
      this.isAskedForNext = true;
      this.#end();
    });
    // The first one brings the tables up to date and makes the first token; the others follow it.
    this.#start(1);
    await this.#over.promise;
  }

  #start(number: number): void {
    const worker = cluster.fork({
      [WORKER_NUMBER]: String(number),
      [WORKER_RESTARTS]: String(this.#restarts.get(number) ?? 0),
      PARLEY_INSTANCE: this.#lock.instance,
      ...(this.#socketPath !== undefined && { [WORKER_DATABASE]: this.#socketPath }),
    });
    const startedAt = performance.now();
    this.#workers.set(number, worker);
    this.#log.info({ worker: number, pid: worker.process.pid }, 'worker_started');
    worker.on('message', (message: unknown) => {
      if (isWorkerMessage(message)) this.#onReady(number, message);
      if (message === 'metrics of all') void this.#answerMetrics(worker);
    });
    worker.on('exit', (code, signal) =>
      this.#onExit(number, { code, signal, livedMs: performance.now() - startedAt }),
    );
    // A channel that breaks is followed by the exit.
    worker.on('error', (error) => this.#log.warn({ err: error, worker: number }, 'worker_unreachable'));
  }

  #onReady(number: number, { url, channels, link }: WorkerReady): void {
    this.#ready.set(number, channels);
    this.#link ??= link;
    if (number === 1)
      for (let next = 2; next <= this.#count; next += 1) if (!this.#workers.has(next)) this.#start(next);
    if (this.#announced || this.#ready.size < this.#count) return;
    this.#announced = true;
    const names = channelList(bestStates([...this.#ready.values()]));
    const ready = `\nParley is ready: ${url}  (channels: ${names}; ${this.#count} workers)\n`;
    process.stdout.write(`${ready}${openLines(url, this.#link)}\n`);
  }

  /** Many ask at once: all get the same answer. */
  async #answerMetrics(worker: Worker): Promise<void> {
    this.#collecting ??= collectMetrics(this.#workers).finally(() => (this.#collecting = undefined));
    const merged = await this.#collecting;
    if (worker.isConnected()) worker.send({ merged });
  }

  #onExit(number: number, end: { code: number; signal: string; livedMs: number }): void {
    const { code, signal, livedMs } = end;
    this.#workers.delete(number);
    const wasReady = this.#ready.delete(number);
    if (this.#ending) {
      if (this.#workers.size === 0) this.#over.resolve();
      return;
    }
    if (number === 1 && !wasReady && !this.#announced) {
      // It has already reported why.
      process.exitCode = 1;
      this.#end();
      return;
    }
    const failures = livedMs > HEALTHY_MS ? 0 : (this.#failures.get(number) ?? 0);
    this.#failures.set(number, failures + 1);
    this.#restarts.set(number, (this.#restarts.get(number) ?? 0) + 1);
    const waitMs = backoffMs(failures, RESTART_BASE_MS, RESTART_CAP_MS);
    this.#log.error({ worker: number, code, signal, livedMs: Math.round(livedMs), waitMs }, 'worker_died');
    setTimeout(() => {
      if (!this.#ending) this.#start(number);
    }, waitMs);
  }

  /** A process that wants the home waits from now on. */
  #leave(): void {
    try {
      this.#lock.leaving();
    } catch (error) {
      this.#log.warn({ err: error }, 'home_leaving_mark_failed');
    }
  }

  /** Asks all workers to stop; each ends once its work can be resumed elsewhere. */
  #end(): void {
    this.#ending = true;
    this.#leave();
    if (this.#workers.size === 0) this.#over.resolve();
    for (const worker of this.#workers.values()) worker.send('stop');
  }
}

/** One Prometheus text out of several: each sample gets the label `worker`, and the samples of a metric stay together. */
function mergeMetrics(texts: readonly (readonly [worker: number, text: string])[]): string {
  const families = new Map<string, { head: string[]; samples: string[] }>();
  for (const [worker, text] of texts) {
    let family = { head: [] as string[], samples: [] as string[] };
    for (const line of text.split('\n')) {
      const [, help] = /^# HELP (\S+)/.exec(line) ?? [];
      if (help !== undefined) {
        family = families.get(help) ?? { head: [], samples: [] };
        families.set(help, family);
      }
      if (line.startsWith('#')) {
        if (!family.head.includes(line)) family.head.push(line);
        continue;
      }
      const [, name, labels, value] = /^([\w:]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined) continue;
      const all = [`worker="${worker}"`, ...(labels === undefined || labels === '' ? [] : [labels])];
      family.samples.push(`${name}{${all.join(',')}} ${value}`);
    }
  }
  const lines = [...families.values()].flatMap(({ head, samples }) => [...head, ...samples]);
  return `${lines.join('\n')}\n`;
}

/** Asks every worker, by its number, for its metrics. Never rejects. */
async function collectMetrics(workers: ReadonlyMap<number, Worker>): Promise<string> {
  const texts = await Promise.all(
    [...workers].map(async ([number, worker]) => [number, await metricsOf(worker)] as const),
  );
  return mergeMetrics(texts.toSorted(([one], [other]) => one - other));
}

async function metricsOf(worker: Worker): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(''), ANSWER_MS);
  const read = (message: unknown): void => {
    if (isMetricsAnswer(message)) resolve(message.metrics);
  };
  worker.on('message', read);
  worker.send('metrics', (error) => {
    if (error !== null) resolve('');
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    worker.off('message', read);
  }
}
