/** The head of a SKILL.md, as the open format writes it (agentskills.io/specification). */
import { parseDocument } from 'yaml';
import { oneLine } from '../text.ts';

/** Skills of one gateway: as many as a prompt may list. */
export const MAX_SKILLS = 100;
/** UTF-16 units of a name, as the format allows. */
export const MAX_SKILL_NAME_CHARS = 64;
/** UTF-16 units of a description, as the format allows. */
export const MAX_SKILL_DESCRIPTION_CHARS = 1_024;
/** UTF-16 units of `compatibility`, as the format allows. */
const MAX_COMPATIBILITY_CHARS = 500;
/** UTF-16 units of the other values. */
const MAX_VALUE_CHARS = 500;
/** Entries of `metadata` and `allowed-tools`. */
const MAX_ENTRIES = 50;
/** UTF-16 units of the whole head, and bytes of a SKILL.md that a prompt reads for it: more is not read. */
export const MAX_SKILL_HEAD_CHARS = 16_384;
/** Aliases that a head may use: a few dozen can stand for gigabytes. */
const MAX_ALIASES = 20;

/** A name, as the format allows it. */
const SKILL_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
/** The name of a skill's folder: one that needs no escaping in a path or a prompt. */
export const SKILL_FOLDER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** What a skill says of itself. Values are one line each and within their limits; one that is missing is empty. */
export interface SkillFile {
  name: string;
  /** What it does and when to use it. */
  description: string;
  license: string;
  /** What it needs: programs, packages, network access. */
  compatibility: string;
  /** Tools it was written for, by the names of the product that its author used; they grant nothing here. */
  allowedTools: readonly string[];
  metadata: Readonly<Record<string, string>>;
  /** Where it differs from the format, a sentence each; it can be used all the same. */
  problems: readonly string[];
}

/** Reads the front matter of a SKILL.md; without one everything is empty. Never throws. */
export function readSkillFile(text: string): SkillFile {
  const [, head] = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)(?:\r?\n---[ \t]*(?:\r?\n|$)|$)/.exec(text) ?? [];
  if (head === undefined) return skillFrom({}, ['It does not begin with front matter (a line "---").']);
  if (head.length > MAX_SKILL_HEAD_CHARS)
    return skillFrom({}, [`Its front matter is longer than ${MAX_SKILL_HEAD_CHARS} characters.`]);
  const fields = parseYaml(head) ?? parseYaml(withQuotes(head));
  if (fields === undefined) return skillFrom({}, ['Its front matter is not YAML with fields.']);
  return skillFrom(fields, []);
}

/** The fields of a YAML mapping; undefined for anything else. */
function parseYaml(head: string): Record<string, unknown> | undefined {
  try {
    const document = parseDocument(head, { logLevel: 'silent', uniqueKeys: false, schema: 'core' });
    if (document.errors.length > 0) return undefined;
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return isRecord(value) ? value : undefined;
  } catch {
    // Too many aliases, or nested too deeply for the stack: as unreadable as a syntax error.
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Skills written for lenient parsers have unquoted values with a colon in them. */
function withQuotes(head: string): string {
  return head.replaceAll(
    /^([A-Za-z-]+):[ \t]*([^\s"'|>&*![{#].*)$/gm,
    (_, key: string, value: string) => `${key}: ${JSON.stringify(value.trimEnd())}`,
  );
}

function skillFrom(fields: Record<string, unknown>, problems: string[]): SkillFile {
  const value = (key: string, max: number): string => {
    const line = oneLine(plain(fields[key]));
    if (line.length > max) problems.push(`Its ${key} is longer than ${max} characters.`);
    return clip(line, max);
  };
  const skill = {
    name: value('name', MAX_SKILL_NAME_CHARS),
    description: value('description', MAX_SKILL_DESCRIPTION_CHARS),
    license: value('license', MAX_VALUE_CHARS),
    compatibility: value('compatibility', MAX_COMPATIBILITY_CHARS),
    allowedTools: toolNames(fields['allowed-tools']),
    metadata: entriesOf(fields['metadata']),
  };
  if (!SKILL_NAME.test(skill.name))
    problems.push('Its name is not made of lowercase letters, digits and single hyphens.');
  if (skill.description === '') problems.push('It has no description: the model cannot know when to use it.');
  return { ...skill, problems };
}

/** A value as text: a list or mapping has none. */
function plain(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : '';
}

/** Words between spaces or commas outside parentheses, or a list. */
function toolNames(value: unknown): string[] {
  const names = Array.isArray(value)
    ? value.map(plain)
    : (plain(value).match(/[^\s,()]*\([^()]*\)|[^\s,()]+/g) ?? []);
  return names
    .slice(0, MAX_ENTRIES)
    .map((name) => clip(oneLine(name), MAX_VALUE_CHARS))
    .filter((name) => name !== '');
}

function entriesOf(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  const entries = Object.entries(value)
    .slice(0, MAX_ENTRIES)
    .map(([key, one]) => [clip(oneLine(key), MAX_VALUE_CHARS), clip(oneLine(plain(one)), MAX_VALUE_CHARS)]);
  return Object.fromEntries(entries);
}

function clip(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`;
}
