/** The only path check of the gateway: a walk inside a session's folder that no link, race or device can escape. */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { ToolError, errorCode } from '../../protocol/errors.ts';

/** Longest path a tool accepts, in UTF-8 bytes (Linux PATH_MAX). */
export const MAX_PATH_BYTES = 4_096;
/** Deepest path a tool accepts, in components. */
export const MAX_PATH_DEPTH = 64;
/** Longest single name, in UTF-8 bytes (Linux NAME_MAX). */
export const MAX_NAME_BYTES = 255;

/**
 * Splits a path as a model writes it into names below the workspace; `.` and empty parts vanish, so `''` and `.` are
 * the workspace itself. Throws `ToolError('bad_path')` on absolute paths, `..`, NUL and what is too long or too deep.
 */
export function pathParts(given: string): string[] {
  if (given.includes('\0')) throw badPath('A path holds no NUL character.');
  if (Buffer.byteLength(given) > MAX_PATH_BYTES) throw badPath(`A path has at most ${MAX_PATH_BYTES} bytes.`);
  if (given.startsWith('/') || given.startsWith('~') || /^[A-Za-z]:|\\/.test(given)) {
    throw badPath('Paths are relative to the workspace, with forward slashes, such as "notes/today.md".');
  }
  const parts = namesIn(given);
  if (parts.includes('..')) throw badPath('".." leads out of the workspace.');
  if (parts.length > MAX_PATH_DEPTH) throw badPath(`A path has at most ${MAX_PATH_DEPTH} parts.`);
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) {
    throw badPath(`A name in a path has at most ${MAX_NAME_BYTES} bytes.`);
  }
  return parts;
}

/** The names in a path: the only way in which a path is split. */
export function namesIn(given: string): string[] {
  return given.split('/').filter((part) => part !== '' && part !== '.');
}

/** Something in the workspace, held open: work on `handle`, or on `place` for names directly below it. */
export interface Opened extends AsyncDisposable {
  handle: FileHandle;
  stats: Stats;
  /** A path that means the open descriptor itself, whatever happens to its name in the meantime. */
  place: string;
}

/** Where descriptors can be walked: `/proc/self/fd/<fd>/<name>` cannot be redirected by renaming a parent. */
const ANCHORED = process.platform === 'linux';

const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;
const O_DIRECTORY = constants.O_DIRECTORY ?? 0;

/**
 * Opens a file or folder inside `workspace` for reading. Every component is opened from its parent's descriptor and
 * never through a link, so swapping names while it runs leads nowhere. Off Linux there is no such anchor: links are
 * refused by `lstat` before each step, which a program racing in the same folder could still beat.
 * Throws `ToolError`: `bad_path`, `not_found`, `refused` (link, device, pipe, socket, a file with a second name).
 */
export async function openInside(workspace: string, given: string, anchored = ANCHORED): Promise<Opened> {
  const parts = pathParts(given);
  const name = parts.pop();
  if (name === undefined) return await openFolder(workspace, given, [], { anchored });
  await using parent = await openFolder(workspace, given, parts, { anchored });
  const place = path.join(parent.place, name);
  const handle = await openStep(place, given, false, anchored);
  try {
    const stats = await handle.stat();
    checkKind(stats, given);
    return opened(handle, stats, place, anchored);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** How to walk to a folder: `create` creates what is missing on the way (mode 0700). */
export interface Walk {
  create?: boolean;
  anchored?: boolean;
}

/** Opens the folder that `parts` (from `pathParts`) lead to, the way `openInside` does; `given` is for messages. */
export async function openFolder(
  workspace: string,
  given: string,
  parts: readonly string[],
  { create = false, anchored = ANCHORED }: Walk = {},
): Promise<Opened> {
  let handle = await openStep(workspace, given, true, anchored);
  let folder = workspace;
  try {
    for (const name of parts) {
      folder = path.join(folder, name);
      const place = anchored ? `/proc/self/fd/${handle.fd}/${name}` : folder;
      if (create) await makeFolder(place, given);
      const next = await openStep(place, given, true, anchored);
      await handle.close();
      handle = next;
    }
    return opened(handle, await handle.stat(), folder, anchored);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function opened(handle: FileHandle, stats: Stats, place: string, anchored: boolean): Opened {
  return {
    handle,
    stats,
    place: anchored ? `/proc/self/fd/${handle.fd}` : place,
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** What already exists is checked by the step that opens it. */
async function makeFolder(place: string, given: string): Promise<void> {
  try {
    await mkdir(place, { mode: 0o700 });
  } catch (error) {
    const there = errorCode(error) === 'EEXIST';
    if (!there) throw pathError(error, given);
  }
}

/** O_NONBLOCK: a pipe without a writer must not block the thread; it is refused after the open. */
async function openStep(
  place: string,
  given: string,
  isFolder: boolean,
  anchored: boolean,
): Promise<FileHandle> {
  try {
    if (!anchored && (await lstat(place)).isSymbolicLink()) throw refused(given, 'a link');
    return await open(place, constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | (isFolder ? O_DIRECTORY : 0));
  } catch (error) {
    throw pathError(error, given);
  }
}

/** Refuses anything but a folder or a plain file with one name. */
export function checkKind(stats: Stats, given: string): void {
  if (stats.isDirectory()) return;
  if (!stats.isFile()) throw refused(given, 'a device, pipe or socket');
  if (stats.nlink > 1) throw refused(given, 'a file with more than one name (hard link)');
}

/** Words the system's refusal for the model. */
export function pathError(error: unknown, given: string): ToolError {
  if (error instanceof ToolError) return error;
  const code = errorCode(error) || 'unknown';
  const cause = error;
  if (code === 'ENOENT') return new ToolError('not_found', `There is no "${shown(given)}".`, { cause });
  if (code === 'ENOTDIR') {
    return new ToolError('not_found', `Part of "${shown(given)}" is a file or a link, not a folder.`, {
      cause,
    });
  }
  if (code === 'ELOOP') return refused(given, 'a link', cause);
  if (code === 'ENXIO' || code === 'ENODEV') return refused(given, 'a device, pipe or socket', cause);
  return new ToolError('unreadable', `"${shown(given)}" cannot be opened (${code}).`, {
    cause,
  });
}

function refused(given: string, what: string, cause?: unknown): ToolError {
  return new ToolError('refused', `"${shown(given)}" is ${what}; only plain files and folders are used.`, {
    cause,
  });
}

function badPath(message: string): ToolError {
  return new ToolError('bad_path', message);
}

function shown(given: string): string {
  return given.length <= 120 ? given : `${given.slice(0, 120)}…`;
}
