/** Watches a run from outside for the limits that no limit of a single process enforces. */
import { readdir, readFile, readlink, stat, statfs } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { unless } from '../../protocol/errors.ts';
import { WORKSPACE_LIMITS, workspaceUsage, type WorkspaceUsage } from '../files/save-file.ts';

/** Bytes of one page of memory; /proc/<pid>/statm counts pages. 4 KiB on x64 and on nearly every arm64. */
const PAGE_BYTES = 4_096;

/** Most processes that are examined: more than a run may have. */
const MAX_PROCESSES_SEEN = 512;

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

const text = (file: string): Promise<string> => unlessHidden(readFile(file, 'utf8'), '');

const listed = (folder: string): Promise<string[]> => unlessHidden(readdir(folder), []);

/** What is reported of a process that has ended, and of one that runs an unreadable file, which shows little of itself. */
const GONE = ['ENOENT', 'ESRCH'];

const HIDDEN = ['EACCES', 'EPERM'];

/** What a run may use. */
export interface RunLimits {
  /** Memory of all processes of a run together, in bytes. */
  memoryBytes: number;
  /** What the workspace may grow to; one that already holds more must not grow. */
  workspace: WorkspaceUsage;
  /** What a run leaves free on the workspace's disk, in bytes, no matter who fills it. */
  freeDiskBytes: number;
}

export const RUN_LIMITS: RunLimits = {
  memoryBytes: 1024 * 1024 * 1024,
  workspace: WORKSPACE_LIMITS,
  freeDiskBytes: 256 * 1024 * 1024,
};

/** Pause between two checks, in milliseconds; a run may exceed a limit by what it uses in that time. */
const LOOK_EVERY_MS = 50;
/** A slow check is followed by a pause of this many times its length. */
const PAUSE_PER_LOOK = 5;

/** What the workspace may hold at the end of a run that starts now. Throws the errors of the file system. */
export async function roomFor(workspace: string, limits: RunLimits): Promise<WorkspaceUsage> {
  const most = { bytes: Number.MAX_SAFE_INTEGER, entries: limits.workspace.entries * 20 };
  const current = await workspaceUsage(workspace, most);
  return {
    bytes: Math.max(current.bytes, limits.workspace.bytes),
    entries: Math.max(current.entries, limits.workspace.entries),
  };
}

/**
 * Checks a run by its first process until it is `over`. Resolves with why it must be ended, as the rest of "ended: …",
 * or undefined. Throws when it cannot check: then the run must be ended, too.
 */
export async function watchRun(
  firstPid: number,
  workspace: string,
  room: WorkspaceUsage,
  limits: RunLimits,
  over: AbortSignal,
): Promise<string | undefined> {
  const { dev } = await stat(workspace);
  while (!over.aborted) {
    const began = performance.now();
    const pids = await processesOf(firstPid);
    if ((await memoryOf(pids, limits.memoryBytes)) > limits.memoryBytes) return tooMuchMemory(limits);
    const unnamed = await unnamedBytesOf(pids, dev);
    const usage = await workspaceUsage(workspace, { ...room, bytes: room.bytes - unnamed });
    if (usage.bytes + unnamed > room.bytes) {
      return `the workspace may hold at most ${mib(limits.workspace.bytes)}: remove something first`;
    }
    if (usage.entries > room.entries) {
      return `the workspace may hold at most ${limits.workspace.entries} files and folders: remove something first`;
    }
    const { bavail, bsize } = await statfs(workspace);
    if (bavail * bsize < limits.freeDiskBytes) {
      return `the disk of the workspace has less than ${mib(limits.freeDiskBytes)} left`;
    }
    const pause = Math.max(LOOK_EVERY_MS, PAUSE_PER_LOOK * (performance.now() - began));
    await setTimeout(pause, undefined, { signal: over, ref: false }).catch((error: unknown) => {
      if (!over.aborted) throw error;
    });
  }
  return undefined;
}

/** Why a run that held too much memory was ended. */
export function tooMuchMemory({ memoryBytes }: RunLimits): string {
  return `its programs together used more than ${mib(memoryBytes)} of memory`;
}

const mib = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MiB`;

/** The first process of a run and all its descendants. Orphans are reparented to the first one, so none is missing. */
async function processesOf(first: number): Promise<number[]> {
  const pids = [first];
  for (let at = 0; at < pids.length && pids.length < MAX_PROCESSES_SEEN; at += 1) {
    const threads = await listed(`/proc/${pids[at]}/task`);
    for (const thread of threads) {
      const children = await text(`/proc/${pids[at]}/task/${thread}/children`);
      pids.push(...children.split(' ').filter(Boolean).map(Number));
    }
  }
  return pids;
}

/**
 * Bytes of memory they hold together. Shared memory counts once, or for each while that stays within `enough`, which is
 * cheaper. `proc` is where processes are described.
 */
export async function memoryOf(pids: readonly number[], enough: number, proc = '/proc'): Promise<number> {
  const resident = await Promise.all(
    pids.map(async (pid) => Number((await text(`${proc}/${pid}/statm`)).split(' ')[1] ?? 0) * PAGE_BYTES),
  );
  const atMost = sum(resident);
  if (atMost <= enough) return atMost;
  return sum(await Promise.all(pids.map((pid, at) => shareOf(`${proc}/${pid}`, resident[at] ?? 0))));
}

/** A process's memory with its share of what others hold: all of it if the process hides that, none if it has ended. */
async function shareOf(place: string, resident: number): Promise<number> {
  const share = unless(GONE, readFile(`${place}/smaps_rollup`, 'utf8'), '').then(
    (rollup) => Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * 1_024,
  );
  return await unless(HIDDEN, share, resident);
}

/** Bytes on the disk `device` of deleted files they hold open: no walk through the folder finds these. */
async function unnamedBytesOf(pids: readonly number[], device: number): Promise<number> {
  const sizes = new Map<string, number>();
  for (const pid of pids) {
    for (const fd of await listed(`/proc/${pid}/fd`)) {
      const place = `/proc/${pid}/fd/${fd}`;
      if (!(await unlessHidden(readlink(place), '')).endsWith(' (deleted)')) continue;
      const stats = await unlessHidden(stat(place), undefined);
      if (stats?.dev === device && stats.nlink === 0) sizes.set(String(stats.ino), stats.blocks * 512);
    }
  }
  return sum([...sizes.values()]);
}

/** Processes may end while they are examined, and some show little of themselves. */
function unlessHidden<T, Other>(work: Promise<T>, fallback: Other): Promise<T | Other> {
  return unless([...GONE, ...HIDDEN], work, fallback);
}
