/**
 * A control group for one run (cgroup v2, Documentation/admin-guide/cgroup-v2.rst), if this process may create one: the
 * kernel then limits memory and processes of the whole run. Elsewhere only the watcher does.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sleep } from '../../lib/async/sleep.ts';
import { errorCode } from '../../protocol/errors.ts';

/** Processes and threads of one run. */
export const MAX_PROCESSES = 64;
/** Where the kernel exposes its control groups. */
const HIERARCHY = '/sys/fs/cgroup';
/** bwrap's own processes, outside and inside of the sandbox. */
const OWN_PROCESSES = 4;
/** A group becomes empty a moment after its last process has ended. */
const REMOVE_TRIES = 20;
const REMOVE_AFTER_MS = 25;

/** The group of one run. */
export interface RunGroup {
  /**
   * Adds a process, with everything it starts. Never throws: false when the kernel refuses, because this user may not
   * move processes in the parent folder; then the watcher alone limits the run.
   */
  add(pid: number): Promise<boolean>;
  /** True when the kernel killed a program of the run because it was out of memory. Never throws. */
  wasOutOfMemory(): Promise<boolean>;
  /** Removes it after the run. Never throws: false when it stays, empty, until the machine shuts down. */
  close(): Promise<boolean>;
}

/**
 * The folder for groups of runs: next to this process's, because a group with processes has no groups below it.
 * Undefined without cgroup v2. `groupLines` is /proc/self/cgroup.
 */
export function groupsFolder(groupLines = groupsOfProcess(), hierarchy = HIERARCHY): string | undefined {
  const [, group] = /^0::(\/.+)$/m.exec(groupLines) ?? [];
  return group === undefined ? undefined : path.join(hierarchy, path.dirname(group));
}

function groupsOfProcess(): string {
  try {
    return readFileSync('/proc/self/cgroup', 'utf8');
  } catch {
    // Not Linux, or no control groups: none can be created.
    return '';
  }
}

/**
 * Creates the group of a run in `folder`; undefined when this user may not, or cannot set the limits there, which only
 * trying shows. Throws only unexpected errors of the file system.
 */
export async function openRunGroup(
  folder: string | undefined,
  memoryBytes: number,
): Promise<RunGroup | undefined> {
  if (folder === undefined) return undefined;
  const place = path.join(folder, `parley-run-${randomUUID()}`);
  const set = (file: string, value: string | number): Promise<void> =>
    writeFile(path.join(place, file), String(value));
  try {
    await mkdir(place);
  } catch (error) {
    return unlessRefused(error);
  }
  try {
    await set('memory.max', memoryBytes);
    await set('memory.swap.max', 0);
    await set('memory.oom.group', 1);
    await set('pids.max', MAX_PROCESSES + OWN_PROCESSES);
  } catch (error) {
    await removeGroup(place);
    return unlessRefused(error);
  }
  return {
    add: (pid) =>
      set('cgroup.procs', pid).then(
        () => true,
        () => false,
      ),
    async wasOutOfMemory() {
      const events = await readFile(path.join(place, 'memory.events'), 'utf8').catch(() => '');
      return /^oom_kill [1-9]/m.test(events);
    },
    close: () => removeGroup(place),
  };
}

async function removeGroup(place: string): Promise<boolean> {
  for (let attempt = 0; attempt < REMOVE_TRIES; attempt += 1) {
    try {
      await rmdir(place);
      return true;
    } catch (error) {
      if (errorCode(error) !== 'EBUSY') return false;
      await sleep(REMOVE_AFTER_MS);
    }
  }
  return false;
}

/** No permission to write, a read-only hierarchy, no such controller: then there are no groups here. */
function unlessRefused(error: unknown): undefined {
  if (['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'EBUSY', 'EOPNOTSUPP'].includes(errorCode(error)))
    return undefined;
  throw error;
}
