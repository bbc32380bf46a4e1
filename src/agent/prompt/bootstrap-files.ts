/** The operator's files for every prompt: AGENTS.md, SOUL.md, USER.md, TOOLS.md, and the list of the skills (B-05). */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { estimateTokens } from '../../lib/tokens.ts';
import type { Log } from '../../contracts/log.ts';
import { createFileCache, type FileCache, type FileText } from './file-cache.ts';
import { isSkillFolder, readSkill, type Skill } from './skill.ts';
import { errorCode } from '../../contracts/errors.ts';

/** Files that are part of every prompt, in order. */
const BOOTSTRAP_FILES = ['AGENTS.md', 'SOUL.md', 'USER.md', 'TOOLS.md'] as const;
/** Bytes that are read of each file: with all four, a window of 16,384 tokens still has room for a conversation. */
export const MAX_BOOTSTRAP_BYTES = 6_000;
/** Skills that are listed. */
export const MAX_SKILLS = 30;
/** Bytes of a SKILL.md that are searched for its name and description. */
const FRONT_MATTER_BYTES = 4_096;
/** How long the files are cached before they are checked again, in milliseconds. */
export const CHECK_EVERY_MS = 1_000;

/** A section of the prompt; empty when there is none. */
export interface PromptPart {
  content: string;
  tokens: number;
}

export const NO_PART: PromptPart = { content: '', tokens: 0 };

/** Creates a section with its estimated tokens. */
export function promptPart(content: string): PromptPart {
  return { content, tokens: estimateTokens(content) };
}

export interface BootstrapPrompt {
  bootstrap: PromptPart;
  skills: PromptPart;
}

/** The bootstrap prompt without a workspace folder. */
export async function noBootstrapPrompt(): Promise<BootstrapPrompt> {
  return { bootstrap: NO_PART, skills: NO_PART };
}

/**
 * Makes the function that returns the bootstrap prompt from the files in `folder` as they are now. A file is read again
 * when its modification time or size has changed; all calls within a second share one check. `monotonicNow` is a clock
 * in milliseconds. Never throws: a file that cannot be read is left out and logged.
 */
export function createBootstrapFiles(
  folder: string,
  log: Log,
  monotonicNow: () => number = () => performance.now(),
): () => Promise<BootstrapPrompt> {
  const texts = createFileCache(MAX_BOOTSTRAP_BYTES, (read) => bootstrapText(read, log), log);
  const skills = createFileCache(FRONT_MATTER_BYTES, ({ text }) => readSkill(text), log);
  const listSkills = createSkillList(path.join(folder, 'skills'), skills, log);
  let parts: BootstrapPrompt = { bootstrap: NO_PART, skills: NO_PART };
  let checked: { at: number; prompt: Promise<BootstrapPrompt> } | undefined;

  const check = async (): Promise<BootstrapPrompt> => {
    const read = BOOTSTRAP_FILES.map(async (name) => {
      const text = (await texts.read(path.join(folder, name))) ?? '';
      return text === '' ? [] : [`## ${name}\n\n${text}`];
    });
    const bootstrap = (await Promise.all(read)).flat().join('\n\n');
    const skillList = await listSkills();
    parts = {
      bootstrap: parts.bootstrap.content === bootstrap ? parts.bootstrap : promptPart(bootstrap),
      skills: parts.skills.content === skillList ? parts.skills : promptPart(skillList),
    };
    return parts;
  };
  return () => {
    if (checked === undefined || monotonicNow() - checked.at >= CHECK_EVERY_MS)
      checked = { at: monotonicNow(), prompt: check() };
    return checked.prompt;
  };
}

/** The text of a bootstrap file, with a mark where it was cut. */
function bootstrapText({ file, text, size }: FileText, log: Log): string {
  const trimmed = text.trim();
  if (size <= MAX_BOOTSTRAP_BYTES) return trimmed;
  log.warn({ file, size, limit: MAX_BOOTSTRAP_BYTES }, 'prompt_file_truncated');
  const left = size - MAX_BOOTSTRAP_BYTES;
  return `${trimmed}\n[… ${left} more bytes of ${path.basename(file)} are left out: at most ${MAX_BOOTSTRAP_BYTES} are read …]`;
}

/** The section that lists the skills in `folder` by name; empty when there are none. */
function createSkillList(folder: string, files: FileCache<Skill>, log: Log): () => Promise<string> {
  let reported = '';
  return async () => {
    const { names, refused } = await skillFolders(folder, log);
    const listed = names.slice(0, MAX_SKILLS);
    const paths = listed.map((name) => path.join(folder, name, 'SKILL.md'));
    files.keepOnly(new Set(paths));
    const skills = await Promise.all(paths.map((file) => files.read(file)));
    const lines = skills.flatMap((skill, at) => (skill === undefined ? [] : [skillLine(listed[at]!, skill)]));
    const left = names.length - listed.length;
    if (left > 0) lines.push(`- [… ${left} more skills are left out: at most ${MAX_SKILLS} are listed …]`);
    const found = [...refused, ...names.slice(MAX_SKILLS)].join(', ');
    if (found !== reported && found !== '') log.warn({ skills: found }, 'skills_not_listed');
    reported = found;
    if (lines.length === 0) return '';
    return `## Skills\n\nInstructions for certain tasks. Before you do one of them, read its file with read_file.\n\n${lines.join('\n')}`;
  };
}

function skillLine(folder: string, { name, description }: Skill): string {
  const what = description === '' ? '' : `: ${description}`;
  return `- ${name === '' ? folder : name}${what} (skills/${folder}/SKILL.md)`;
}

async function skillFolders(folder: string, log: Log): Promise<{ names: string[]; refused: string[] }> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const names = entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
    return { names: names.filter(isSkillFolder), refused: names.filter((name) => !isSkillFolder(name)) };
  } catch (error) {
    const absent = errorCode(error) === 'ENOENT';
    if (!absent) log.warn({ err: error, folder }, 'skills_unreadable');
    return { names: [], refused: [] };
  }
}
