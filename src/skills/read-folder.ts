/** Reads a folder as a skill, and refuses what no skill should hold. */
import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { readSkillFile, SKILL_FOLDER, type SkillFile } from '../lib/markdown/skill-file.ts';
import { escapeControls } from '../lib/text.ts';
import { openPlainFile, walkFolder } from '../lib/walk-folder.ts';
import { GatewayError } from '../protocol/errors.ts';

/** Bytes of all files of a skill. */
export const MAX_SKILL_BYTES = 8 * 1024 * 1024;
/** Files of a skill. */
export const MAX_SKILL_FILES = 500;
/** Bytes of its SKILL.md. */
export const MAX_SKILL_FILE_BYTES = 256 * 1024;
/** Folders within each other. */
export const MAX_SKILL_DEPTH = 10;

/** What comes along from a working copy and belongs to no skill. */
const LEFT_OUT = new Set(['.git', '.DS_Store', 'node_modules', '__pycache__']);

/** What a folder may hold. */
export interface FolderRules {
  /** What it is, for errors: `skill`. */
  noun: string;
  bytes: number;
  files: number;
  /** Folders within each other. */
  depth: number;
  /** Names of files and folders that do not count. */
  leftOut: ReadonlySet<string>;
}

const SKILL_RULES: FolderRules = {
  noun: 'skill',
  bytes: MAX_SKILL_BYTES,
  files: MAX_SKILL_FILES,
  depth: MAX_SKILL_DEPTH,
  leftOut: LEFT_OUT,
};

/** One file of a skill. */
export interface SkillContent {
  /** From the skill's folder, with forward slashes. */
  file: string;
  bytes: Buffer;
  /** True if its owner may run it. */
  runs: boolean;
}

/** A skill with all of its files, in the order of their paths. */
export interface SkillFolder {
  /** The name of its folder. */
  folder: string;
  skill: SkillFile;
  contents: readonly SkillContent[];
  /** Hexadecimal SHA-256 over the paths, the right to run and the bytes of all files. */
  hash: string;
}

/**
 * Reads every file. The folder's name is the skill's own where that is one for a folder. Throws
 * `GatewayError('bad_skill')`: no SKILL.md or one without a description, not UTF-8, links, devices, or more than the
 * limits allow.
 */
export async function readSkillFolder(place: string): Promise<SkillFolder> {
  const contents = await readContents(place, SKILL_RULES);
  const main = contents.find(({ file }) => file === 'SKILL.md');
  if (main === undefined) throw badSkill(place, 'it has no file SKILL.md');
  if (main.bytes.length > MAX_SKILL_FILE_BYTES)
    throw badSkill(place, `its SKILL.md is larger than ${MAX_SKILL_FILE_BYTES / 1024} KiB`);
  const skill = readSkillFile(textOf(main.bytes, place));
  if (skill.description === '') throw badSkill(place, lowerFirst(skill.problems.join(' ')));
  const folder = SKILL_FOLDER.test(skill.name) ? skill.name : path.basename(place);
  if (!SKILL_FOLDER.test(folder)) throw badSkill(place, 'its name cannot be the name of a folder');
  return { folder, skill, contents, hash: hashOf(contents) };
}

function textOf(bytes: Buffer, place: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw badSkill(place, 'its SKILL.md is not UTF-8', cause);
  }
}

/**
 * Every file of a folder, in the order of their paths. No link is followed, also one that takes the place of a folder or
 * file meanwhile. Throws `GatewayError('bad_<noun>')` for what the rules do not allow.
 */
export async function readContents(root: string, rules: FolderRules): Promise<SkillContent[]> {
  const contents: SkillContent[] = [];
  let bytes = 0;
  const refuse = (reason: string): GatewayError => badFolder(root, reason, rules.noun);
  const enters = (name: string): boolean => !rules.leftOut.has(path.basename(name));
  for await (const { name: file, place } of walkFolder(root, { enters })) {
    if (file.split('/').length > rules.depth + 1)
      throw refuse(`its folders are more than ${rules.depth} deep`);
    const stats = await lstat(place);
    if (stats.isDirectory()) continue;
    if (!stats.isFile())
      throw refuse(`${escapeControls(file)} is ${stats.isSymbolicLink() ? 'a link' : 'no plain file'}`);
    if (contents.length === rules.files) throw refuse(`it has more than ${rules.files} files`);
    const content = await readContent({ file, place }, rules.bytes - bytes, refuse, rules.bytes);
    bytes += content.bytes.length;
    contents.push(content);
  }
  return contents.toSorted((a, b) => comparePaths(a.file, b.file));
}

/** Name by name, as a walk through sorted folders would meet them. */
function comparePaths(one: string, other: string): number {
  const [a, b] = [one.split('/'), other.split('/')];
  const at = a.findIndex((name, index) => name !== b[index]);
  return at === -1 ? 0 : (a[at] ?? '') < (b[at] ?? '') ? -1 : 1;
}

async function readContent(
  { file, place }: { file: string; place: string },
  room: number,
  refuse: (reason: string) => GatewayError,
  most: number,
): Promise<SkillContent> {
  await using handle = await openPlainFile(place);
  const stats = await handle?.stat();
  if (handle === undefined || stats === undefined) throw refuse(`${escapeControls(file)} is no plain file`);
  if (stats.size > room) throw refuse(`its files are larger than ${most / 1024 / 1024} MiB together`);
  const bytes = Buffer.alloc(stats.size);
  const { bytesRead } = await handle.read(bytes, 0, stats.size, 0);
  return { file, bytes: bytes.subarray(0, bytesRead), runs: (stats.mode & 0o100) !== 0 };
}

/** Hexadecimal SHA-256 over the paths, the right to run and the bytes of all files. */
export function hashOf(contents: readonly SkillContent[]): string {
  const hash = createHash('sha256');
  for (const { file, bytes, runs } of contents)
    hash.update(JSON.stringify([file, runs, bytes.length])).update(bytes);
  return hash.digest('hex');
}

/**
 * The folders with a SKILL.md in `root` and up to four levels below; one that has it is not searched further. Never
 * follows links. Throws `GatewayError('bad_skill')` for a `root` that is one.
 */
export async function findSkillFolders(root: string): Promise<string[]> {
  if ((await lstat(root)).isSymbolicLink())
    throw badSkill(root, 'it is a link; give the folder that it leads to');
  const places: string[] = [];
  let level = [root];
  for (let depth = 0; depth <= 4 && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const place of level.slice(0, MAX_SKILL_FILES)) {
      const entries = await readdir(place, { withFileTypes: true });
      if (entries.some(({ name }) => name === 'SKILL.md')) places.push(place);
      else
        next.push(
          ...entries
            .filter((one) => one.isDirectory() && !LEFT_OUT.has(one.name))
            .map(({ name }) => path.join(place, name)),
        );
    }
    level = next;
  }
  return places.toSorted();
}

/** The error for a folder that is no skill. */
function badSkill(place: string, reason: string, cause?: unknown): GatewayError {
  return badFolder(place, reason, SKILL_RULES.noun, cause);
}

function badFolder(place: string, reason: string, noun: string, cause?: unknown): GatewayError {
  return new GatewayError(
    `bad_${noun.replace('-', '')}`,
    `${escapeControls(path.basename(place))} is no ${noun}: ${reason}.`.replace('..', '.'),
    { cause },
  );
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
