/** The text of a webhook: a template filled with fields of its body. */
import { clipMiddle } from '../../lib/text.ts';

/** Longest text, in UTF-16 units. */
export const MAX_HOOK_TEXT = 8_000;
/** Room for the marker in place of the missing middle. */
const MARK_CHARS = 100;
/** Longest value of one field, in UTF-16 units. */
const MAX_FIELD = 2_000;
/** Most levels of a path. */
const MAX_LEVELS = 10;

/** Fills `{{a.b.0.c}}` of the template with the payload's values; a missing field is empty. Never throws. */
export function hookText(template: string | undefined, payload: unknown): string {
  if (template === undefined)
    return clipMiddle(JSON.stringify(payload, undefined, 2) ?? '', MAX_HOOK_TEXT - MARK_CHARS);
  const filled = template.replaceAll(/\{\{\s*([\w.-]{1,200})\s*\}\}/g, (_, path: string) =>
    fieldOf(payload, path),
  );
  return clipMiddle(filled, MAX_HOOK_TEXT - MARK_CHARS);
}

function fieldOf(payload: unknown, path: string): string {
  let value = payload;
  for (const name of path.split('.').slice(0, MAX_LEVELS)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return '';
    value = Reflect.get(value, name);
  }
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return clipMiddle(text, MAX_FIELD);
}
