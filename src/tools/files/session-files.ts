/** The folders of sessions below one root: created, removed, and searched for the files that a call names. */
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { ToolError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import {
  type FileStore,
  type FolderFile,
  MAX_LISTED_FILES,
  type SessionFiles,
} from '../../protocol/agent/tool.ts';
import { constants } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { isMissing, openFolder, openInside, pathError, pathParts, walkFolder } from './workspace.ts';
import { MAX_WORKSPACE_BYTES, MAX_WORKSPACE_ENTRIES } from './save-file.ts';

import { createFolderStates } from './folder-state.ts';
import { namedFiles } from './named-files.ts';
import { discardFile, putFile, readPlainFile } from './put-file.ts';
import { createSharedFiles } from './shared-files.ts';

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
  const stateOf = createFolderStates();
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
    state: (folder) => stateOf(placeOf(folder)),
    marks: async (folder) => (await stateOf(placeOf(folder))).marks,
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
async function removeFolder(place: string, trash: string): Promise<void> {
  await rm(trash, { recursive: true, force: true });
  await rename(place, trash).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  await rm(trash, { recursive: true, force: true });
}

/** `SessionFiles.list`. Links and devices do not count as files; what vanishes in the meantime is left out. */
async function listFiles(place: string): Promise<{ files: FolderFile[]; more: boolean }> {
  const names = await namesIn(place);
  const firstNames = names.slice(0, MAX_LISTED_FILES);
  const files = await Promise.all(firstNames.map((name) => fileAt(place, name)));
  return { files: files.filter((file) => file !== undefined), more: names.length > firstNames.length };
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
  const parts = pathParts(name);
  const last = parts.pop() ?? '';
  try {
    await using folder = await openFolder(place, name, parts);
    const stats = await lstat(path.join(folder.place, last));
    return stats.isFile() ? { path: name, bytes: stats.size, changedAt: stats.mtime } : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw pathError(error, name);
  }
}

/**
 * `SessionFiles.copy`. Each file is opened as by a tool, so that no link leads out of the folder; what vanishes or is
 * not a plain file is left out. A missing folder has no files.
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
  const text = `The folder of this session has more than ${MAX_WORKSPACE_BYTES} bytes or ${MAX_WORKSPACE_ENTRIES} entries: remove something first.`;
  return new ToolError('workspace_full', text);
}
