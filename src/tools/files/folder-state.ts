/** The state of a session's folder, which binds an approval: every file is hashed, but again only after it has changed. */
import { hash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import path from 'node:path';
import { errorCode, ToolError } from '../../protocol/errors.ts';
import type { FolderState } from '../../protocol/agent/approvals.ts';
import type { FileMark } from '../../protocol/agent/call-note.ts';
import { contentOf } from './named-files.ts';
import { WORKSPACE_LIMITS } from './save-file.ts';
import { isMissing, openFolder, openInside, pathError, pathParts, walkFolder } from './workspace.ts';

/** Folders whose digests are remembered; those of others are computed again. */
const MAX_REMEMBERED_FOLDERS = 20;
/** A file that changed less than this before it was read could change again under the same time: it is not remembered. */
const RECENT_MS = 2_000;
/** Hexadecimal digits of a file's digest: what tells two contents apart; the folder's digest covers whole ones. */
const SHORT_DIGEST = 16;

/** The digest of a file, and the times, size and identity that it had. */
interface Remembered {
  mark: string;
  sha256: string;
}

/** What a folder contains, also as an undo compares it. */
type WholeState = FolderState & { marks: readonly FileMark[] };

/** Makes `SessionFiles.state` and `marks` for the folders of one node, by absolute path. */
export function createFolderStates(limits = WORKSPACE_LIMITS): (place: string) => Promise<WholeState> {
  const folders = new Map<string, ReadonlyMap<string, Remembered>>();
  return async (place) => {
    const state = await readState(place, folders.get(place) ?? new Map(), limits);
    folders.delete(place);
    folders.set(place, state.remembered);
    const [oldest] = folders.keys();
    if (folders.size > MAX_REMEMBERED_FOLDERS && oldest !== undefined) folders.delete(oldest);
    const { bytes, digests, marks } = state;
    const sorted = [...digests].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const files = new Map(sorted.map(([name, sha256]) => [name, sha256.slice(0, SHORT_DIGEST)]));
    return { sha256: hash('sha256', JSON.stringify(sorted)), bytes, files, marks };
  };
}

/** Folders and permissions are left out: other nodes, which share the files, need not have them alike. */
async function readState(
  place: string,
  before: ReadonlyMap<string, Remembered>,
  limits: typeof WORKSPACE_LIMITS,
) {
  const digests = new Map<string, string>();
  const remembered = new Map<string, Remembered>();
  const names = new Set<string>();
  const marks: FileMark[] = [];
  let bytes = 0;
  for await (const { name, place: entry } of walkFolder(place)) {
    const stats = await lstat(entry, { bigint: true }).catch((error: unknown) => {
      throw unreadable(name, error);
    });
    // Two names that are no UTF-8 can read alike, and then only one of them would be looked at.
    if (names.has(name)) throw unreadable(name);
    names.add(name);
    if (stats.isFile()) bytes += Number(stats.size);
    if (bytes > limits.bytes || names.size > limits.entries) throw tooMuch(limits);
    if (stats.isDirectory()) continue;
    const mark = markOf(stats);
    const known = before.get(name);
    const sha256 =
      known?.mark === mark ? known.sha256 : await digestOf(place, { name, place: entry }, stats, mark);
    digests.set(name, sha256);
    marks.push({ path: name, sha256, ...plainPart(stats) });
    if (Date.now() - Number(stats.ctimeMs) > RECENT_MS) remembered.set(name, { mark, sha256 });
  }
  return { bytes, digests, marks, remembered };
}

/** The size and mode of a plain file with one name. */
function plainPart(stats: BigIntStats): Pick<FileMark, 'bytes' | 'mode'> {
  const isPlain = stats.isFile() && stats.nlink === 1n;
  return isPlain ? { bytes: Number(stats.size), mode: Number(stats.mode) & 0o700 } : {};
}

/** What is at one path; a folder counts as nothing. Throws `ToolError`. */
export async function markAt(workspace: string, filePath: string): Promise<FileMark> {
  const parts = pathParts(filePath);
  const name = parts.join('/');
  const last = parts.pop();
  if (last === undefined) return { path: name };
  try {
    await using folder = await openFolder(workspace, name, parts);
    const place = path.join(folder.place, last);
    const stats = await lstat(place, { bigint: true });
    if (stats.isDirectory()) return { path: name };
    const sha256 = await digestOf(workspace, { name, place }, stats, markOf(stats));
    return { path: name, sha256, ...plainPart(stats) };
  } catch (error) {
    if (isMissing(error)) return { path: name };
    throw pathError(error, name);
  }
}

/** A program can set the time of a change, but not that of the last change of its entry (ctime). */
function markOf({ dev, ino, size, mode, nlink, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mode, nlink, mtimeNs, ctimeNs].join(':');
}

/** What cannot be opened as a plain file is bound to its identity: a link to its target, anything else to its marks. */
async function digestOf(
  workspace: string,
  { name, place }: { name: string; place: string },
  stats: BigIntStats,
  mark: string,
): Promise<string> {
  if (stats.isSymbolicLink()) {
    const target = await readlink(place).catch((error: unknown) => {
      throw unreadable(name, error);
    });
    return hash('sha256', `link:${target}`);
  }
  if (!stats.isFile()) return hash('sha256', `special:${mark}`);
  try {
    await using file = await openInside(workspace, name);
    return (await contentOf(file.handle)).sha256;
  } catch (error) {
    if (error instanceof ToolError && ['refused', 'unreadable', 'bad_path'].includes(error.code))
      return hash('sha256', `closed:${mark}`);
    throw error;
  }
}

function unreadable(name: string, cause?: unknown): ToolError {
  const reason = cause === undefined || errorCode(cause) === 'ENOENT' ? 'no UTF-8, or it just vanished' : '';
  const text = `A file of the workspace cannot be looked at: ${JSON.stringify(name)}${reason && ` (${reason})`}. Rename or remove it.`;
  return new ToolError('unreadable', text, { cause });
}

function tooMuch({ bytes, entries }: typeof WORKSPACE_LIMITS): ToolError {
  const text = `The workspace has more than ${bytes} bytes or ${entries} entries, more than an approval can cover: remove something first.`;
  return new ToolError('workspace_full', text);
}
