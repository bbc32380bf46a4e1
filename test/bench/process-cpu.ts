/** CPU time (in milliseconds) and memory of processes as the kernel counts them. Only Linux reports them. */
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type TablePlace } from '../crash/rows.ts';

/** Length of a clock tick: Linux reports CPU times in hundredths of a second on every platform. */
const TICK_MS = 10;

/** CPU time of a process and of those of its children that have ended; undefined where /proc does not report it. */
export function cpuMs(pid: number | undefined): number | undefined {
  const fields = statOf(pid);
  return fields && TICK_MS * sum(fields.slice(CPU_TIMES, CPU_TIMES + 4).map(Number));
}

/** CPU time of a process with all its children, running ones and ended ones; undefined where /proc does not report it. */
export function familyCpuMs(pid: number | undefined): number | undefined {
  const own = cpuMs(pid);
  if (own === undefined) return undefined;
  const children = readdirSync('/proc').filter((name) => statOf(Number(name))?.[PARENT] === String(pid));
  return own + sum(children.map((child) => cpuMs(Number(child)) ?? 0));
}

/** Memory of a process with all that descend from it, in MB, shared pages counted once; undefined where /proc does not report it. */
export function familyMb(pid: number | undefined): number | undefined {
  const [, kilobytes] = /^Pss: +(\d+) kB$/m.exec(textOf(pid, 'smaps_rollup') ?? '') ?? [];
  if (kilobytes === undefined) return undefined;
  const children = readdirSync('/proc').filter((name) => statOf(Number(name))?.[PARENT] === String(pid));
  return Number(kilobytes) / 1_024 + sum(children.map((child) => familyMb(Number(child)) ?? 0));
}

/** The process id of the Postgres server of these tables; undefined where it is no process of this machine. */
export async function postmasterOf(place: TablePlace): Promise<number | undefined> {
  const sql = connect(place);
  try {
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const parent = Number(statOf(row?.pid)?.[PARENT]);
    return nameOf(row?.pid) === 'postgres' && nameOf(parent) === 'postgres' ? parent : undefined;
  } finally {
    await sql.end();
  }
}

/** Positions in /proc/<pid>/stat behind the name (proc(5)): the parent, and utime, stime, cutime, cstime. */
const PARENT = 1;
const CPU_TIMES = 11;

/** The fields of /proc/<pid>/stat that follow the name; undefined if there is no such process. */
function statOf(pid: number | undefined): string[] | undefined {
  const text = textOf(pid, 'stat');
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

function nameOf(pid: number | undefined): string | undefined {
  return textOf(pid, 'comm')?.trim();
}

function textOf(pid: number | undefined, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // The process has ended, or this is not Linux.
    return undefined;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, next) => total + next, 0);
}
