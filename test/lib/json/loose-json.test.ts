/** JSON with the slips of language models. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_JSON_DEPTH } from '../../../src/lib/json/json.ts';
import { readLoose, readLooseValues } from '../../../src/lib/json/loose-json.ts';

const read = (text: string): unknown => {
  const values = readLooseValues(text);
  return values?.length === 1 ? values[0] : values;
};

describe('a text with the slips of models', () => {
  it.each([
    [`{'city': 'Paris', "days": 3}`, { city: 'Paris', days: 3 }],
    [
      `{"a": True, "b": False, "c": None, "d": true, "e": null}`,
      { a: true, b: false, c: null, d: true, e: null },
    ],
    ['{"a": [1, 2,], "b": {"c": 1,},}', { a: [1, 2], b: { c: 1 } }],
    ['{"text": "one\ntwo\tthree"}', { text: 'one\ntwo\tthree' }],
    ['{city: "Paris", "and-more": 1, x.y: 2}', { city: 'Paris', 'and-more': 1, 'x.y': 2 }],
    [`{"say": 'it\\'s "fine"'}`, { say: 'it\'s "fine"' }],
    [
      String.raw`{"pattern": "\d+\.txt", "path": "C:\temp\q", "nul": "\x41\u00e4\U0001f600"}`,
      { pattern: String.raw`\d+\.txt`, path: `C:\temp${String.raw`\q`}`, nul: 'Aä😀' },
    ],
    [`{"text": """one "two"\nthree"""}`, { text: 'one "two"\nthree' }],
    ['(1, -2.5, +3, 1e3, 1_000, .5)', [1, -2.5, 3, 1000, 1000, 0.5]],
    ['{city:<|"|>a "b", {c}<|"|>,n:5}', { city: 'a "b", {c}', n: 5 }],
    ['{city:<escape>Paris<escape>}', { city: 'Paris' }],
    [' { } ', {}],
    ['{"emoji": "\\ud83d\\ude00"}', { emoji: '😀' }],
  ])('%j is read', (text, value) => {
    expect(read(text)).toEqual(value);
  });

  it.each([
    '{"city": "Par',
    '{"city": "Paris"',
    '{"city": Paris}',
    '{"say": "a "quoted" word"}',
    '{"a": 1 "b": 2}',
    '{"a" 1}',
    '[1 2]',
    '{"a": 007}',
    '{"a": 1.2.3}',
    '{"a": NaN}',
    '{,}',
    '{"a": 1]',
    'hello',
    `${'['.repeat(MAX_JSON_DEPTH + 1)}${']'.repeat(MAX_JSON_DEPTH + 1)}`,
  ])('%j is not a value, because it is cut off or ambiguous', (text) => {
    expect(readLooseValues(text)).toBeUndefined();
  });

  it('may be one of several values in a row', () => {
    expect(readLooseValues('{"a": 1}{"b": 2} [3]')).toEqual([{ a: 1 }, { b: 2 }, [3]]);
    expect(readLooseValues(' ')).toEqual([]);
  });

  it('can begin and end within another text', () => {
    expect(readLoose('x = {"a": 1}; y', 4)).toEqual({ value: { a: 1 }, end: 12 });
  });
});

it('reads all JSON as JSON does', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value);
      expect(read(text)).toEqual(JSON.parse(text));
      expect(read(JSON.stringify(value, null, 2))).toEqual(JSON.parse(text));
    }),
  );
});

it('takes time proportional to the length of the text', () => {
  const size = 1024 * 1024;
  for (const word of ['{', '{"a":', '"', "'", '\\', '{}', '[1,', '{"a":"x"}', 'x', '1', '<escape>', "'''"]) {
    const before = process.cpuUsage();
    readLooseValues(word.repeat(size / word.length));
    readLooseValues(`{"a": "${word.repeat(size / word.length)}"}`);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_500);
  }
});
