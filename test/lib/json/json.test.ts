/** JSON for the database: valid, the same value, without what Postgres refuses. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { cleanJson } from '../../../src/lib/json/json.ts';
import { cleanText } from '../../../src/lib/text.ts';

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), cleaned(inner)]));
}

it('cleans every string and key of any value, and nothing else', () => {
  const hostile = fc.string({
    unit: fc.constantFrom('a', '\0', '\ud800', '\udc00', '😀', '\\', '"', 'u0000', '\u0001'),
  });
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      hostile,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(hostile, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(value, (any) => {
      expect(JSON.parse(cleanJson(any))).toEqual(cleaned(any));
    }),
  );
});

it('writes undefined as null', () => {
  expect(cleanJson(undefined)).toBe('null');
});
