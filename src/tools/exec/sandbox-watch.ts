/**
 * Watches a run from outside and reports when it exceeds its limits: those that no limit of a single process enforces.
 */
import { stat, statfs } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { WORKSPACE_LIMITS, workspaceUsage, type WorkspaceUsage } from '../files/workspace-usage.ts';
import { memoryOf, processesOf, unnamedBytesOf } from './run-processes.ts';

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

/** What is watched. */
export interface WatchedRun {
  /** The first process of the run; undefined when it ended before it was known. */
  firstPid: number | undefined;
  workspace: string;
  /** Aborted when the run is over. */
  over: AbortSignal;
}

/** What the workspace may hold at the end of a run that starts now. Throws the errors of the file system. */
export async function roomFor(workspace: string, limits: RunLimits): Promise<WorkspaceUsage> {
  const most = { bytes: Number.MAX_SAFE_INTEGER, entries: limits.workspace.entries * 20 };
  const held = await workspaceUsage(workspace, most);
  return {
    bytes: Math.max(held.bytes, limits.workspace.bytes),
    entries: Math.max(held.entries, limits.workspace.entries),
  };
}

/**
 * Checks until the run is over. Resolves with why it must be ended, as the rest of "ended: …", or with undefined when
 * it ended on its own. Throws when it cannot check: then the run must be ended, too.
 */
export async function watchRun(
  { firstPid, workspace, over }: WatchedRun,
  room: WorkspaceUsage,
  limits: RunLimits,
): Promise<string | undefined> {
  if (firstPid === undefined) return undefined;
  const { dev } = await stat(workspace);
  while (!over.aborted) {
    const began = performance.now();
    const pids = await processesOf(firstPid);
    if ((await memoryOf(pids, limits.memoryBytes)) > limits.memoryBytes) {
      return tooMuchMemory(limits);
    }
    const unnamed = await unnamedBytesOf(pids, dev);
    const used = await workspaceUsage(workspace, { ...room, bytes: room.bytes - unnamed });
    if (used.bytes + unnamed > room.bytes) {
      return `the workspace may hold ${mib(limits.workspace.bytes)}: remove something first`;
    }
    if (used.entries > room.entries) {
      return `the workspace may hold ${limits.workspace.entries} files and folders: remove something first`;
    }
    const { bavail, bsize } = await statfs(workspace);
    if (bavail * bsize < limits.freeDiskBytes) {
      return `the disk of the workspace has less than ${mib(limits.freeDiskBytes)} left`;
    }
    const pause = Math.max(LOOK_EVERY_MS, PAUSE_PER_LOOK * (performance.now() - began));
    await setTimeout(pause, undefined, { signal: over, ref: false }).catch(ignoreAbort);
  }
  return undefined;
}

/** Why a run that held too much memory was ended. */
export function tooMuchMemory({ memoryBytes }: RunLimits): string {
  return `its programs held more than ${mib(memoryBytes)} of memory together`;
}

const mib = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MiB`;

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error && error.name === 'AbortError')) throw error;
}
