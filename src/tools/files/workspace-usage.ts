/** How much a session's folder holds, even while a program changes it. */
import { constants, type Dir } from 'node:fs';
import { chmod, lstat, open, opendir } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from '../../protocol/errors.ts';

/** All files of a session's folder together, in bytes. */
export const MAX_WORKSPACE_BYTES = 256 * 1024 * 1024;
/** Files and folders of a session's folder. */
export const MAX_WORKSPACE_ENTRIES = 10_000;

export interface WorkspaceUsage {
  /** On the disk, so that a sparse file counts what it costs. */
  bytes: number;
  entries: number;
}

/** What a folder may hold; counting stops beyond it. */
export const WORKSPACE_LIMITS: WorkspaceUsage = {
  bytes: MAX_WORKSPACE_BYTES,
  entries: MAX_WORKSPACE_ENTRIES,
};

/**
 * Counts everything below a folder, links themselves but not their targets, and stops once `enough` is exceeded. What
 * vanishes in the meantime does not count. A folder whose mode locks its owner out is made readable again, so that
 * nothing hides in it. Throws the errors of the file system.
 */
export async function workspaceUsage(
  root: string,
  enough: WorkspaceUsage = WORKSPACE_LIMITS,
): Promise<WorkspaceUsage> {
  const used = { bytes: 0, entries: 0 };
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await unlessGone(readable(folder), folder === root);
    if (entries === undefined) continue;
    for await (const entry of entries) {
      const place = path.join(folder, entry.name);
      if (entry.isDirectory()) folders.push(place);
      used.entries += 1;
      used.bytes += ((await unlessGone(lstat(place)))?.blocks ?? 0) * 512;
      if (used.bytes > enough.bytes || used.entries > enough.entries) return used;
    }
  }
  return used;
}

async function readable(folder: string): Promise<Dir> {
  try {
    return await opendir(folder);
  } catch (error) {
    if (errorCode(error) !== 'EACCES') throw error;
    await makeReadable(folder);
    return await opendir(folder);
  }
}

/** Linux's O_PATH: a descriptor of the entry, which needs no permission to read it. */
const O_PATH = 0o10000000;

/** Through a descriptor, because a link put in the folder's place would be followed. */
async function makeReadable(folder: string): Promise<void> {
  const flags = O_PATH | (constants.O_NOFOLLOW ?? 0) | (constants.O_DIRECTORY ?? 0);
  await using handle = await open(folder, flags);
  await chmod(`/proc/self/fd/${handle.fd}`, 0o700);
}

async function unlessGone<T>(work: Promise<T>, mustExist = false): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!mustExist && ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCode(error))) return undefined;
    throw error;
  }
}
