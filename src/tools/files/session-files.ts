/** The folders of sessions below one root: created, removed, and searched for the files that a call names. */
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { ToolError, errorCode } from '../../contracts/errors.ts';
import type { Log } from '../../contracts/log.ts';
import type { FileStore, SessionFiles } from '../../contracts/tools/tool.ts';
import { copyFiles } from './copy-files.ts';
import { listFiles } from './list-files.ts';
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
