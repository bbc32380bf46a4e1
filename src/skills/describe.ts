/** Skills in words for the command line: what one is, and what an update changes. */
import { createTwoFilesPatch } from 'diff';
import { clipEnd, escapeControls } from '../lib/text.ts';
import type { HomeSkill } from './installed.ts';
import type { SkillContent, SkillFolder } from './read-folder.ts';

/** Lines of a difference that are shown for one file. */
export const MAX_DIFF_LINES = 200;
/** Bytes of a text whose difference is computed line by line. */
const MAX_DIFF_BYTES = 256 * 1024;
/** Edits after which two texts count as different throughout. */
const MAX_EDITS = 2_000;
/** Paths that are named. */
const MAX_PATHS = 30;
/** Characters of a description in a list. */
const LINE_CHARS = 160;

/** One line of the list of skills. */
export function skillLine({ folder, skill, isTrusted, isChanged, source }: HomeSkill): string {
  const state = [
    isTrusted ? [] : ['not trusted: the model does not see it'],
    isChanged ? ['changed since it was installed'] : [],
    source === undefined ? ['written here'] : [`from ${source}`],
  ].flat();
  return `${folder}  (${state.join(', ')})\n  ${clipEnd(escapeControls(skill.description), LINE_CHARS)}`;
}

/** What an owner should know before trusting it. */
export function describeSkill({ folder, skill, contents, hash }: SkillFolder): string {
  const bytes = contents.reduce((sum, one) => sum + one.bytes.length, 0);
  const scripts = contents
    .filter(({ file, runs }) => runs || file.startsWith('scripts/'))
    .map(({ file }) => file);
  const lines = [
    `${folder}: ${skill.description}`,
    `  files: ${contents.length}, ${Math.ceil(bytes / 1024)} KiB; SHA-256 ${hash.slice(0, 16)}…`,
    ...(scripts.length === 0 ? [] : [`  programs: ${names(scripts)}`]),
    ...(skill.license === '' ? [] : [`  license: ${skill.license}`]),
    ...(skill.compatibility === '' ? [] : [`  needs: ${skill.compatibility}`]),
    ...(skill.allowedTools.length === 0
      ? []
      : [`  asks for: ${skill.allowedTools.join(' ')} (this grants nothing: approvals and rules decide)`]),
    ...skill.problems.map((problem) => `  note: ${problem}`),
  ];
  return lines.map(escapeControls).join('\n');
}

/** What differs between two versions, file by file; empty if nothing does. */
export function describeChanges(
  current: Pick<SkillFolder, 'contents'>,
  update: Pick<SkillFolder, 'contents'>,
): string {
  const old = new Map(current.contents.map((one) => [one.file, one]));
  const fresh = new Map(update.contents.map((one) => [one.file, one]));
  const files = [...new Set([...old.keys(), ...fresh.keys()])].toSorted();
  return files.flatMap((file) => changeOf(file, old.get(file), fresh.get(file))).join('\n');
}

function changeOf(file: string, old: SkillContent | undefined, fresh: SkillContent | undefined): string[] {
  const name = escapeControls(file);
  if (old !== undefined && fresh !== undefined && old.bytes.equals(fresh.bytes))
    return old.runs === fresh.runs
      ? []
      : [`${name}: ${fresh.runs ? 'may be run now' : 'may not be run any more'}`];
  const [oldText, newText] = [textOf(old), textOf(fresh)];
  if (oldText === undefined || newText === undefined) {
    const change = old === undefined ? 'new' : fresh === undefined ? 'removed' : 'changed';
    return [`${name}: ${change}, not shown because it is no text or too large`];
  }
  const patch = createTwoFilesPatch(name, name, oldText, newText, '', '', {
    context: 2,
    maxEditLength: MAX_EDITS,
  });
  if (patch === undefined) return [`${name}: rewritten throughout`];
  const lines = patch.split('\n').slice(1).map(escapeControls);
  const rest = lines.length - MAX_DIFF_LINES;
  return rest <= 0 ? lines : [...lines.slice(0, MAX_DIFF_LINES), `[… ${rest} more lines of ${name} …]`];
}

/** The text of a file, empty for one that does not exist; undefined for what is no text or too large. */
function textOf(content: SkillContent | undefined): string | undefined {
  if (content === undefined) return '';
  if (content.bytes.length > MAX_DIFF_BYTES || content.bytes.includes(0)) return undefined;
  return content.bytes.toString('utf8');
}

function names(files: readonly string[]): string {
  const rest = files.length - MAX_PATHS;
  return [...files.slice(0, MAX_PATHS), ...(rest > 0 ? [`and ${rest} more`] : [])].join(', ');
}
