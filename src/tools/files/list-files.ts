/** The plain files of a session's folder, for people who look at them. */
import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from '../../contracts/errors.ts';
import { type FolderFile, MAX_LISTED_FILES } from '../../contracts/tools/tool.ts';
import { walkFolder } from './walk-folder.ts';
import { pathError } from './workspace.ts';
import { MAX_WORKSPACE_ENTRIES } from './workspace-usage.ts';

/** `SessionFiles.list`. Links and devices do not count as files; what vanishes in the meantime is left out. */
export async function listFiles(place: string): Promise<{ files: FolderFile[]; more: boolean }> {
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
