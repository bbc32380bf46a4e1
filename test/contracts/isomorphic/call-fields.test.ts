/** The arguments of a call as fields of a form, and what a person makes of them. */
import { describe, expect, it } from 'vitest';
import {
  callFields,
  problemsByArgument,
  readCallFields,
} from '../../../src/protocol/isomorphic/call-fields.js';

const ARGS = { path: 'a.txt', count: 2, words: ['x', 'y'] };

describe('the fields of a call', () => {
  it('are texts as they are, and everything else as JSON', () => {
    expect(callFields(ARGS)).toEqual([
      { name: 'path', text: 'a.txt', isJson: false },
      { name: 'count', text: '2', isJson: true },
      { name: 'words', text: '[\n  "x",\n  "y"\n]', isJson: true },
    ]);
    expect(callFields({})).toEqual([]);
  });

  it('hide nothing: a text with invisible characters is JSON with escapes, also beyond the basic plane', () => {
    const args = { path: 'a\u202eb\u{e0041}' };
    const [field] = callFields(args);
    expect(field).toEqual({ name: 'path', text: String.raw`"a\u202eb\udb40\udc41"`, isJson: true });
    const typed = field?.text.replace('a', 'c');
    expect(readCallFields(args, [typed])).toEqual({ args: { path: 'c\u202eb\u{e0041}' }, isChanged: true });
  });

  it('that are untouched, or only have other spaces around them and other line ends, change nothing', () => {
    const args = { text: ' a\nb ' };
    expect(readCallFields(args, ['a\r\nb'])).toEqual({ args, isChanged: false });
    expect(readCallFields(ARGS, [undefined, ' 2 ', undefined])).toEqual({ args: ARGS, isChanged: false });
  });

  it('keep a text that was emptied, and leave out JSON that was', () => {
    expect(readCallFields(ARGS, ['', '', '[]'])).toEqual({ args: { path: '', words: [] }, isChanged: true });
    expect(readCallFields(ARGS, ['a', 'null', undefined])).toMatchObject({ args: { count: null } });
  });

  it('that are no JSON are named, all of them', () => {
    expect(readCallFields(ARGS, ['b', 'two', '[x]'])).toEqual({ notJson: ['count', 'words'] });
  });

  it('get the problems whose lines begin with their names', () => {
    const problem = 'Wrong arguments for t:\n- count must be at most 3\n- words.0 must be of type string';
    expect(problemsByArgument(['path', 'count', 'words'], problem)).toEqual({
      count: 'count must be at most 3',
      words: 'words.0 must be of type string',
    });
    expect(problemsByArgument(['path'], 'There is no tool "t".')).toEqual({});
  });
});
