/** Texts that are cut before they are parsed, because a paragraph never ends: nothing may be lost or read as markup. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunksOf } from '../../../src/delivery/text/chunker.ts';
import { HARD_SEGMENT } from '../../../src/delivery/text/segments.ts';
import { renderHeavy } from '../render.ts';

/** A message so long that no cut falls between two of them. */
const target = { render: renderHeavy, maxLength: 200_000 };
const plainOf = async (text: string) => {
  const chunks = await chunksOf(text, target, () => Promise.resolve());
  return chunks.map(({ plain }) => plain).join('|');
};

describe('a paragraph longer than what is parsed at once', () => {
  it('keeps every blank', async () => {
    const text = 'word '.repeat(1_700).trim();
    expect(await plainOf(text)).toBe(text);
  });

  it.each(['- ', '1. ', '# ', '> ', '``` '])('reads %j in the middle of a line as text', async (marker) => {
    const text = `x ${marker.repeat(Math.ceil((2 * HARD_SEGMENT) / marker.length))}`.trim();
    expect(await plainOf(text)).toBe(text);
  });

  it('keeps the words and blanks of any long line (property)', async () => {
    const word = fc.constantFrom(
      'a',
      'word',
      'x'.repeat(61),
      '-',
      '#',
      '>',
      '1.',
      '+',
      '  ',
      '     ',
      'ü',
      '😀',
    );
    const words = fc.array(word, { minLength: 4, maxLength: 12 });
    // Nobody reads thousands of blanks without a word among them.
    const line = words.filter((all) => all.some((one) => one.trim() !== ''));
    await fc.assert(
      fc.asyncProperty(line, async (all) => {
        const piece = all.join(' ');
        const text = `begin ${piece.repeat(Math.ceil((2 * HARD_SEGMENT) / piece.length))} end`;
        expect(await plainOf(text)).toBe(text);
      }),
      { numRuns: 60 },
    );
  });
});
