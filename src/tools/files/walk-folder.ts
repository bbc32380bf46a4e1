/** The walk through everything below a session's folder, which no link, and no race of a program with it, can lead outside. */
import { constants, type Dir } from 'node:fs';
import { chmod, lstat, open, opendir, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from '../../protocol/errors.ts';
import { pathError } from './workspace.ts';

/** Linux's O_PATH: a descriptor of the entry, which needs no permission to read it. */
const O_PATH = 0o10000000;
const FOLDER_ITSELF = O_PATH | (constants.O_NOFOLLOW ?? 0) | (constants.O_DIRECTORY ?? 0);

/** Where a descriptor shows which folder it is, and leads to it. */
const ANCHORED = process.platform === 'linux';

/** An entry below the folder: its path from there, and whether it is a plain file. */
interface FolderEntry {
  name: string;
  isFile: boolean;
  /** Leads to the entry, until the next one is taken, whatever happens to the names of the folders above it. */
  place: string;
}

/**
 * Yields every entry below the folder, folders before their entries, following no links; none if it is missing. Unbounded:
 * the caller counts and stops. Throws `ToolError` for a folder that cannot be read, or gives its name to a link meanwhile.
 */
export async function* walkFolder(root: string): AsyncGenerator<FolderEntry> {
  try {
    yield* walk(root, ['ENOENT'], false);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw pathError(error, '.');
  }
}

/**
 * Yields the same while programs change what is there: what vanishes is left out, and a folder whose mode locks its owner
 * out is made readable, so that nothing hides in it. Throws the errors of the file system, also if the folder is missing.
 */
export async function* walkEverything(root: string): AsyncGenerator<FolderEntry> {
  yield* walk(root, ['ENOENT', 'ENOTDIR', 'ELOOP'], true);
}

/** Skips folders whose opening fails with one of these codes; one that was moved is `ENOTDIR`. */
async function* walk(root: string, skips: readonly string[], unlock: boolean): AsyncGenerator<FolderEntry> {
  const base = await realpath(root);
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const isRoot = folder === '';
    await using listing = await openListing(path.join(base, folder), unlock).catch((error: unknown) => {
      if (isRoot || !skips.includes(errorCode(error))) throw error;
      return undefined;
    });
    if (listing === undefined) continue;
    for await (const entry of listing.entries) {
      const name = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) folders.push(name);
      yield { name, isFile: entry.isFile(), place: path.join(listing.place, entry.name) };
    }
  }
}

interface Listing extends AsyncDisposable {
  entries: Dir;
  place: string;
}

/** Opens the folder that has this path now: its descriptor tells whether a link on the way has led to another. */
async function openListing(folder: string, unlock: boolean): Promise<Listing> {
  if (!ANCHORED) {
    if ((await lstat(folder)).isSymbolicLink()) throw moved(folder);
    return { entries: await opendir(folder), place: folder, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const handle = await open(folder, FOLDER_ITSELF);
  const place = `/proc/self/fd/${handle.fd}`;
  try {
    if ((await readlink(place)) !== folder) throw moved(folder);
    const entries = await opendir(place).catch(async (error: unknown) => {
      if (!unlock || errorCode(error) !== 'EACCES') throw error;
      await chmod(place, 0o700);
      return await opendir(place);
    });
    return { entries, place, [Symbol.asyncDispose]: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function moved(folder: string): Error {
  return Object.assign(new Error(`${folder} is not where it was`), { code: 'ENOTDIR' });
}
