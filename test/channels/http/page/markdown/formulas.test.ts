/** Formulas, footnotes, callouts and pictures in the parser of the page: found in any text, and lost in none. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBlocks } from '../../../../../channels/http/page/markdown/blocks.ts';
import { GrowingDocument, parseDocument } from '../../../../../channels/http/page/markdown/document.ts';
import { markFormulas, writtenText } from '../../../../../channels/http/page/markdown/formulas.ts';
import { parseInline } from '../../../../../channels/http/page/markdown/inline.ts';
import type { Inline } from '../../../../../channels/http/page/markdown/nodes.ts';
import { notesIn } from '../../../../../channels/http/page/markdown/notes.tsx';
import { campaignSize } from '../../../../campaign.ts';
import { markdownish } from '../../../../contracts/hostile-texts.ts';

const formulasOf = (nodes: Inline[]): string[] =>
  nodes.flatMap((node) => {
    if (node.type === 'formula') return [`${node.isDisplayed ? 'displayed' : 'inline'} ${node.source}`];
    return 'children' in node ? formulasOf(node.children) : [];
  });
const inText = (text: string): string[] => formulasOf(parseInline(markFormulas(text)));

/** What models write around formulas, in any order. */
const mathish = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '$',
        '$$',
        '\\(',
        '\\)',
        '\\[',
        '\\]',
        '`',
        '```',
        '\n',
        '\n\n',
        '> ',
        '- ',
        '|',
        '**',
        '[a](',
        ')',
      ),
      fc.constantFrom(
        'x^2',
        '\\frac{1}{2}',
        '5',
        ' to ',
        'word',
        '\\begin{x}',
        '_',
        '&',
        'https://x.org/',
        '[^1]',
        '😀',
      ),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

describe('formulas', () => {
  it.each([
    ['a $x^2$ b', ['inline x^2']],
    ['a \\(x^2\\) b', ['inline x^2']],
    ['$$x^2$$', ['displayed x^2']],
    ['\\[\nx^2\n\\]', ['displayed x^2']],
    ['**bold $x^2$** and [a $y^2$](https://x.org)', ['inline x^2', 'inline y^2']],
    ['> \\[\n> a\n> = b^2\n> \\]', ['displayed a\n = b^2']],
  ])('are found in %j', (text, expected) => {
    expect(inText(text)).toEqual(expected);
  });

  it.each(['from $5 to $10', 'costs $3 or 4 US$', '`$x^2$`', 'in $HOME and $PATH', '\\$x^2$'])(
    'are none in %j',
    (text) => {
      expect(inText(text)).toEqual([]);
    },
  );

  it('are in the cells of a table whatever bars they hold, and in no code', () => {
    const [table, code] = parseDocument('| a | b |\n|---|---|\n| $|x|^2$ | c |\n\n```\n$x^2$\n```');
    expect(table).toMatchObject({ type: 'table', rows: [[markFormulas('$|x|^2$'), 'c']] });
    expect(code).toMatchObject({ type: 'code', text: '$x^2$' });
  });

  it('are taken out of any text, and back, without a change', () => {
    fc.assert(
      fc.property(fc.oneof(mathish, markdownish), (text) => {
        expect(writtenText(markFormulas(text))).toBe(text);
      }),
      { numRuns: campaignSize(2_000) },
    );
  });

  it('are read from any beginning of a text, and at its end as if it had come at once', () => {
    fc.assert(
      fc.property(mathish, (text) => {
        const growing = new GrowingDocument();
        for (let end = 1; end <= text.length; end += 1) growing.blocksOf(text.slice(0, end));
        const whole = `${text}\n\nEnd.`;
        expect(growing.blocksOf(whole)).toEqual(new GrowingDocument().blocksOf(whole));
      }),
      { numRuns: campaignSize(500) },
    );
  });

  it('leave the rest of a growing answer settled once they have ended', () => {
    const growing = new GrowingDocument();
    const text = 'one\n\n\\[\nx^2\n\\]\n\ntwo $y^2$\n\nthree\nfo';
    const earlier = growing.blocksOf(text);
    const later = growing.blocksOf(`${text}ur`);
    expect(later.map((block, index) => block === earlier[index])).toEqual([true, true, true, false]);
  });
});

describe('footnotes', () => {
  it('are split from the paragraph that they follow', () => {
    expect(notesIn('a line\n[^1]: one\nmore\n[^2]: two')).toEqual({
      lead: 'a line',
      notes: [
        { number: '1', text: 'one\nmore' },
        { number: '2', text: 'two' },
      ],
    });
    expect(notesIn('a[^1] line')).toEqual({ lead: 'a[^1] line', notes: [] });
    expect(parseInline('a[^1]')).toMatchObject([{ text: 'a' }, { type: 'note', number: '1' }]);
  });
});

it.each([
  ['> [!NOTE]\n> a', 'note'],
  ['> [!tip] a', 'tip'],
  ['> [!CAUTION]\n>\n> a', 'caution'],
])('a callout knows its kind: %j', (text, callout) => {
  expect(parseBlocks(text)).toMatchObject([{ type: 'quote', callout }]);
});

it('shows nothing of the first line of a callout while it grows, and no quote as one', () => {
  for (const beginning of ['> [', '> [!', '> [!NO', '> [!NOTE]'])
    expect([beginning, new GrowingDocument().blocksOf(`a\n\n${beginning}`)]).toMatchObject([
      beginning,
      [{ type: 'paragraph' }],
    ]);
  expect(parseBlocks('> [!other]\n> a')[0]).not.toHaveProperty('callout');
});

it('tells a picture of another server from a link', () => {
  expect(parseInline('![a](https://x.org/i.png) [b](https://x.org/)')).toMatchObject([
    { type: 'link', isPicture: true },
    { text: ' ' },
    { type: 'link' },
  ]);
});
