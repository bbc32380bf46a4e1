/** The folder of a home, created if it is missing. */
import { chmod, mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { StoreError } from '../../protocol/errors.ts';

/** Accessible to its owner only. */
const PRIVATE = 0o700;

/** Creates the folder (0700) if it is missing. Throws `StoreError('home_unwritable')`. */
export async function makeHome(home: string): Promise<void> {
  try {
    await makeFolder(home);
  } catch (error) {
    throw homeUnwritable(home, error);
  }
}

/** The error for a home that is not writable. */
export function homeUnwritable(home: string, cause: unknown): StoreError {
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new StoreError(
    'home_unwritable',
    `GATEWAY_HOME ${home} is not writable${code}: set it to a folder this user can write.`,
    { cause },
  );
}

/**
 * Creates a folder (0700) and its parents. One level at a time: Node.js would retry forever where the system refuses
 * a folder with ENOENT although its parent exists, for example below /proc. Throws the system's error.
 */
export async function makeFolder(folder: string): Promise<void> {
  if (await isFolder(folder)) return;
  const above = path.dirname(folder);
  if (above !== folder) await makeFolder(above);
  try {
    await mkdir(folder, PRIVATE);
  } catch (error) {
    // Another process may have been first.
    if (await isFolder(folder)) return;
    throw error;
  }
  // The umask of the process may have removed rights from the mode above.
  await chmod(folder, PRIVATE);
}

async function isFolder(folder: string): Promise<boolean> {
  try {
    return (await stat(folder)).isDirectory();
  } catch {
    // Missing, or inaccessible: creating it will show which.
    return false;
  }
}
