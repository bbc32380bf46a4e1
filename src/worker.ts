/** What a process knows about being one of several workers of a supervisor. */
import { existsSync } from 'node:fs';
import { isWildcard, networkAddresses, urlOfListener } from './lib/connection-url.ts';
import { PARLEY } from './protocol/texts/parley.ts';
import cluster from 'node:cluster';
import type { ChannelHealth } from './protocol/gateway-api.ts';

/** The variable that tells a worker its number. */
export const WORKER_NUMBER = 'PARLEY_WORKER';

/** The variable that tells a worker how often it was started again. */
export const WORKER_RESTARTS = 'PARLEY_WORKER_RESTARTS';

/** How often the supervisor has started this process again after it had died; 0 without a supervisor. */
export function workerRestarts(): number {
  return cluster.isWorker ? Number(process.env[WORKER_RESTARTS] ?? 0) : 0;
}

/** The states of the channels that are on, by name. */
export type ChannelStates = Readonly<Record<string, ChannelHealth['state']>>;

/** What is said about a channel in each state; the first is the best. */
const STATES = {
  up: '',
  degraded: ' degraded',
  starting: ' still connecting',
  standby: ' received by another node',
  dead: ' refused',
  off: '',
};
const BEST = [
  'up',
  'degraded',
  'starting',
  'standby',
  'dead',
  'off',
] as const satisfies (keyof typeof STATES)[];

/** The channels as the line of a start names them: `http, telegram still connecting`. */
export function channelList(channels: ChannelStates): string {
  return Object.entries(channels)
    .map(([name, state]) => `${name}${STATES[state]}`)
    .join(', ');
}

/** For workers that serve the same channels, which any one of them may hold: the best state of each. */
export function bestStates(all: readonly ChannelStates[]): ChannelStates {
  const names = [...new Set(all.flatMap((states) => Object.keys(states)))];
  const best = (name: string) => BEST.find((state) => all.some((states) => states[name] === state)) ?? 'off';
  return Object.fromEntries(names.map((name) => [name, best(name)]));
}

/** What a worker tells its supervisor once its channels receive. */
export interface WorkerReady {
  url: string;
  channels: ChannelStates;
  /** Signs a browser in; undefined without a terminal, and from all workers but the first. */
  link?: string | undefined;
}

/** True for such a message. */
export function isWorkerMessage(message: unknown): message is WorkerReady {
  return typeof message === 'object' && message !== null && 'url' in message && 'channels' in message;
}

/**
 * The name under which this process takes back its lanes after a restart; undefined for a process without a supervisor,
 * which holds the home itself.
 */
export function workerInstance(): string | undefined {
  const { [WORKER_NUMBER]: number, PARLEY_INSTANCE: instance } = process.env;
  return cluster.isWorker && number !== undefined && instance !== undefined
    ? `${instance}:${number}`
    : undefined;
}

/** The variable that tells a worker where the embedded database of its supervisor listens. */
export const WORKER_DATABASE = 'PARLEY_WORKER_DATABASE';

/** What the supervisor holds for this worker; undefined for a process without a supervisor. */
export function workerPlace(): { instance: string; socketPath: string | undefined } | undefined {
  const instance = workerInstance();
  return instance === undefined ? undefined : { instance, socketPath: process.env[WORKER_DATABASE] };
}

/** True for the process that speaks for all: the only one, or the first worker. */
export function speaksForAll(): boolean {
  return !cluster.isWorker || process.env[WORKER_NUMBER] === '1';
}

/** How a page can be opened: from other devices where `HOST` lets them in, and with a link that signs in, if there is one. */
export function openLines(url: string, link: string | undefined, inContainer = isInContainer()): string {
  const addresses = isWildcard(process.env['HOST'] ?? '') && !inContainer ? networkAddresses() : [];
  const urls = addresses.map((address) => urlOfListener(address, Number(URL.parse(url)?.port)));
  const network = `On your network: ${urls.join(' ')}  (${PARLEY} open --lan prints a QR code)\n`;
  const signIn = `Sign-in link (works once, for ten minutes):  ${link}\n`;
  return `${urls.length > 0 ? network : ''}${link === undefined ? '' : signIn}`;
}

/** True in a container of Docker or Podman, whose own addresses no other device can reach. */
export function isInContainer(): boolean {
  return existsSync('/.dockerenv') || existsSync('/run/.containerenv');
}

/** Tells the supervisor that this worker is ready. False when there is none. */
export function tellReady(ready: WorkerReady): boolean {
  if (!cluster.isWorker) return false;
  process.send?.(ready);
  return true;
}

/** Calls `stop` when the supervisor asks for it. */
export function onSupervisorStop(stop: () => void): void {
  if (cluster.isWorker) process.on('message', (message) => (message === 'stop' ? stop() : undefined));
}

/** True for a worker's own metrics, on their way to the supervisor. */
export function isMetricsAnswer(message: unknown): message is { metrics: string } {
  return typeof message === 'object' && message !== null && 'metrics' in message;
}

/** Longest wait for the supervisor, in milliseconds. */
const SUPERVISOR_MS = 5_000;

/**
 * The metrics of all workers; those of this process if there is no supervisor, or if it does not answer. `ownMetrics` returns
 * the latter, and answers the supervisor from now on. Never rejects unless `ownMetrics` does.
 */
export function sharedMetrics(ownMetrics: () => Promise<string>): () => Promise<string> {
  if (!cluster.isWorker) return ownMetrics;
  process.on('message', (message) => {
    if (message === 'metrics') void ownMetrics().then((metrics) => process.send?.({ metrics }));
  });
  return async () => {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const timer = setTimeout(() => resolve(undefined), SUPERVISOR_MS);
    const read = (message: unknown): void => {
      if (isMerged(message)) resolve(message.merged);
    };
    process.on('message', read);
    process.send?.('metrics of all');
    try {
      return (await promise) ?? (await ownMetrics());
    } finally {
      clearTimeout(timer);
      process.off('message', read);
    }
  };
}

function isMerged(message: unknown): message is { merged: string } {
  return typeof message === 'object' && message !== null && 'merged' in message;
}
