/** Session files that the nodes of a database share: each has a copy, fetched before a call and stored after it. */
import { createHash } from 'node:crypto';
import { opendir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { ToolError } from '../../protocol/errors.ts';
import {
  type FileStore,
  MAX_SHARED_BYTES,
  type SessionFiles,
  STATELESS_FOLDER,
} from '../../protocol/agent/tool.ts';
import { KeyedLock } from '../../lib/async/keyed-lock.ts';
import { saveFile } from './save-file.ts';
import { openFolder, openInside, pathParts } from './workspace.ts';

/**
 * Folders for which this node remembers what it last had in common with the database; the others are compared again.
 */
const MAX_KNOWN_FOLDERS = 1_000;

/** What a folder had in common with the database when it was last fetched or stored. */
interface Known {
  version: number;
  /** Digests by path. */
  files: ReadonlyMap<string, string>;
  /** Paths that only this node has. */
  unshared: ReadonlySet<string>;
}

const never = new AbortController().signal;

/** Remembers the state of the folder used last, and forgets those used longest ago. */
function rememberIn(known: Map<string, Known>, folder: string, state: Known): void {
  known.delete(folder);
  known.set(folder, state);
  const [oldest] = known.keys();
  if (known.size > MAX_KNOWN_FOLDERS && oldest !== undefined) known.delete(oldest);
}

/** The `SessionFiles` of one node, shared through `store`. */
export function createSharedFiles(local: SessionFiles, store: FileStore): SessionFiles {
  const known = new Map<string, Known>();
  const lock = new KeyedLock();
  const open = async (folder: string): Promise<string> => {
    const place = await local.open(folder);
    if (folder === STATELESS_FOLDER) return place;
    await lock.run(folder, never, async () => {
      const version = await store.version(folder);
      const before = known.get(folder);
      if (before?.version === version) return;
      // What a home contained before it shared its files is stored first.
      if (version === 0) rememberIn(known, folder, await storeChanges(store, folder, place));
      else rememberIn(known, folder, await fetchChanges(store, folder, place, before));
    });
    return place;
  };
  const share = async (folder: string): Promise<string[]> => {
    const place = await local.open(folder);
    return lock.run(folder, never, async () => {
      const before = known.get(folder);
      const after = await storeChanges(store, folder, place, before);
      rememberIn(known, folder, after);
      return [...after.unshared].filter((name) => before?.unshared.has(name) !== true);
    });
  };
  return {
    ...local,
    open,
    share,
    async put(folder, file) {
      await open(folder);
      const stored = await local.put(folder, file);
      await share(folder);
      return stored;
    },
    read: async (folder, name) => {
      await open(folder);
      return await local.read(folder, name);
    },
    list: async (folder) => {
      await open(folder);
      return await local.list(folder);
    },
    async discard(folder, name) {
      await open(folder);
      const gone = await local.discard(folder, name);
      if (gone) await share(folder);
      return gone;
    },
    async copy(from, to) {
      await open(from);
      await local.copy(from, to);
      await share(to);
    },
    remove: (folder) => {
      known.delete(folder);
      return local.remove(folder);
    },
  };
}

/**
 * Brings the folder to the state of the database. With `before`, only what changed there since: a file that a call on
 * this node is creating right now is left alone. Without it, what the database does not have is a leftover.
 */
async function fetchChanges(
  store: FileStore,
  folder: string,
  place: string,
  before: Known | undefined,
): Promise<Known> {
  const { version, files } = await store.list(folder);
  const wanted = new Map(files.map(({ path: name, sha256 }) => [name, sha256]));
  const { files: here, unshared } = before ?? (await readFolder(place));
  for (const name of here.keys()) if (!wanted.has(name)) await removeFile(place, name);
  for (const [name, sha256] of wanted) {
    if (here.get(name) === sha256) continue;
    const bytes = await store.read(folder, name);
    if (bytes !== undefined) await saveFile(place, name, bytes);
  }
  return { version, files: wanted, unshared };
}

/** Stores what differs from `before`, a file at a time. */
async function storeChanges(
  store: FileStore,
  folder: string,
  place: string,
  before: Pick<Known, 'version' | 'files'> = { version: 0, files: new Map() },
): Promise<Known> {
  const { files, unshared } = await readFolder(place);
  let { version } = before;
  const save = async (change: Parameters<FileStore['save']>[1]): Promise<void> => {
    const stored = await store.save(folder, change);
    // Another node has stored something in the meantime: it is fetched before the next call.
    version = stored === version + 1 ? stored : -1;
  };
  for (const [name, sha256] of files) {
    const bytes = before.files.get(name) === sha256 ? undefined : await readShared(place, name);
    if (bytes !== undefined) await save({ put: [{ path: name, sha256, bytes }], gone: [] });
  }
  const gone = [...before.files.keys()].filter((name) => !files.has(name));
  if (gone.length > 0) await save({ put: [], gone });
  return { version, files, unshared };
}

/**
 * The digests of the folder's plain files that can be shared, and the paths of the others. Links and devices do not
 * count as files.
 */
async function readFolder(place: string): Promise<Omit<Known, 'version'>> {
  const files = new Map<string, string>();
  const unshared = new Set<string>();
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const entry of await opendir(path.join(place, folder))) {
      const name = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) folders.push(name);
      if (!entry.isFile()) continue;
      const bytes = await readShared(place, name);
      if (bytes === undefined) unshared.add(name);
      else files.set(name, createHash('sha256').update(bytes).digest('hex'));
    }
  }
  return { files, unshared };
}

/** The content; undefined if it is too large or cannot be opened under that name. */
async function readShared(place: string, name: string): Promise<Buffer | undefined> {
  try {
    await using file = await openInside(place, name);
    return file.stats.size > MAX_SHARED_BYTES ? undefined : await file.handle.readFile();
  } catch (error) {
    if (error instanceof ToolError) return undefined;
    throw error;
  }
}

async function removeFile(place: string, name: string): Promise<void> {
  const parts = pathParts(name);
  const last = parts.pop() ?? '';
  try {
    await using folder = await openFolder(place, name, parts);
    await unlink(path.join(folder.place, last));
  } catch (error) {
    const gone =
      error instanceof Error && 'code' in error && ['ENOENT', 'not_found'].includes(String(error.code));
    if (!gone) throw error;
  }
}
