/** Saves a whole file in the workspace: written next to its path under a temporary name, then renamed over it. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import { ToolError, errorCode } from '../../protocol/errors.ts';
import type { Tool } from '../../protocol/agent/tool.ts';
import { checkKind, namesIn, openFolder, pathError, pathParts } from './workspace.ts';
import {
  MAX_WORKSPACE_BYTES,
  MAX_WORKSPACE_ENTRIES,
  workspaceUsage,
  type WorkspaceUsage,
} from './workspace-usage.ts';

/** Largest file a tool writes or edits, in bytes. */
export const MAX_FILE_BYTES = 1024 * 1024;

/** Names of files that agents see without asking: instructions, memories, skills. */
const READ_UNASKED =
  /(^|\/)((agents|soul|user|tools|identity|memory|heartbeat|bootstrap|skill|\w*system_prompt)\.md$|skills(\/|$))/;

/** True for a file whose text appears in later conversations on its own: writing it has effects outside this one. */
function isReadUnasked(given: string): boolean {
  const names = namesIn(given.normalize('NFKC').replaceAll('\\', '/'));
  return READ_UNASKED.test(names.map((name) => name.toLowerCase().trim()).join('/'));
}

/** What tools that change the file `path` have in common. */
export const CHANGES_A_FILE: Pick<
  Required<Tool<{ path: string }>>,
  'risk' | 'results' | 'reach' | 'files'
> = {
  risk: () => 'caution',
  results: 'operator',
  reach: ({ path }) => (isReadUnasked(path) ? 'outside' : 'session'),
  files: ({ path }) => [path],
};

/**
 * Writes `content` to the file `given`; missing folders are created. A reader sees the old file or the new one, never a
 * partial one. An existing file must be a plain file with one name; a link put there in the meantime is replaced, not
 * followed. Throws `ToolError`: those of `openInside`, `too_large`, `workspace_full`.
 */
export async function saveFile(workspace: string, given: string, content: Buffer): Promise<void> {
  const parts = pathParts(given);
  const name = parts.pop();
  if (name === undefined)
    throw new ToolError('not_a_file', 'The path names the workspace itself, not a file.');
  if (content.length > MAX_FILE_BYTES) {
    throw new ToolError(
      'too_large',
      `A file may have at most ${MAX_FILE_BYTES} bytes; this one has ${content.length}.`,
    );
  }
  await checkRoom(workspace, content.length);
  await using folder = await openFolder(workspace, given, parts, { create: true });
  const target = path.join(folder.place, name);
  const mode = await modeOf(target, given);
  const beside = path.join(folder.place, `.${randomUUID()}.unfinished`);
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
    await using file = await open(beside, flags, mode);
    await file.writeFile(content);
    await rename(beside, target);
  } catch (error) {
    await unlink(beside).catch((gone: NodeJS.ErrnoException) => gone.code);
    throw pathError(error, given);
  }
}

/** The permissions the new file gets: those of the old one, so that a script stays executable. */
async function modeOf(target: string, given: string): Promise<number> {
  try {
    const stats = await lstat(target);
    checkKind(stats, given);
    if (stats.isDirectory()) throw new ToolError('not_a_file', 'The path names a folder, not a file.');
    return stats.mode & 0o700;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0o600;
    throw error instanceof ToolError ? error : pathError(error, given);
  }
}

/** Throws `ToolError('workspace_full')` when the session's folder has no room for `bytes` more. */
export async function checkRoom(workspace: string, bytes: number): Promise<void> {
  let used: WorkspaceUsage;
  try {
    used = await workspaceUsage(workspace);
  } catch (error) {
    throw pathError(error, '.');
  }
  if (used.bytes + bytes > MAX_WORKSPACE_BYTES) throw full(`its limit of ${MAX_WORKSPACE_BYTES} bytes`);
  if (used.entries >= MAX_WORKSPACE_ENTRIES) throw full(`its limit of ${MAX_WORKSPACE_ENTRIES} entries`);
}

function full(limit: string): ToolError {
  return new ToolError(
    'workspace_full',
    `The workspace of this session has reached ${limit}: remove something first.`,
  );
}
