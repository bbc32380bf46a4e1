/** Formulas in Markdown: simple ones become symbols, others code, and everything else stays as it is. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderTelegram } from '../../../channels/telegram/render.ts';
import { MAX_FORMULA } from '../../../src/lib/markdown/formulas.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { readableMath } from '../../../src/lib/markdown/math-text.ts';
import { markdownish } from '../../contracts/hostile-texts.ts';

const shown = (markdown: string): string => renderTelegram(parseMarkdown(readableMath(markdown))).text;

describe('a formula', () => {
  it.each([
    ['\\(a^2 + b^2 = c^2\\)', 'a² + b² = c²'],
    ['so \\( a_1 = \\frac{1}{2} \\) holds', 'so a₁ = 1/2 holds'],
    ['\\[\\frac{a+b}{2} \\geq \\sqrt{ab}\\]', '(a+b)/2 ≥ √(ab)'],
    ['$$E = mc^2$$', 'E = mc²'],
    ['\\(x\\) and \\(\\alpha \\to \\infty\\)', 'x and α → ∞'],
    ['\\(3 * 4 * 5 = 60\\)', '3 * 4 * 5 = 60'],
    ['\\(\\text{speed} = 5\\,\\mathrm{m}\\)', 'speed = 5 m'],
  ])('%j is read as %j', (markdown, expected) => {
    expect(shown(markdown)).toBe(expected);
  });

  it.each([
    ['\\[\\begin{matrix} a & b \\end{matrix}\\]', '<code>\\begin{matrix} a &amp; b \\end{matrix}</code>'],
    ['\\(x^{y^z}\\)', '<code>x^{y^z}</code>'],
    ['\\[\nx^{q!}\n\\]', '<code>x^{q!}</code>'],
  ])('%j is too complex for symbols, and becomes code', (markdown, expected) => {
    expect(shown(markdown)).toBe(expected);
  });

  it.each([
    '`\\(x^2\\)`',
    '```\n\\(x^2\\)\n$$y$$\n```',
    'it costs $5 and $$ more',
    '\\(see below\\)',
    '\\\\(x^2\\\\)',
    '\\(x',
  ])('%j holds none', (markdown) => {
    expect(readableMath(markdown)).toBe(markdown);
  });

  it.each([
    ['\\(', '\\)'],
    ['\\[', '\\]'],
    ['$$', '$$'],
  ])('between %s and %s has at most 4,000 characters', (begin, end) => {
    const longest = `${'x'.repeat(MAX_FORMULA - 2)}=1`;
    expect(shown(begin + longest + end)).toBe(longest);
    const longer = `${begin}x${longest}${end}`;
    expect(readableMath(longer)).toBe(longer);
  });

  it('is found in any text without delay', () => {
    fc.assert(
      fc.property(markdownish, (text) => {
        expect(typeof readableMath(text)).toBe('string');
      }),
    );
    for (const hard of ['\\(', '$$', '\\[ `', '`\\(``'].map((part) => part.repeat(2_000))) {
      const before = performance.now();
      readableMath(hard);
      expect(performance.now() - before).toBeLessThan(200);
    }
  });
});
