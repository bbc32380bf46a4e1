/** JSON that every database accepts. */

/** An escape in JSON text; a pair of backslashes is taken whole, so that `\\u0000` in a text stays what it says. */
const ESCAPE = /\\(?:u0000|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)/g;

/**
 * `value` as JSON text without NUL (becomes U+2400) and lone surrogates (become U+FFFD), in keys too: Postgres refuses
 * both in `jsonb`. Undefined becomes null.
 */
export function cleanJson(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  if (!text.includes('\\u')) return text;
  return text.replace(ESCAPE, (escape) => {
    if (escape === '\\u0000') return '\u2400';
    return escape.length === 6 ? '\ufffd' : escape;
  });
}

/** The same value with the fields of all its objects in alphabetical order: equal values give equal JSON. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, sortKeys(field)]));
}
