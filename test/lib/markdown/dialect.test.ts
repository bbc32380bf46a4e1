/** Markdown as models write it: footnotes, tags, callouts, references and names at the edges of what is read as one. */
import { describe, expect, it } from 'vitest';
import { renderTelegram } from '../../../channels/telegram/render.ts';
import { escapeMarkdown, resolveReferences } from '../../../src/lib/markdown/references.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { readableMath } from '../../../src/lib/markdown/math-text.ts';
import * as fc from 'fast-check';
import { parseDocument } from '../../../channels/http/page/markdown/document.ts';
import { pageTree } from '../../channels/http/page/markdown/trees.ts';
import { markdownish } from '../../contracts/hostile-texts.ts';

const plain = (markdown: string): string => renderTelegram(parseMarkdown(readableMath(markdown))).plain;

describe('a footnote', () => {
  it('has a number of at most three digits', () => {
    expect(plain('a[^999] b[^1000]')).toBe('a[999] b[^1000]');
  });
});

describe('a formula in brackets', () => {
  it('is alone if at most forty characters are read on either side of it', () => {
    expect(plain(`${' '.repeat(3)}\\[a + 1\\]${' '.repeat(39)}\nx`)).toMatch(/^a \+ 1/);
    expect(plain(`x \\[a + 1\\]`)).toBe('x [a + 1]');
  });
});

describe('a name of Python', () => {
  it('has at most forty letters', () => {
    const call = (letters: number): string => `__${'a'.repeat(letters)}__()`;
    expect(plain(call(40))).toBe(call(40));
    expect(plain(call(41))).toBe(`${'a'.repeat(41)}()`);
  });
});

describe('a reference', () => {
  it('has a name and a text of at most 200 characters', () => {
    const defined = (id: string): string => `[x][${id}]\n\n[${id}]: https://example.org`;
    expect(resolveReferences(defined('a'.repeat(200)))).toMatch(/^\[x\]\(<https/);
    expect(resolveReferences(defined('a'.repeat(201)))).toBe(defined('a'.repeat(201)));
  });

  it('is written out in time proportional to the text', () => {
    for (const part of ['[a]', '[a][b]', '[a]: https://x ', '[', '![a]', '`[a]']) {
      const text = `${part.repeat(20_000)}\n\n[a]: https://example.org`;
      const before = performance.now();
      resolveReferences(text);
      expect(performance.now() - before).toBeLessThan(1_000);
    }
  });
});

describe('escaped text', () => {
  const awkward = fc.oneof(
    markdownish,
    fc
      .array(
        fc.constantFrom(
          '[',
          ']',
          '\\',
          '$',
          '(',
          ')',
          'x^2',
          '=',
          '_',
          ' ',
          '3',
          '~~',
          '*',
          '<b>',
          '</b>',
          '[!NOTE]',
          '[^1]',
          'a',
        ),
      )
      .map((parts) => parts.join('')),
  );
  const oneLine = (text: string): string =>
    text
      .toWellFormed()
      .replaceAll(/[\s\p{C}]+/gu, ' ')
      .trim();

  it('is shown unchanged, not as a formula', () => {
    fc.assert(
      fc.property(awkward, (text) => {
        const written = oneLine(text);
        fc.pre(!/https?:|www\.|@|\/|\.\w/.test(written));
        expect(plain(`**Ada:** ${escapeMarkdown(written)}`)).toBe(`Ada: ${written}`.trim());
        const [tree] = pageTree(`x ${escapeMarkdown(written)}`, parseDocument);
        expect(tree).toEqual(['paragraph', ['text', `x ${written}`.trim()]]);
      }),
      { numRuns: 1_000 },
    );
  });
});
