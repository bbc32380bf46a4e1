/** Settings files the way users write them: comments, trailing commas, and every error with its position. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import GERMAN from '../../src/settings/languages/de.json' with { type: 'json' };
import { inEnglish, sayFrom } from '../../src/protocol/texts/say.ts';
import { MAX_DEPTH, MAX_FILE_CHARS, readJson } from '../../src/settings/read-json.ts';

const errorsOf = (text: string): string[] =>
  readJson(text).errors.map(({ place, what }) => `${place} ${inEnglish.text(what)}`);

describe('a settings file', () => {
  it('may have comments, trailing commas and a byte order mark', () => {
    const text = '\uFEFF{\n  // who it is\n  "persona": "Polly", /* the parrot */\n  "list": [1, 2,],\n}\n';
    expect(errorsOf(text)).toEqual([]);
    expect(readJson(text).value).toEqual({ persona: 'Polly', list: [1, 2] });
  });

  it('is read like any other JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const { value: read, errors } = readJson(JSON.stringify(value, undefined, 2));
        expect(errors).toEqual([]);
        expect(JSON.stringify(read)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('reports every error with line and column, and is parsed as far as possible', () => {
    const text = '{\n  "a": 1\n  "b": yes,\n  "c": "open,\n  "d": 4\n}';
    expect(errorsOf(text)).toEqual([
      ':3:3 a comma is missing before this',
      expect.stringMatching(/^:3:8 this is not a value: put text in double quotes/),
      ':3:11 a value is expected here',
      ':4:8 a text is not closed: write " at its end, on the same line',
      ':5:3 a comma is missing before this',
    ]);
    expect(readJson(text).value).toMatchObject({ a: 1, d: 4 });
  });

  it('reports every error in the language of the reader', () => {
    const text = '{"a": 1 "a": no, /* "b": "\\q", "c": "\\u12", "d": 1., "e" 2, [}';
    const { errors } = readJson(text);
    expect(errors.length).toBeGreaterThan(4);
    const german = sayFrom('de', GERMAN);
    const both = errors.map(({ what }) => [inEnglish.text(what), german.text(what)]);
    expect(both.filter(([english, other]) => english === other)).toEqual([]);
    expect(both[0]).toEqual(['a comma is missing before this', 'davor fehlt ein Komma']);
  });

  it('reports a duplicate field', () => {
    expect(errorsOf('{"access": {},\n "access": {}}')).toEqual([':2:2 "access" appears twice']);
  });

  it('reports the position of a field, or of the nearest one around it', () => {
    const { placeOf } = readJson('{\n  "a": {\r\n    "b": [10,\n      20]\n  }\n}');
    expect(placeOf(['a'])).toBe(':2:3');
    expect(placeOf(['a', 'b'])).toBe(':3:5');
    expect(placeOf(['a', 'b', 1])).toBe(':4:7');
    expect(placeOf(['a', 'nothing', 'there'])).toBe(':2:3');
    expect(placeOf(['a', 'b', 7, 'x'])).toBe(':3:5');
    expect(placeOf([])).toBe(':1:1');
    expect(readJson('').placeOf(['a'])).toBe('');
  });

  it('treats a field called __proto__ like any other', () => {
    const { value } = readJson('{"__proto__": {"admin": true}}');
    expect(Object.keys(Object(value))).toEqual(['__proto__']);
    expect(Object(value).admin).toBeUndefined();
  });

  it.each([
    ['nothing', ' \n', /is empty: write \{\}/],
    ['too much', JSON.stringify('x'.repeat(MAX_FILE_CHARS)), /too long: at most 1000000/],
    ['too many levels', '['.repeat(MAX_DEPTH + 1) + ']'.repeat(MAX_DEPTH + 1), /at most 64 levels/],
    ['brackets without end', '['.repeat(MAX_FILE_CHARS), /at most 64 levels/],
  ])('with %s is refused with a sentence', (_name, text, message) => {
    expect(errorsOf(text)).toEqual([expect.stringMatching(message)]);
  });

  it('can reach each limit', () => {
    expect(errorsOf('['.repeat(MAX_DEPTH) + ']'.repeat(MAX_DEPTH))).toEqual([]);
    expect(errorsOf(JSON.stringify('x'.repeat(MAX_FILE_CHARS - 2)))).toEqual([]);
  });

  it('never throws, whatever it contains', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '/*',
      '*/',
      '//',
      '\n',
      '1',
      '-',
      '\\u',
      'nul',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const { errors, placeOf } = readJson(pieces.join(''));
        expect(errors.length).toBeLessThan(500);
        expect(placeOf(['a', 0, 'b'])).toMatch(/^(:\d+:\d+)?$/);
      }),
      { numRuns: 500 },
    );
  });
});
