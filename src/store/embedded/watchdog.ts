/**
 * Ends Postgres when this process dies, however it dies: a shell waits at a pipe from this process, which the system
 * closes with it, and then tells Postgres to shut down.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Log } from '../../contracts/log.ts';

/** Each line is the pid of Postgres from now on; empty = there is none. Then the pipe ends. */
const SCRIPT = 'while read -r line; do pid=$line; done; [ -z "$pid" ] || kill -INT "$pid"';

/** A shell that has lived shorter does not work here, in milliseconds: another one would not, either. */
const WORKS_MS = 1_000;

export interface Watchdog {
  /** Postgres is this process now; undefined = none. Never throws. */
  watch(pid: number | undefined): void;
  /** Postgres has ended. Never throws. */
  end(): void;
}

/** Starts it. A watchdog that is killed is replaced. Never throws. */
export function startWatchdog(log: Log): Watchdog {
  let pid: number | undefined;
  let isOver = false;
  let shell = start();
  return {
    watch: (next) => tell(shell, (pid = next)),
    end() {
      isOver = true;
      tell(shell, undefined);
      shell.stdin?.end();
    },
  };

  function start(): ChildProcess {
    const since = performance.now();
    // A session of its own: what a terminal sends to all its processes does not reach it.
    const child = spawn('sh', ['-c', SCRIPT], {
      cwd: '/',
      detached: true,
      env: { PATH: process.env['PATH'] ?? '' },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.on('error', (error) => log.warn({ err: error }, 'embedded_database_unguarded'));
    // It ended: the listener below starts another.
    child.stdin.on('error', () => undefined);
    child.once('exit', (code, signal) => {
      if (isOver) return;
      if (performance.now() - since < WORKS_MS) log.warn({ code, signal }, 'embedded_database_unguarded');
      else tell((shell = start()), pid);
    });
    child.unref();
    if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref();
    return child;
  }

  function tell(child: ChildProcess, watched: number | undefined): void {
    child.stdin?.write(`${watched ?? ''}\n`);
  }
}
