/** Session files that the nodes of a database share: each has a copy, fetched before a call and stored after it. */
import { hash } from 'node:crypto';
import { unlink } from 'node:fs/promises';
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
import { isMissing, namesIn, openFolder, openInside, pathParts, walkFolder } from './workspace.ts';

/** Folders whose last state shared with the database is remembered; others are compared again. */
const MAX_KNOWN_FOLDERS = 1_000;

/** What a folder had in common with the database when it was last fetched or stored. */
interface SharedState {
  version: number;
  /** Digests by path. */
  files: ReadonlyMap<string, string>;
  /** Paths that only this node has. */
  unshared: ReadonlySet<string>;
}

const noSignal = new AbortController().signal;

/** Remembers the state of the folder used last, and forgets those used longest ago. */
function rememberIn(states: Map<string, SharedState>, folder: string, state: SharedState): void {
  states.delete(folder);
  states.set(folder, state);
  const [oldest] = states.keys();
  if (states.size > MAX_KNOWN_FOLDERS && oldest !== undefined) states.delete(oldest);
}

/** The `SessionFiles` of one node, shared through `store`. */
export function createSharedFiles(local: SessionFiles, store: FileStore): SessionFiles {
  const states = new Map<string, SharedState>();
  const lock = new KeyedLock();
  const open = async (folder: string): Promise<string> => {
    const place = await local.open(folder);
    if (folder === STATELESS_FOLDER) return place;
    await lock.run(folder, noSignal, async () => {
      const version = await store.version(folder);
      const oldState = states.get(folder);
      if (oldState?.version === version) return;
      // What a home contained before it shared its files is stored first.
      if (version === 0) rememberIn(states, folder, await storeChanges(store, folder, place));
      else rememberIn(states, folder, await fetchChanges(store, folder, place, oldState));
    });
    return place;
  };
  const share = async (folder: string): Promise<string[]> => {
    const place = await local.open(folder);
    return lock.run(folder, noSignal, async () => {
      const oldState = states.get(folder);
      const newState = await storeChanges(store, folder, place, oldState);
      rememberIn(states, folder, newState);
      return [...newState.unshared].filter((name) => oldState?.unshared.has(name) !== true);
    });
  };
  return {
    ...local,
    open,
    share,
    async put(folder, file) {
      await open(folder);
      const storedFile = await local.put(folder, file);
      await share(folder);
      return storedFile;
    },
    read: (folder, name) =>
      open(folder)
        .then(() => local.read(folder, name))
        .catch((error: unknown) => tellElsewhere(store, folder, name, error)),
    async list(folder) {
      await open(folder);
      return await local.list(folder);
    },
    async discard(folder, name) {
      await open(folder);
      const isDiscarded = await local.discard(folder, name);
      if (isDiscarded) await share(folder);
      return isDiscarded;
    },
    async copy(from, to) {
      await open(from);
      await local.copy(from, to);
      await share(to);
    },
    remove: (folder) => {
      states.delete(folder);
      return local.remove(folder);
    },
  };
}

/** Throws why a file could not be read: `ToolError('elsewhere')` if only another node has it. */
async function tellElsewhere(store: FileStore, folder: string, name: string, error: unknown): Promise<never> {
  const isAbsent = error instanceof ToolError && error.code === 'not_found';
  const file = namesIn(name).join('/');
  if (!isAbsent || !(await store.isTooLarge(folder, file))) throw error;
  const text = `"${file}" is not on this gateway: files of more than ${MAX_SHARED_BYTES / 1024 ** 2} MiB stay on the one that received them.`;
  throw new ToolError('elsewhere', text, { cause: error });
}

/**
 * Brings the folder to the state of the database. With `before`, only changes since then: a file that a call here is
 * creating is left alone. Without it, files that the database lacks are leftovers.
 */
async function fetchChanges(
  store: FileStore,
  folder: string,
  place: string,
  oldState: SharedState | undefined,
): Promise<SharedState> {
  const { version, files } = await store.list(folder);
  const sharedFiles = new Map(files.map(({ path: name, sha256 }) => [name, sha256]));
  const { files: localFiles, unshared } = oldState ?? (await readFolder(place));
  for (const name of localFiles.keys()) if (!sharedFiles.has(name)) await removeFile(place, name);
  for (const [name, sha256] of sharedFiles) {
    if (localFiles.get(name) === sha256) continue;
    const bytes = await store.read(folder, name);
    if (bytes !== undefined) await saveFile(place, name, bytes);
  }
  return { version, files: sharedFiles, unshared };
}

/** Stores what differs from `before`, a file at a time. */
async function storeChanges(
  store: FileStore,
  folder: string,
  place: string,
  oldState: SharedState = { version: 0, files: new Map(), unshared: new Set() },
): Promise<SharedState> {
  const { files, unshared } = await readFolder(place);
  let { version } = oldState;
  const save = async (change: Parameters<FileStore['save']>[1]): Promise<void> => {
    const newVersion = await store.save(folder, change);
    // Another node has stored something in the meantime: it is fetched before the next call.
    version = newVersion === version + 1 ? newVersion : -1;
  };
  for (const [name, sha256] of files) {
    const bytes = oldState.files.get(name) === sha256 ? undefined : await readShared(place, name);
    if (bytes !== undefined) await save({ put: [{ path: name, sha256, bytes }], gone: [] });
  }
  const removals = [...oldState.files.keys()].filter((name) => !files.has(name));
  if (removals.length > 0) await save({ put: [], gone: removals });
  return { version, files, unshared };
}

/** The digests of the folder's plain files that can be shared, and the paths of the others; no links and devices. */
async function readFolder(place: string) {
  const files = new Map<string, string>();
  const unshared = new Set<string>();
  for await (const { name, isFile } of walkFolder(place)) {
    if (!isFile) continue;
    const bytes = await readShared(place, name);
    if (bytes === undefined) unshared.add(name);
    else files.set(name, hash('sha256', bytes));
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
    if (!isMissing(error)) throw error;
  }
}
