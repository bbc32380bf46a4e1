/** JSON that every database accepts, and limits on JSON from outside. */

/** An escape in JSON text; a pair of backslashes is taken whole, so that a literal `\\u0000` in a text stays intact. */
const ESCAPE = /\\(?:u0000|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)/g;

/** JSON without NUL (becomes U+2400) and lone surrogates (U+FFFD), which Postgres rejects in `jsonb`. Undefined is null. */
export function cleanJson(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  if (!text.includes('\\u')) return text;
  return text.replace(ESCAPE, (escape) => {
    if (escape === '\\u0000') return '\u2400';
    return escape.length === 6 ? '\ufffd' : escape;
  });
}

/** The value of a JSON text; undefined for any other text, which no schema accepts. Never throws. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True for a JSON object, as opposed to a list, a text, a number or null. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The same value with the fields of all its objects in alphabetical order: equal values give equal JSON. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, sortKeys(field)]));
}

/** Deepest nesting of JSON that clients and models write: code that uses it walks it recursively. */
export const MAX_JSON_DEPTH = 64;

/** True for a value whose objects and lists are nested more than `max` levels deep; looks no deeper, so any depth is safe. */
export function isTooDeep(value: unknown, max = MAX_JSON_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return max === 0 || Object.values(value).some((inner) => isTooDeep(inner, max - 1));
}
