/** The walk through a session's folder while programs may still change it. */
import { opendir } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from '../../contracts/errors.ts';
import { pathError } from './workspace.ts';

/** An entry below the folder: its path from there, and whether it is a plain file. */
export interface FolderEntry {
  name: string;
  isFile: boolean;
}

/**
 * Yields every entry below the folder, each folder before what it contains; links are not followed. A folder that is missing
 * has no entries. Unbounded: the caller counts and stops. Throws `ToolError` for a folder that cannot be read.
 */
export async function* walkFolder(place: string): AsyncGenerator<FolderEntry> {
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const entry of await entriesOf(path.join(place, folder))) {
      const name = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) folders.push(name);
      yield { name, isFile: entry.isFile() };
    }
  }
}

async function entriesOf(place: string) {
  try {
    return await opendir(place);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw pathError(error, '.');
  }
}
