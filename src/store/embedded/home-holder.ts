/** The process that holds a home according to its lock file, and whether it is still running. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { isLifeSocketOpen } from './life-socket.ts';
import { errorCode } from '../../contracts/errors.ts';

/**
 * `life` names the socket in the home that is open while the process runs; without it, `pid` and `started` (which
 * distinguishes two processes with the same pid) identify the process. `socketPath` is where the embedded database
 * listens; `leaving`: the process is about to release the home, so that others can wait for it. `machine` is the
 * running system of a process that renews its lock file, so that others can see that it is running even if they
 * cannot reach its socket.
 */
export interface HomeHolder {
  pid: number;
  started: string;
  life?: string | undefined;
  socketPath?: string | undefined;
  leaving?: boolean | undefined;
  machine?: string | undefined;
}

/** Content of a lock file whose holder has released the home. */
export const NOBODY: HomeHolder = { pid: 0, started: '' };

/** This process. */
export function thisProcess(): HomeHolder {
  return { pid: process.pid, started: startOf(process.pid) ?? '' };
}

/**
 * A name for this running system that changes at each boot; containers on one kernel share it (random(4), boot_id).
 * Without /proc, the name of the host.
 */
export function thisMachine(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Not Linux.
    return `host:${hostname()}`;
  }
}

/** Parses the text of a lock file; undefined if it is malformed. */
export function parseHolder(text: string): HomeHolder {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Lock files are complete before they get their name: this one was not written by Parley and locks
    // nothing.
    return NOBODY;
  }
  if (typeof value !== 'object' || value === null || !('pid' in value) || !('started' in value))
    return NOBODY;
  const socketPath = 'socketPath' in value ? String(value.socketPath) : undefined;
  const life = 'life' in value ? path.basename(String(value.life)) : undefined;
  const leaving = 'leaving' in value && value.leaving === true;
  const machine = 'machine' in value ? String(value.machine) : undefined;
  return { pid: Number(value.pid), started: String(value.started), life, socketPath, leaving, machine };
}

/** True while the process that wrote the lock in `home` is running. */
export async function isAlive(home: string, holder: HomeHolder): Promise<boolean> {
  if (!(holder.pid > 0)) return false;
  return holder.life === undefined ? isSameProcess(holder) : await isLifeSocketOpen(home, holder.life);
}

/** True while a process with this pid and this start time runs in the namespace of this one; false for a zombie. */
function isSameProcess(holder: HomeHolder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    // EPERM: it runs, but belongs to another user.
    if (errorCode(error) !== 'EPERM') return false;
  }
  const started = startOf(holder.pid);
  return started === undefined ? process.platform !== 'linux' : started === holder.started;
}

/**
 * When the kernel started the process, in clock ticks since boot (proc(5), field 22 of /proc/<pid>/stat); undefined
 * for a zombie, a dead process, or a system without /proc.
 */
export function startOf(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // No such process, or no /proc.
    return undefined;
  }
  // The command's name is in parentheses and may contain anything: fields are counted after the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}
