/** Fields of answers read leniently: servers disagree about their types, and an unneeded field may contain anything. */
import { isJsonObject } from '../../lib/json/json.ts';

/** An object whose fields may contain anything. */
export type Fields = Readonly<Record<string, unknown>>;

/** Deepest nesting that is searched for text. */
const MAX_PART_DEPTH = 4;

/** The value as an object; undefined when it is not one (arrays are not). Never throws. */
export function fieldsOf(value: unknown): Fields | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** The value as a list: an array unchanged, nothing as an empty list, anything else as the only item. */
export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

/** A name or an id; numbers count, anything else is empty. */
export function wordOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : '';
}

/** A count or a duration, also from a text; undefined for anything that cannot be one. */
export function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined;
}

/**
 * The text in a field: a string, an object that holds one (`text`, `content`, `summary`), or a list of these. Parts of
 * type `thinking` or `reasoning` count only for `thinking`; others (images) yield nothing.
 */
export function textOf(value: unknown, kind: 'text' | 'thinking' = 'text', depth = 0): string {
  if (typeof value === 'string') return value;
  if (depth >= MAX_PART_DEPTH) return '';
  if (Array.isArray(value)) return value.map((part) => partText(part, kind, depth)).join('');
  const fields = fieldsOf(value);
  if (fields === undefined) return '';
  const inner =
    fields['text'] ?? fields['content'] ?? fields['summary'] ?? fields['thinking'] ?? fields['reasoning'];
  return textOf(inner, kind, depth + 1);
}

const THINKING_PART = /^(thinking|reasoning)/;

/** The text of a list item; thoughts among the parts of a text are left to the reader of thoughts. */
function partText(part: unknown, kind: 'text' | 'thinking', depth: number): string {
  const type = wordOf(fieldsOf(part)?.['type']);
  if (kind === 'text' && THINKING_PART.test(type)) return '';
  return textOf(part, kind, depth + 1);
}

/** The thoughts among the parts of a text field, as Mistral sends them; empty when it is not a list of parts. */
export function thoughtsAmong(content: unknown): string {
  if (!Array.isArray(content)) return '';
  return content
    .filter((part) => THINKING_PART.test(wordOf(fieldsOf(part)?.['type'])))
    .map((part) => textOf(part, 'thinking'))
    .join('');
}
