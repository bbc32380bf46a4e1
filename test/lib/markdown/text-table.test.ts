/** Tables as text. */
import { expect, it } from 'vitest';
import { drawTable } from '../../../src/lib/markdown/text-table.ts';

it('aligns tables with wide characters', () => {
  const rows = [
    ['a', 'b'],
    ['日本', 'x'],
  ];
  expect(drawTable(rows)).toBe('a    | b\n-----+--\n日本 | x');
});

it('aligns columns left, right and in the middle', () => {
  const rows = [
    ['left', 'right', 'middle'],
    ['a', 'b', '日'],
  ];
  const lines = ['left | right | middle', '-----+-------+-------', 'a    |     b |   日'];
  expect(drawTable(rows, [null, 'right', 'center'])).toBe(lines.join('\n'));
});

it('counts an emoji of several code points as one wide character', () => {
  expect(drawTable([['👩‍🚀', 'x'], ['ab']])).toBe('👩‍🚀 | x\n---+--\nab |');
});

it('accepts ragged rows, empty ones and line breaks', () => {
  expect(drawTable([])).toBe('');
  expect(drawTable([[]])).toBe('\n');
  expect(drawTable([['a\nb', ''], [], ['c', 'd', 'e']])).toBe(
    'a b |   |\n----+---+--\n    |   |\nc   | d | e',
  );
});
