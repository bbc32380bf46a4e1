/** What changes between two texts, line by line. */
import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  lineDiff,
  MAX_COMPARED_LINES,
} from '../../../../../../channels/http/page/chat/approvals/line-diff.ts';

const drawn = (before: string, after: string): string[] =>
  lineDiff(before, after).map(({ kind, text }) => `${{ same: ' ', removed: '-', added: '+' }[kind]}${text}`);

describe('a diff by lines', () => {
  it('keeps what both have, and shows removed lines before added ones', () => {
    expect(drawn('a\nb\nc\nd', 'a\nx\nc\ny\nd')).toEqual([' a', '-b', '+x', ' c', '+y', ' d']);
    expect(drawn('', 'new')).toEqual(['+new']);
    expect(drawn('old', '')).toEqual(['-old']);
    expect(drawn('same', 'same')).toEqual([' same']);
  });

  it('loses no line of either text, whatever they are', () => {
    const text = array(constantFrom('a', 'b', 'c', ' ')).map((lines) => lines.join('\n'));
    assert(
      property(text, text, (before, after) => {
        const lines = lineDiff(before, after);
        const of = (kind: string): string =>
          lines.flatMap((line) => (line.kind === 'same' || line.kind === kind ? [line.text] : [])).join('\n');
        expect([of('removed'), of('added')]).toEqual([before, after]);
      }),
    );
  });

  it(`compares at most ${MAX_COMPARED_LINES} lines one by one`, () => {
    const lines = (count: number, mark: string): string =>
      ['top', ...Array.from({ length: count }, (_, n) => (n % 2 === 0 ? 'both' : `${mark}${n}`)), 'end'].join(
        '\n',
      );
    const half = MAX_COMPARED_LINES / 2;
    const kinds = (count: number): string =>
      lineDiff(lines(count, 'a'), lines(count, 'b'))
        .slice(0, 5)
        .map(({ kind }) => kind[0])
        .join('');
    // Both have the first line in the middle: it counts towards their common beginning.
    expect(kinds(half)).toBe('ssras');
    expect(kinds(half + 8)).toBe('ssrrr');
  });
});
