/** Copies the plain files of one session's folder into another one while programs may still change them. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ToolError } from '../../contracts/errors.ts';
import { walkFolder } from './walk-folder.ts';
import { openFolder, openInside, pathError, pathParts } from './workspace.ts';
import { MAX_WORKSPACE_BYTES, MAX_WORKSPACE_ENTRIES } from './workspace-usage.ts';

/**
 * `SessionFiles.copy`. Each file is opened as a tool opens it, so that no link leads out of the folder; what is not a
 * plain file, or vanishes during the copy, is left out. A missing folder has no files.
 */
export async function copyFiles(from: string, to: string): Promise<void> {
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
