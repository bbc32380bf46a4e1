/** The only path check of the gateway: a walk inside a session's folder that no link, race or device can escape. */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { type FolderEntry, walkFolder as walk } from '../../lib/walk-folder.ts';
import { errorCode, ToolError } from '../../protocol/errors.ts';
import type { ToolContext } from '../../protocol/agent/tool.ts';

/** Longest path a tool accepts, in UTF-8 bytes (Linux PATH_MAX). */
export const MAX_PATH_BYTES = 4_096;
/** Deepest path a tool accepts, in components. */
export const MAX_PATH_DEPTH = 64;
/** Longest single name, in UTF-8 bytes (Linux NAME_MAX). */
export const MAX_NAME_BYTES = 255;

/**
 * Splits a model's path into names below the workspace; `''` and `.` are the workspace itself. Throws
 * `ToolError('bad_path')` for absolute paths, `..`, NUL, and what is too long or too deep.
 */
export function pathParts(filePath: string): string[] {
  if (filePath.includes('\0')) throw badPath('A path must not contain NUL characters.');
  if (Buffer.byteLength(filePath) > MAX_PATH_BYTES)
    throw badPath(`Paths can be at most ${MAX_PATH_BYTES} bytes long.`);
  if (filePath.startsWith('/') || filePath.startsWith('~') || /^[A-Za-z]:|\\/.test(filePath)) {
    throw badPath('Paths are relative to the workspace, with forward slashes, such as "notes/today.md".');
  }
  const parts = namesIn(filePath);
  if (parts.includes('..')) throw badPath('".." leads out of the workspace.');
  if (parts.length > MAX_PATH_DEPTH) throw badPath(`Paths can have at most ${MAX_PATH_DEPTH} parts.`);
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) {
    throw badPath(`Names in a path can be at most ${MAX_NAME_BYTES} bytes long.`);
  }
  return parts;
}

/** The names in a path: the only way in which a path is split. */
export function namesIn(filePath: string): string[] {
  return filePath.split('/').filter((part) => part !== '' && part !== '.');
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
 * Opens a file or folder in `workspace` for reading, each component from its parent's descriptor and never through a
 * link, so swapping names meanwhile leads nowhere. Off Linux there is no such anchor: `lstat` refuses links before each
 * step, which a program in the same folder could still beat. Throws `ToolError`: `bad_path`, `not_found`, `refused`
 * (link, device, pipe, socket, a file with a second name).
 */
export async function openInside(workspace: string, filePath: string, anchored = ANCHORED): Promise<Opened> {
  const parts = pathParts(filePath);
  const name = parts.pop();
  if (name === undefined) return await openFolder(workspace, filePath, [], { anchored });
  await using parent = await openFolder(workspace, filePath, parts, { anchored });
  const place = path.join(parent.place, name);
  const handle = await openStep(place, filePath, false, anchored);
  try {
    const stats = await handle.stat();
    checkKind(stats, filePath);
    return opened(handle, stats, place, anchored);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** How to walk to a folder: `create` creates what is missing on the way (mode 0700). */
interface Walk {
  create?: boolean;
  anchored?: boolean;
}

/** Opens the folder that `parts` (from `pathParts`) lead to, the way `openInside` does; `given` is for messages. */
export async function openFolder(
  workspace: string,
  filePath: string,
  parts: readonly string[],
  { create = false, anchored = ANCHORED }: Walk = {},
): Promise<Opened> {
  let handle = await openStep(workspace, filePath, true, anchored);
  let folder = workspace;
  try {
    for (const name of parts) {
      folder = path.join(folder, name);
      const place = anchored ? `/proc/self/fd/${handle.fd}/${name}` : folder;
      if (create) await makeFolder(place, filePath);
      const next = await openStep(place, filePath, true, anchored);
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
async function makeFolder(place: string, filePath: string): Promise<void> {
  try {
    await mkdir(place, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw pathError(error, filePath);
  }
}

/** O_NONBLOCK: a pipe without a writer must not block the thread; it is refused after the open. */
async function openStep(
  place: string,
  filePath: string,
  isFolder: boolean,
  anchored: boolean,
): Promise<FileHandle> {
  try {
    if (!anchored && (await lstat(place)).isSymbolicLink()) throw refused(filePath, 'a link');
    return await open(place, constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | (isFolder ? O_DIRECTORY : 0));
  } catch (error) {
    throw pathError(error, filePath);
  }
}

/** Refuses anything but a folder or a plain file with one name. */
export function checkKind(stats: Stats, filePath: string): void {
  if (stats.isDirectory()) return;
  if (!stats.isFile()) throw refused(filePath, 'a device, pipe or socket');
  if (stats.nlink > 1) throw refused(filePath, 'a file with more than one name (hard link)');
}

/** Words the system's refusal for the model. */
export function pathError(error: unknown, filePath: string): ToolError {
  if (error instanceof ToolError) return error;
  const code = errorCode(error) || 'unknown';
  const cause = error;
  if (code === 'ENOENT')
    return new ToolError('not_found', `There is no "${displayPath(filePath)}".`, { cause });
  if (code === 'ENOTDIR') {
    const text = `Part of "${displayPath(filePath)}" is a file or a link, not a folder.`;
    return new ToolError('not_found', text, { cause });
  }
  if (code === 'ELOOP') return refused(filePath, 'a link', cause);
  if (code === 'ENXIO' || code === 'ENODEV') return refused(filePath, 'a device, pipe or socket', cause);
  return new ToolError('unreadable', `"${displayPath(filePath)}" cannot be opened (${code}).`, { cause });
}

function refused(filePath: string, kind: string, cause?: unknown): ToolError {
  const text = `"${displayPath(filePath)}" is ${kind}; only plain files and folders can be used.`;
  return new ToolError('refused', text, { cause });
}

/** True for the error of something that does not exist: of the file system, or of `pathError`. */
export function isMissing(error: unknown): boolean {
  return ['ENOENT', 'not_found'].includes(errorCode(error));
}

/**
 * Yields every entry below a session's folder, as `walkFolder` of the library does; none if it is missing. Throws `ToolError`
 * for a folder that cannot be read, or gives its name to a link meanwhile.
 */
export async function* walkFolder(root: string): AsyncGenerator<FolderEntry> {
  try {
    yield* walk(root, { skips: ['ENOENT'] });
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw pathError(error, '.');
  }
}

function badPath(message: string): ToolError {
  return new ToolError('bad_path', message);
}

function displayPath(filePath: string): string {
  return filePath.length <= 120 ? filePath : `${filePath.slice(0, 120)}…`;
}

/** The name under which every session sees the gateway's skills. */
const SKILLS = 'skills';

/** True for a path that leads to the gateway's skills, which are its own text. Throws `ToolError('bad_path')`. */
export function isSkill(filePath: string): boolean {
  return pathParts(filePath)[0] === SKILLS;
}

/** Opens a file or folder for reading, as `openInside` does, in the workspace or among the skills. Throws `ToolError`. */
export async function openReadable({ workspace, skills }: ToolContext, filePath: string): Promise<Opened> {
  const [first, ...rest] = pathParts(filePath);
  if (first !== SKILLS) return await openInside(workspace, filePath);
  if (skills === undefined) throw new ToolError('not_found', 'No skills are installed.');
  return await openInside(skills, rest.join('/'));
}

/** Throws `ToolError('read_only')` for a path that reading would look up among the skills. */
export function refuseSkills(filePath: string): void {
  if (!isSkill(filePath)) return;
  throw new ToolError(
    'read_only',
    `"${SKILLS}/" holds the skills of the gateway, which are only read: use another folder.`,
  );
}
