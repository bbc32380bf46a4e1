/** Puts prompt files and skills into the workspace of a home. What is there already stays as it is. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SKILL_FOLDER } from '../../lib/markdown/skill-file.ts';
import { errorCode, unless } from '../../protocol/errors.ts';
import { makeFolder } from '../../store/index.ts';
import type { PromptItem, SkillItem } from './items.ts';

/** New; the same is there; or something else of that name is there. */
export type Placement = 'new' | 'present' | 'differs';

/** The name as a folder name: what else it contains becomes a hyphen. Undefined when nothing is left. */
export function folderName(name: string): string | undefined {
  const clean = name
    .trim()
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .slice(0, 64);
  return SKILL_FOLDER.test(clean) ? clean : undefined;
}

/** Writes a prompt file, or says what would happen. Throws errors of the file system. */
export async function placePrompt(
  workspace: string,
  { name, text }: PromptItem,
  dryRun: boolean,
): Promise<Placement> {
  const file = path.join(workspace, name);
  const current = await unless(['ENOENT'], readFile(file, 'utf8'), undefined);
  if (current !== undefined) return current.trim() === text.trim() ? 'present' : 'differs';
  if (dryRun) return 'new';
  await makeFolder(workspace);
  await writeFile(file, text, { flag: 'wx', mode: 0o600 });
  return 'new';
}

/** Writes a skill, all of it or nothing, or says what would happen. Throws errors of the file system. */
export async function placeSkill(
  workspace: string,
  name: string,
  { files }: SkillItem,
  dryRun: boolean,
): Promise<Placement> {
  const folder = path.join(workspace, 'skills', name);
  const current = await unless(['ENOENT'], readFile(path.join(folder, 'SKILL.md')), undefined);
  const text = files.get('SKILL.md');
  if (current !== undefined) return text !== undefined && current.equals(text) ? 'present' : 'differs';
  if (dryRun) return 'new';
  await makeFolder(path.dirname(folder));
  const draft = path.join(workspace, 'skills', `.${name}.new`);
  await rm(draft, { recursive: true, force: true });
  for (const [file, bytes] of files) {
    const target = path.join(draft, file);
    await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
    await writeFile(target, bytes, { mode: 0o600 });
  }
  try {
    await rename(draft, folder);
    return 'new';
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error))) return 'differs';
    throw error;
  }
}
