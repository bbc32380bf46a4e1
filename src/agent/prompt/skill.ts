/** A skill: a folder with a SKILL.md, whose front matter describes when to read the rest. */
import { oneLine } from '../../lib/text.ts';

/** Characters of a description that the prompt shows. */
export const MAX_DESCRIPTION_CHARS = 200;
const MAX_NAME_CHARS = 64;

export interface Skill {
  name: string;
  description: string;
}

/** True for a folder name that needs no escaping in a path. */
export function isSkillFolder(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);
}

/**
 * Reads `name` and `description` of the front matter (`key: value` lines between two `---`; quoted, or folded over
 * indented lines). A missing field is empty; a file without front matter has neither. Never throws.
 */
export function readSkill(text: string): Skill {
  const [, head = ''] = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)(?:\r?\n---[ \t]*(?:\r?\n|$)|$)/.exec(text) ?? [];
  return {
    name: oneLine(field(head, 'name')).slice(0, MAX_NAME_CHARS).toWellFormed(),
    description: clip(oneLine(field(head, 'description')), MAX_DESCRIPTION_CHARS),
  };
}

function field(head: string, key: string): string {
  const [, value = ''] = new RegExp(`^${key}[ \\t]*:(.*(?:\\r?\\n[ \\t]+.*)*)`, 'm').exec(head) ?? [];
  const plain = value.replace(/^[ \t]*[>|][+-]?[ \t]*(?=\r?\n)/, '').trim();
  const [, quoted] = /^(?:"(.*)"|'(.*)')$/s.exec(plain)?.filter((part) => part !== undefined) ?? [];
  return quoted ?? plain;
}

function clip(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}
