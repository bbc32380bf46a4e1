/** Saves a whole file in the workspace: written next to its path under a temporary name, then renamed over it. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import { errorCode, ToolError, unless } from '../../protocol/errors.ts';
import type { Tool } from '../../protocol/agent/tool.ts';
import { walkEverything } from '../../lib/walk-folder.ts';
import { checkKind, namesIn, openFolder, pathError, pathParts, walkFolder } from './workspace.ts';

/** All files of a session's folder together, in bytes. */
export const MAX_WORKSPACE_BYTES = 256 * 1024 * 1024;

/** Files and folders of a session's folder. */
export const MAX_WORKSPACE_ENTRIES = 10_000;

export interface WorkspaceUsage {
  /** On the disk, so that a sparse file counts what it costs. */
  bytes: number;
  entries: number;
}

/** What a folder may hold; counting stops beyond it. */
export const WORKSPACE_LIMITS: WorkspaceUsage = {
  bytes: MAX_WORKSPACE_BYTES,
  entries: MAX_WORKSPACE_ENTRIES,
};

/** Largest file a tool writes or edits, in bytes. */
export const MAX_FILE_BYTES = 1024 * 1024;

/** Names of files that agents see without asking: instructions, memories, skills. */
const READ_UNASKED =
  /(^|\/)((agents|soul|user|tools|identity|memory|heartbeat|bootstrap|skill|\w*system_prompt)\.md$|skills(\/|$))/;

/** True for a file whose text appears in later conversations on its own: writing it has effects outside this one. */
function isReadUnasked(filePath: string): boolean {
  const names = namesIn(filePath.normalize('NFKC').replaceAll('\\', '/'));
  return READ_UNASKED.test(names.map((name) => name.toLowerCase().trim()).join('/'));
}

/** What tools that change the file `path` have in common. */
export const CHANGES_A_FILE = {
  risk: () => 'caution',
  results: 'operator',
  reach: ({ path }) => (isReadUnasked(path) ? 'outside' : 'session'),
  files: ({ path }) => [path],
  changes: () => ['files'],
} satisfies Partial<Tool<{ path: string }>>;

/**
 * Writes `content` to `filePath`, creating folders. A reader sees the old file or the new one. An existing file must be
 * plain and have one name, and its permissions stay unless `newMode` says otherwise; a link put there meanwhile is replaced, not followed. Throws `ToolError`: those of
 * `openInside`, `too_large`, `workspace_full`.
 */
export async function saveFile(
  workspace: string,
  filePath: string,
  content: Buffer,
  newMode?: number,
): Promise<void> {
  const parts = pathParts(filePath);
  const name = parts.pop();
  if (name === undefined)
    throw new ToolError('not_a_file', 'The path names the workspace itself, not a file.');
  if (content.length > MAX_FILE_BYTES) {
    const text = `Files can be at most ${MAX_FILE_BYTES} bytes long; this one has ${content.length}.`;
    throw new ToolError('too_large', text);
  }
  await checkRoom(workspace, content.length);
  await using folder = await openFolder(workspace, filePath, parts, { create: true });
  const target = path.join(folder.place, name);
  const oldMode = await modeOf(target, filePath);
  const mode = newMode ?? oldMode;
  const temporary = path.join(folder.place, `.${randomUUID()}${UNFINISHED}`);
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
    await using file = await open(temporary, flags, mode);
    await file.writeFile(content);
    await rename(temporary, target);
  } catch (error) {
    // The failure to write is what the caller must hear of; the file may not exist yet.
    await unlink(temporary).catch(() => undefined);
    throw pathError(error, filePath);
  }
}

/** How a file ends that a killed process has not finished writing. */
const UNFINISHED = '.unfinished';

/** Removes such files below a folder in which no one writes now. Throws `ToolError`. */
export async function removeUnfinished(workspace: string): Promise<void> {
  for await (const { name, place, isFile } of walkFolder(workspace)) {
    if (isFile && /(^|\/)\.[0-9a-f-]{36}\.unfinished$/.test(name))
      await unless(['ENOENT'], unlink(place), undefined);
  }
}

/** The permissions the new file gets: those of the old one, so that a script stays executable. */
async function modeOf(target: string, filePath: string): Promise<number> {
  try {
    const stats = await lstat(target);
    checkKind(stats, filePath);
    if (stats.isDirectory()) throw new ToolError('not_a_file', 'The path names a folder, not a file.');
    return stats.mode & 0o700;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0o600;
    throw error instanceof ToolError ? error : pathError(error, filePath);
  }
}

/** Throws `ToolError('workspace_full')` when the session's folder has no room for `bytes` more. */
export async function checkRoom(workspace: string, bytes: number): Promise<void> {
  let usage: WorkspaceUsage;
  try {
    usage = await workspaceUsage(workspace);
  } catch (error) {
    throw pathError(error, '.');
  }
  if (usage.bytes + bytes > MAX_WORKSPACE_BYTES) throw full(`its limit of ${MAX_WORKSPACE_BYTES} bytes`);
  if (usage.entries >= MAX_WORKSPACE_ENTRIES) throw full(`its limit of ${MAX_WORKSPACE_ENTRIES} entries`);
}

function full(limit: string): ToolError {
  const text = `The workspace of this session has reached ${limit}: remove something first.`;
  return new ToolError('workspace_full', text);
}

/**
 * Counts everything below a folder, links but not their targets, until `enough` is exceeded. What vanishes meanwhile
 * does not count; a folder whose mode locks its owner out is made readable, so that nothing hides in it. Throws the
 * errors of the file system.
 */
export async function workspaceUsage(
  root: string,
  enough: WorkspaceUsage = WORKSPACE_LIMITS,
): Promise<WorkspaceUsage> {
  const usage = { bytes: 0, entries: 0 };
  for await (const { place } of walkEverything(root)) {
    usage.entries += 1;
    usage.bytes += ((await unless(['ENOENT'], lstat(place), undefined))?.blocks ?? 0) * 512;
    if (usage.bytes > enough.bytes || usage.entries > enough.entries) return usage;
  }
  return usage;
}
