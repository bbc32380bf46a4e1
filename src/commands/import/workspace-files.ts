/** What the workspaces of these programs have in common: prompt files, skills, and facts in Markdown. */
import path from 'node:path';
import { MAX_MEMORY_CHARS } from '../../protocol/store/notes.ts';
import { inMegabytes } from '../../lib/text.ts';
import {
  type ImportItem,
  MAX_SKILL_BYTES,
  MAX_SKILL_FILES,
  MAX_SKILLS,
  type MemoryItem,
  omitted,
  type OmittedItem,
  type PromptItem,
  type ReadItems,
} from './items.ts';
import type { SourceFolder } from './source-folder.ts';

const PROMPT_FILES = ['AGENTS.md', 'SOUL.md', 'USER.md', 'TOOLS.md'] as const;
/** Files of the same kind that Parley has no place for. */
const OTHER_FILES = ['IDENTITY.md', 'HEARTBEAT.md', 'BOOT.md', 'BOOTSTRAP.md'];

/** The prompt files of a workspace. Throws `GatewayError('import_unreadable')`. */
export async function* promptFiles(source: SourceFolder, workspace: string): ReadItems {
  for (const name of PROMPT_FILES) {
    const text = await source.text(path.posix.join(workspace, name));
    if (text !== undefined && text.trim() !== '') yield { kind: 'prompt', name, text } satisfies PromptItem;
  }
  const names = new Set((await source.list(workspace)).map(({ name }) => name));
  for (const name of OTHER_FILES)
    if (names.has(name))
      yield omitted(
        `the prompt file ${name}`,
        'Parley reads no file of this name; what matters in it belongs in SOUL.md',
      );
}

/** The skills in a folder, and in folders of that folder. Throws `GatewayError('import_unreadable')`. */
export async function* skillsIn(source: SourceFolder, folder: string): ReadItems {
  let count = 0;
  for await (const place of skillFolders(source, folder, 2)) {
    count += 1;
    if (count > MAX_SKILLS) yield omitted('a skill', `at most ${MAX_SKILLS} are taken at once`);
    else yield await readSkill(source, place);
  }
}

async function* skillFolders(source: SourceFolder, folder: string, depth: number): AsyncGenerator<string> {
  for (const { name, isFolder } of await source.list(folder)) {
    if (!isFolder || name.startsWith('.')) continue;
    const place = path.posix.join(folder, name);
    const entries = await source.list(place);
    if (entries.some((entry) => entry.name === 'SKILL.md' && !entry.isFolder)) yield place;
    else if (depth > 1) yield* skillFolders(source, place, depth - 1);
  }
}

async function readSkill(source: SourceFolder, place: string): Promise<ImportItem> {
  const name = path.posix.basename(place);
  const files = new Map<string, Uint8Array>();
  let size = 0;
  for await (const file of filesIn(source, place, 4)) {
    const bytes = await source.bytes(file);
    if (bytes === undefined) continue;
    size += bytes.length;
    if (files.size >= MAX_SKILL_FILES || size > MAX_SKILL_BYTES) {
      const limit = `it has more than ${MAX_SKILL_FILES} files or ${inMegabytes(MAX_SKILL_BYTES)}`;
      return omitted(`the skill ${name}`, `${limit}; copy what you need by hand`);
    }
    files.set(path.posix.relative(place, file), bytes);
  }
  return { kind: 'skill', name, files };
}

async function* filesIn(source: SourceFolder, folder: string, depth: number): AsyncGenerator<string> {
  for (const { name, isFolder } of await source.list(folder)) {
    const place = path.posix.join(folder, name);
    if (!isFolder) yield place;
    else if (depth > 1 && name !== 'node_modules' && name !== '.git')
      yield* filesIn(source, place, depth - 1);
  }
}

/** The facts in a Markdown file: its list items and paragraphs, without headings, comments and placeholders in brackets. */
export function factsIn(markdown: string): (MemoryItem | OmittedItem)[] {
  const facts: string[] = [];
  let isOpen = false;
  for (const line of withoutComments(markdown).split('\n')) {
    const text = line.trim();
    const [, item] = /^(?:[-*+]|\d+[.)])\s+(.*)$/.exec(text) ?? [];
    const isBreak = text === '' || /^(#{1,6}\s|-{3,}$|\*{3,}$|\(.*\)$)/.test(text);
    if (isBreak) isOpen = false;
    else if (item !== undefined || !isOpen) {
      facts.push(item ?? text);
      isOpen = true;
    } else facts.push(`${facts.pop() ?? ''} ${text}`);
  }
  return facts.map(factOf);
}

/** A comment without an end stays: it may be a slip, and what follows it counts. */
function withoutComments(markdown: string): string {
  const [start = '', ...parts] = markdown.split('<!--');
  return parts.reduce((text, part) => {
    const end = part.indexOf('-->');
    return text + (end < 0 ? `<!--${part}` : part.slice(end + 3));
  }, start);
}

/** A fact, unless it is too long. */
export function factOf(text: string): MemoryItem | OmittedItem {
  const fact = text.trim();
  if (fact.length <= MAX_MEMORY_CHARS) return { kind: 'memory', text: fact };
  return omitted('a fact', `it is longer than ${MAX_MEMORY_CHARS} characters`);
}
