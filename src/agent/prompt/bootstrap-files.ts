/** The operator's files for every prompt: AGENTS.md, SOUL.md, USER.md, TOOLS.md, and the list of the skills (B-05). */
import { type FileHandle, open, readdir } from 'node:fs/promises';
import path from 'node:path';
import {
  MAX_SKILL_HEAD_CHARS,
  MAX_SKILLS,
  readSkillFile,
  SKILL_FOLDER,
  type SkillFile,
} from '../../lib/markdown/skill-file.ts';
import { estimateTokens, stripEnd } from '../../lib/text.ts';
import type { Log } from '../../protocol/log.ts';
import { constants } from 'node:fs';
import { errorCode, toGatewayError } from '../../protocol/errors.ts';

/** The beginning of a file. */
interface FileText {
  file: string;
  /** At most the requested bytes, whole characters only. */
  text: string;
  /** Bytes of the whole file. */
  size: number;
}

interface FileCache<T> {
  /**
   * The value made from the file; undefined when there is no file or it cannot be read, which is logged. Never throws.
   */
  read(file: string): Promise<T | undefined>;
  /** Drops every file but these. */
  keepOnly(files: ReadonlySet<string>): void;
}

/** A skill that the prompt may list. */
export interface SkillEntry {
  /** Its folder below `skills/`, and the name by which profiles choose it. */
  folder: string;
  /** The name that it gives itself; its folder's if it gives none. */
  name: string;
  /** What it does and when to use it, in one line; may be empty. */
  description: string;
}

/** Files that are part of every prompt, in order. */
const BOOTSTRAP_FILES = ['AGENTS.md', 'SOUL.md', 'USER.md', 'TOOLS.md'] as const;
/** Bytes that are read of each file: with all four, a window of 16,384 tokens still has room for a conversation. */
export const MAX_BOOTSTRAP_BYTES = 6_000;
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
  skills: readonly SkillEntry[];
}

/** The bootstrap prompt without a workspace folder. */
export async function noBootstrapPrompt(): Promise<BootstrapPrompt> {
  return { bootstrap: NO_PART, skills: [] };
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
  const skills = createFileCache(MAX_SKILL_HEAD_CHARS, ({ text }) => readSkillFile(text), log);
  const listSkills = createSkillList(path.join(folder, 'skills'), skills, log);
  let parts: BootstrapPrompt = { bootstrap: NO_PART, skills: [] };
  let checked: { at: number; prompt: Promise<BootstrapPrompt> } | undefined;

  const check = async (): Promise<BootstrapPrompt> => {
    const read = BOOTSTRAP_FILES.map(async (name) => {
      const text = (await texts.read(path.join(folder, name))) ?? '';
      return text === '' ? [] : [`## ${name}\n\n${text}`];
    });
    const bootstrap = (await Promise.all(read)).flat().join('\n\n');
    parts = {
      bootstrap: parts.bootstrap.content === bootstrap ? parts.bootstrap : promptPart(bootstrap),
      skills: await listSkills(),
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
  const rest = size - MAX_BOOTSTRAP_BYTES;
  return `${trimmed}\n[… ${rest} more bytes of ${path.basename(file)} are left out: at most ${MAX_BOOTSTRAP_BYTES} are read …]`;
}

/** The skills in `folder`, by the names of their folders; at most `MAX_SKILLS`. */
function createSkillList(
  folder: string,
  files: FileCache<SkillFile>,
  log: Log,
): () => Promise<readonly SkillEntry[]> {
  let reported = '';
  return async () => {
    const { names, refused: refusedNames } = await skillFolders(folder, log);
    const listed = names.slice(0, MAX_SKILLS);
    const paths = listed.map((name) => path.join(folder, name, 'SKILL.md'));
    files.keepOnly(new Set(paths));
    const skills = await Promise.all(paths.map((file) => files.read(file)));
    const unlisted = [...refusedNames, ...names.slice(MAX_SKILLS)].join(', ');
    if (unlisted !== reported && unlisted !== '') log.warn({ skills: unlisted }, 'skills_not_listed');
    reported = unlisted;
    return skills.flatMap((skill, at) => (skill === undefined ? [] : [entryOf(listed[at]!, skill)]));
  };
}

function entryOf(folder: string, { name, description }: SkillFile): SkillEntry {
  return { folder, name: name === '' ? folder : name, description };
}

async function skillFolders(folder: string, log: Log): Promise<{ names: string[]; refused: string[] }> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const names = entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
    const refused = names.filter((name) => !SKILL_FOLDER.test(name));
    return { names: names.filter((name) => SKILL_FOLDER.test(name)), refused };
  } catch (error) {
    const absent = errorCode(error) === 'ENOENT';
    if (!absent) log.warn({ err: error, folder }, 'skills_unreadable');
    return { names: [], refused: [] };
  }
}

/** `make` turns the first `maxBytes` bytes of a file into the cached value; it is called once per change. */
export function createFileCache<T>(maxBytes: number, make: (read: FileText) => T, log: Log): FileCache<T> {
  const cache = new Map<string, { mtimeMs: number; size: number; value: T }>();
  const errors = new Map<string, string>();

  const readFrom = async (handle: FileHandle, file: string): Promise<T> => {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error('It is not a plain file.');
    const { mtimeMs, size } = stats;
    const entry = cache.get(file);
    if (entry?.mtimeMs === mtimeMs && entry.size === size) return entry.value;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
    // A character that was cut at the end became a replacement character.
    const text = stripEnd(buffer.toString('utf8', 0, bytesRead), '\ufffd');
    const value = make({ file, text, size });
    cache.set(file, { mtimeMs, size, value });
    return value;
  };

  return {
    async read(file) {
      try {
        // O_NONBLOCK: a pipe without a writer must not block the thread.
        await using handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
        const value = await readFrom(handle, file);
        errors.delete(file);
        return value;
      } catch (error) {
        cache.delete(file);
        const absent = errorCode(error) === 'ENOENT';
        const { message } = toGatewayError(error);
        if (absent) errors.delete(file);
        else if (errors.get(file) !== message) {
          errors.set(file, message);
          log.warn({ err: error, file }, 'prompt_file_unreadable');
        }
        return undefined;
      }
    },
    keepOnly(files) {
      for (const map of [cache, errors])
        for (const file of map.keys()) if (!files.has(file)) map.delete(file);
    },
  };
}
