/** The walk through everything below a folder, which no link, and no race of a program with it, can lead outside. */
import { constants, type Dir } from 'node:fs';
import { chmod, type FileHandle, lstat, open, opendir, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';

/** Linux's O_PATH: a descriptor of the entry, which needs no permission to read it. */
const O_PATH = 0o10000000;
const FOLDER_ITSELF = O_PATH | (constants.O_NOFOLLOW ?? 0) | (constants.O_DIRECTORY ?? 0);

/** Where a descriptor shows which folder it is, and leads to it. */
const ANCHORED = process.platform === 'linux';

/** An entry below the folder: its path from there, and whether it is a plain file. */
export interface FolderEntry {
  name: string;
  isFile: boolean;
  /** Leads to the entry, until the next one is taken, whatever happens to the names of the folders above it. */
  place: string;
}

/** How a walk treats what it meets; by default it fails for every folder that cannot be read. */
export interface WalkOptions {
  /** Folders whose opening fails with one of these codes are left out; one that was moved, or became a link, is `ENOTDIR`. */
  skips?: readonly string[];
  /** Makes a folder readable whose mode locks its owner out, so that nothing hides in it. */
  unlock?: boolean;
  /** False for an entry that is left out, a folder with all that is in it. */
  enters?: (name: string) => boolean;
}

/**
 * Yields every entry below the folder, folders before their entries, following no links. Unbounded: the caller counts and
 * stops. Throws the errors of the file system, also if the folder is missing.
 */
export async function* walkFolder(
  root: string,
  { skips = [], unlock = false, enters = () => true }: WalkOptions = {},
): AsyncGenerator<FolderEntry> {
  const base = await realpath(root);
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const isRoot = folder === '';
    await using listing = await openListing(path.join(base, folder), unlock).catch((error: unknown) => {
      if (isRoot || !skips.includes(codeOf(error))) throw error;
      return undefined;
    });
    if (listing === undefined) continue;
    for await (const entry of listing.entries) {
      const name = path.posix.join(folder, entry.name);
      if (!enters(name)) continue;
      if (entry.isDirectory()) folders.push(name);
      yield { name, isFile: entry.isFile(), place: path.join(listing.place, entry.name) };
    }
  }
}

/** Walks while programs change what is there: what vanishes, or gives its name to a link, is left out; nothing hides. */
export function walkEverything(root: string, enters?: WalkOptions['enters']): AsyncGenerator<FolderEntry> {
  const skips = ['ENOENT', 'ENOTDIR', 'ELOOP'];
  return walkFolder(root, { skips, unlock: true, ...(enters !== undefined && { enters }) });
}

/** A link is not followed, and a pipe without a writer does not block. */
const PLAIN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Opens a plain file at the place of an entry; undefined for what is none now, or has vanished. With `unlock`, a file whose
 * mode locks its owner out is made readable. Throws the other errors of the file system.
 */
export async function openPlainFile(place: string, { unlock = false } = {}): Promise<FileHandle | undefined> {
  try {
    const handle = await open(place, PLAIN);
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
    return undefined;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'ENODEV'].includes(codeOf(error))) return undefined;
    if (!unlock || !ANCHORED || codeOf(error) !== 'EACCES') throw error;
    return await openLocked(place);
  }
}

/** The mode is changed through a descriptor: a link that takes the file's place meanwhile leads to no other. */
async function openLocked(place: string): Promise<FileHandle | undefined> {
  await using entry = await open(place, O_PATH | (constants.O_NOFOLLOW ?? 0));
  const stats = await entry.stat();
  if (!stats.isFile()) return undefined;
  const itself = `/proc/self/fd/${entry.fd}`;
  await chmod(itself, (stats.mode & 0o777) | 0o400);
  return await open(itself, constants.O_RDONLY);
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
      if (!unlock || codeOf(error) !== 'EACCES') throw error;
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

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
