/** The process of the embedded database: its settings, start, log and end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Log } from '../../protocol/log.ts';
import type { Cluster } from './data-folder.ts';
import { commandFor, openFailure } from './programs.ts';

/** How long a start may take, in milliseconds: after a crash it repeats what the log holds, at most `max_wal_size`. */
const READY_TIMEOUT_MS = 120_000;

/** Ways to end it, and how long each may take, in milliseconds: a clean shutdown; at once; by force. */
const ENDS = [
  ['SIGINT', 10_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
] as const;

/** Settings for a small machine with few users. Defaults that keep committed data safe are spelled out. */
const SETTINGS: Readonly<Record<string, string>> = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // Otherwise macOS leaves it in the disk's own cache.
  ...(process.platform === 'darwin' && { wal_sync_method: 'fsync_writethrough' }),
  // Memory.
  shared_buffers: '32MB',
  huge_pages: 'off',
  maintenance_work_mem: '16MB',
  // No replicas, and the fewest processes.
  wal_level: 'minimal',
  max_wal_senders: '0',
  io_method: 'sync',
  max_worker_processes: '0',
  max_parallel_workers: '0',
  max_parallel_workers_per_gather: '0',
  max_logical_replication_workers: '0',
  autovacuum_worker_slots: '1',
  autovacuum_max_workers: '1',
  jit: 'off',
  // Few writes while little happens, and a short recovery.
  max_wal_size: '64MB',
  min_wal_size: '16MB',
  checkpoint_timeout: '15min',
  autovacuum_naptime: '1min',
  // The log: neither statements nor rows, which contain what people wrote.
  log_line_prefix: '%e ',
  log_min_messages: 'warning',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  lc_messages: 'C',
  listen_addresses: '',
  unix_socket_permissions: '0700',
};

/** `<SQLSTATE> <severity>:  <text>`, as `log_line_prefix` has it. */
const LINE = /^(\w{5}) ([A-Z]+): (.*)$/;
/** Classes of errors that are no caller's: lack of resources, the operator, the system, the configuration, damage. */
const SERIOUS = /^(53|58|F0|XX)/;

/** Where it listens, and for how many connections. */
export interface ServerPlace {
  socketFolder: string;
  connections: number;
}

/**
 * Starts Postgres and waits until it accepts connections. A session of its own keeps a terminal's signals from it, and
 * it keeps this process running only until it is ready. Rejects with `StoreError` once it has ended.
 */
export async function startServer(
  cluster: Cluster,
  place: ServerPlace,
  log: Log,
  onSpawn: (pid: number | undefined) => void,
): Promise<ChildProcess> {
  const { folder, programs, account } = cluster;
  const settings = { ...SETTINGS, max_connections: String(place.connections) };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const base = ['-D', folder, '-k', place.socketFolder, '-p', '5432'];
  const command = await commandFor(account, programs.postgres, [...base, ...args]);
  const child = spawn(command.file, command.args, {
    cwd: folder,
    detached: true,
    env: programs.environment,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...command.account,
  });
  onSpawn(child.pid);
  const words: string[] = [];
  const ready = Promise.withResolvers<void>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (line.includes('database system is ready to accept connections')) ready.resolve();
    const failure = logLine(line, log);
    if (failure !== undefined) words.push(failure);
  });
  const fail = (reason: string, cause?: unknown): void =>
    ready.reject(openFailure(folder, words.join('; ') || reason, { cause, account }));
  child.on('error', (error) => fail(error.message, error));
  child.once('close', (code, signal) => fail(`Postgres ended with ${signal ?? `code ${code}`}`));
  const timer = setTimeout(() => fail('Postgres is not ready after two minutes'), READY_TIMEOUT_MS);
  try {
    await ready.promise;
  } catch (error) {
    await endServer(child, log);
    throw error;
  } finally {
    clearTimeout(timer);
  }
  child.unref();
  if ('unref' in child.stderr && typeof child.stderr.unref === 'function') child.stderr.unref();
  return child;
}

/** True once the process has ended. */
export function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined;
}

/** Shuts it down cleanly; by force if that takes too long. Never throws. */
export async function endServer(child: ChildProcess, log: Log): Promise<void> {
  child.ref();
  for (const [signal, limitMs] of ENDS) {
    if (hasEnded(child)) return;
    const exit = once(child, 'exit', { signal: AbortSignal.timeout(limitMs) });
    child.kill(signal);
    try {
      await exit;
    } catch (error) {
      log.warn({ err: error, signal }, 'embedded_database_close_timeout');
    }
  }
}

/** Writes a line of Postgres to the log; returns its text if it may be the reason why the server ends. */
function logLine(line: string, log: Log): string | undefined {
  const [, code = '', severity = '', text = line] = LINE.exec(line) ?? [];
  const fields = { code, text };
  const isFatal = severity === 'FATAL' || severity === 'PANIC' || severity === '';
  // Class 57 are callers that come while it starts or stops.
  if (isFatal && !code.startsWith('57')) {
    log.error(fields, 'embedded_database_error');
    return text;
  }
  if (SERIOUS.test(code)) log.error(fields, 'embedded_database_error');
  else log.debug(fields, 'embedded_database_log');
  return undefined;
}
