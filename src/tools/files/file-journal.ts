/** The earlier contents of the sessions' files: stored before a call may change them, and put back by an undo. */
import { hash } from 'node:crypto';
import { unlink } from 'node:fs/promises';
import path from 'node:path';
import { KeyedLock } from '../../lib/async/keyed-lock.ts';
import type { FileJournal, SessionFiles } from '../../protocol/agent/tool.ts';
import { ToolError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import {
  MAX_UNDO_CALL_BYTES,
  MAX_UNDO_FILE_BYTES,
  MAX_UNDO_FILES,
  type UndoStore,
} from '../../protocol/sessions/undo.ts';
import type { FileMark, StayReason } from '../../protocol/agent/call-note.ts';
import { markAt } from './folder-state.ts';
import { removeUnfinished, saveFile } from './save-file.ts';
import { openFolder, openInside, pathParts } from './workspace.ts';

/** Folders that are remembered; those of others are looked through again. */
const MAX_SWEPT_FOLDERS = 1_000;

type Contents = Pick<UndoStore, 'missingContents' | 'storeContent' | 'content'>;

/** Makes the `FileJournal` of the folders in `files`; `contents` stores what was in them. */
export function createFileJournal(files: SessionFiles, contents: Contents, log: Log): FileJournal {
  const lock = new KeyedLock();
  /** Folders without what an earlier process left there. */
  const swept = new Set<string>();
  const sweep = async (folder: string): Promise<void> => {
    if (swept.has(folder)) return;
    try {
      await removeUnfinished(await files.open(folder));
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      log.info({ err: error, folder }, 'folder_not_swept');
    }
    if (swept.size >= MAX_SWEPT_FOLDERS) swept.clear();
    swept.add(folder);
  };
  const marksIn = async (folder: string, place: string, paths: readonly string[] | undefined) =>
    paths === undefined
      ? await files.marks(folder)
      : await Promise.all(paths.map((name) => markAt(place, name)));
  return {
    marks: async (folder, paths) => await marksIn(folder, await files.open(folder), paths),
    async before(folder, paths) {
      const place = await files.open(folder);
      const marks = await marksIn(folder, place, paths);
      await storeContents(contents, place, marks);
      return marks;
    },
    restore: async (folder, to, from) => await restore(contents, await files.open(folder), to, from, log),
    exclusively: (folder, signal, work) =>
      lock.run(folder, signal, async () => {
        await sweep(folder);
        return await work();
      }),
  };
}

/** Stores those that are not stored yet, up to the limits of a call: the others stay as they are at an undo. */
async function storeContents(contents: Contents, place: string, marks: readonly FileMark[]): Promise<void> {
  const paths = new Map<string, string>();
  for (const { path: name, sha256, bytes } of marks) {
    if (sha256 !== undefined && bytes !== undefined && bytes <= MAX_UNDO_FILE_BYTES) paths.set(sha256, name);
  }
  if (paths.size === 0) return;
  let room = MAX_UNDO_CALL_BYTES;
  for (const sha256 of (await contents.missingContents([...paths.keys()])).slice(0, MAX_UNDO_FILES)) {
    const bytes = await contentAt(place, paths.get(sha256) ?? '');
    // It may have changed since it was looked at.
    if (bytes === undefined || hash('sha256', bytes) !== sha256) continue;
    room -= bytes.length;
    if (room < 0) return;
    await contents.storeContent(sha256, bytes);
  }
}

async function contentAt(place: string, name: string): Promise<Buffer | undefined> {
  try {
    await using file = await openInside(place, name);
    return await file.handle.readFile();
  } catch (error) {
    if (error instanceof ToolError) return undefined;
    throw error;
  }
}

/** `FileJournal.restore`. */
async function restore(
  contents: Contents,
  place: string,
  to: FileMark,
  from: FileMark,
  log: Log,
): Promise<StayReason | undefined> {
  const { sha256 } = await markAt(place, to.path);
  if (sha256 === to.sha256) return undefined;
  if (sha256 !== from.sha256) return 'changed_since';
  try {
    if (to.sha256 === undefined) {
      await removeFile(place, to.path);
      return undefined;
    }
    const bytes = await contents.content(to.sha256);
    if (bytes === undefined) return 'given_up';
    await saveFile(place, to.path, bytes, to.mode);
    return undefined;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    log.warn({ err: error, file: to.path }, 'file_not_restored');
    return 'not_written';
  }
}

/** Removes the entry itself, also a link. */
async function removeFile(place: string, name: string): Promise<void> {
  const parts = pathParts(name);
  const last = parts.pop() ?? '';
  await using folder = await openFolder(place, name, parts);
  await unlink(path.join(folder.place, last));
}
