/** The folders of sessions below one root: created, removed, and searched for the files that a call names. */
import { lstat, mkdir, open, opendir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { errorCode, ToolError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import {
  type FileStore,
  type FolderFile,
  MAX_LISTED_FILES,
  type SessionFiles,
} from '../../protocol/agent/tool.ts';
import { constants } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { openFolder, openInside, pathError, pathParts } from './workspace.ts';
import { MAX_WORKSPACE_BYTES, MAX_WORKSPACE_ENTRIES } from './workspace-usage.ts';

import { namedFiles } from './named-files.ts';
import { discardFile, putFile, readPlainFile } from './put-file.ts';
import { createSharedFiles } from './shared-files.ts';

/** An entry below the folder: its path from there, and whether it is a plain file. */
interface FolderEntry {
  name: string;
  isFile: boolean;
}

/** Names of folders as the store creates them: one plain name. */
const FOLDER = /^[A-Za-z0-9-][A-Za-z0-9.-]{0,99}$/;

/** Holds incomplete uploads, next to the folders: no program of a session sees it. */
const ARRIVING = '.arriving';

/** Makes the `SessionFiles` below `root`, shared through `store` if there is one. */
export function createSessionFiles(root: string, log: Log, store?: FileStore): SessionFiles {
  const local = createLocalFiles(root, log);
  return store === undefined ? local : createSharedFiles(local, store);
}

function createLocalFiles(root: string, log: Log): SessionFiles {
  const base = path.resolve(root);
  const placeOf = (folder: string): string => {
    if (FOLDER.test(folder)) return path.join(base, folder);
    throw new ToolError('workspace', 'The folder of this session has an impossible name.');
  };
  const open = async (folder: string): Promise<string> => {
    const place = placeOf(folder);
    try {
      await mkdir(place, { recursive: true, mode: 0o700 });
    } catch (error) {
      const text = 'The folder of this session cannot be made: check GATEWAY_HOME.';
      throw new ToolError('workspace', text, { cause: error });
    }
    return place;
  };
  return {
    open,
    share: () => Promise.resolve([]),
    named: (folder, words, wordsIn) => namedFiles(placeOf(folder), words, wordsIn),
    put: async (folder, file) => await putFile(path.join(base, ARRIVING), await open(folder), file),
    read: (folder, name) => readPlainFile(placeOf(folder), name),
    list: (folder) => listFiles(placeOf(folder)),
    discard: (folder, name) => discardFile(placeOf(folder), name),
    copy: async (from, to) => await copyFiles(placeOf(from), await open(to)),
    async remove(folder) {
      try {
        await removeFolder(placeOf(folder), path.join(base, `.removed-${folder}`));
        return true;
      } catch (error) {
        log.warn({ err: error, folder }, 'folder_not_removed');
        return false;
      }
    },
  };
}

/** Renamed first: anything still working in it finds an empty folder, and a crash leaves nothing under its name. */
async function removeFolder(place: string, aside: string): Promise<void> {
  await rm(aside, { recursive: true, force: true });
  await rename(place, aside).catch(ignoreMissing);
  await rm(aside, { recursive: true, force: true });
}

function ignoreMissing(error: unknown): void {
  if (errorCode(error) !== 'ENOENT') throw error;
}

/** `SessionFiles.list`. Links and devices do not count as files; what vanishes in the meantime is left out. */
async function listFiles(place: string): Promise<{ files: FolderFile[]; more: boolean }> {
  const names = await namesIn(place);
  const shown = names.slice(0, MAX_LISTED_FILES);
  const files = await Promise.all(shown.map((name) => fileAt(place, name)));
  return { files: files.filter((file) => file !== undefined), more: names.length > shown.length };
}

/** Paths of the plain files, sorted; at most as many entries as a folder may have are examined. */
async function namesIn(place: string): Promise<string[]> {
  const names: string[] = [];
  let entries = 0;
  for await (const { name, isFile } of walkFolder(place)) {
    entries += 1;
    if (isFile) names.push(name);
    if (entries >= MAX_WORKSPACE_ENTRIES) break;
  }
  return names.sort();
}

async function fileAt(place: string, name: string): Promise<FolderFile | undefined> {
  try {
    const stats = await lstat(path.join(place, name));
    return stats.isFile() ? { path: name, bytes: stats.size, changedAt: stats.mtime } : undefined;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw pathError(error, name);
  }
}

/**
 * `SessionFiles.copy`. Each file is opened as a tool opens it, so that no link leads out of the folder; what is not a
 * plain file, or vanishes during the copy, is left out. A missing folder has no files.
 */
async function copyFiles(from: string, to: string): Promise<void> {
  let entries = 0;
  let bytes = 0;
  for await (const { name, isFile } of walkFolder(from)) {
    entries += 1;
    if (isFile) bytes += await unlessGone(copyFile(from, to, name, MAX_WORKSPACE_BYTES - bytes));
    if (entries > MAX_WORKSPACE_ENTRIES) throw tooMuch();
  }
}

/** Returns the number of bytes; `room` is how many are allowed. */
async function copyFile(from: string, to: string, name: string, room: number): Promise<number> {
  await using source = await openInside(from, name);
  const { size } = source.stats;
  if (source.stats.isDirectory()) return 0;
  if (size > room) throw tooMuch();
  const parts = pathParts(name);
  const last = parts.pop() ?? '';
  await using folder = await openFolder(to, name, parts, { create: true });
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
    await using target = await open(path.join(folder.place, last), flags, source.stats.mode & 0o700);
    const chunks = source.handle.createReadStream({ autoClose: false, start: 0, end: Math.max(0, size - 1) });
    if (size > 0) await pipeline(chunks, target.createWriteStream());
    return size;
  } catch (error) {
    throw pathError(error, name);
  }
}

/** A program may remove a file, or put something else in its place, while the others are copied. */
async function unlessGone(work: Promise<number>): Promise<number> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ToolError && ['not_found', 'refused'].includes(error.code)) return 0;
    throw error;
  }
}

function tooMuch(): ToolError {
  return new ToolError(
    'workspace_full',
    `The folder of this session has more than ${MAX_WORKSPACE_BYTES} bytes or ${MAX_WORKSPACE_ENTRIES} entries: remove something first.`,
  );
}

/**
 * Yields every entry below the folder, each folder before what it contains; links are not followed. A folder that is missing
 * has no entries. Unbounded: the caller counts and stops. Throws `ToolError` for a folder that cannot be read.
 */
async function* walkFolder(place: string): AsyncGenerator<FolderEntry> {
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
