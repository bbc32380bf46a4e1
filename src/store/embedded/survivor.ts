/** Ends a Postgres that has outlived the process that started it, before another one starts on its folder. */
import { execFile } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Log } from '../../contracts/log.ts';
import { sleep } from '../../lib/async/sleep.ts';

const POLL_MS = 20;
/** How long a clean shutdown may take, in milliseconds; then it ends at once, which loses nothing committed. */
const SHUTDOWN_MS = 15_000;

/**
 * The home's lock must be held, so no gateway uses the Postgres that `postmaster.pid` names. A pid that belongs to another
 * program by now, as after a restart of a container, is replaced by the one of this process, which Postgres as its child
 * does not take for another Postgres. Never throws: Postgres says itself when its folder is in use.
 */
export async function endSurvivor(folder: string, log: Log): Promise<void> {
  const file = path.join(folder, 'postmaster.pid');
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  if (!(pid > 0) || pid === process.pid || !isRunning(pid)) return;
  if (!(await runsOn(pid, folder))) {
    await writeFile(file, [process.pid, ...lines.slice(1)].join('\n')).catch((error: unknown) =>
      log.warn({ err: error }, 'embedded_database_pid_not_replaced'),
    );
    return;
  }
  log.warn({ pid }, 'embedded_database_survivor_ended');
  kill(pid, 'SIGINT');
  const deadline = performance.now() + SHUTDOWN_MS;
  while (isRunning(pid) && performance.now() < deadline) await sleep(POLL_MS);
  if (isRunning(pid)) kill(pid, 'SIGQUIT');
  while (isRunning(pid) && performance.now() < deadline + SHUTDOWN_MS) await sleep(POLL_MS);
}

function isRunning(pid: number): boolean {
  return kill(pid, 0);
}

/** False if there is no such process, or it belongs to another user. */
function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Every process of Postgres works in its data folder. */
async function runsOn(pid: number, folder: string): Promise<boolean> {
  if (process.platform !== 'linux') {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]);
    return stdout.includes('postgres') && stdout.includes(folder);
  }
  try {
    const [its, ours] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(folder)]);
    return its.dev === ours.dev && its.ino === ours.ino;
  } catch {
    // It belongs to another user, or has just ended.
    return false;
  }
}
