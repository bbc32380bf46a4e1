/** Two parsers read the same answers: the gateway's for the chats, the page's for browsers. What they make of a text differs only where it is named here. */
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HOSTILE_TEXTS } from '../../contracts/hostile-texts.ts';
import { HOSTILE, markdownDocument } from '../../delivery/documents.ts';
import { gatewayTree, pageTree } from './markdown-trees.ts';

/** How much is read of a hostile text, which is thousands of times the same. */
const HOSTILE_CHARS = 3_000;

/** One construct each. */
const CONSTRUCTS = [
  'plain',
  'a\nb',
  'a  \nb',
  'a\\\nb',
  '*a* _b_ **c** __d__ ***e*** ~~f~~ ~g~',
  'snake_case_word',
  '2 * 3 * 4',
  '**open',
  '*a **b***',
  '**a *b***',
  '*a*b',
  'a*b*c',
  '__a__b',
  '**a**b',
  '* a*',
  '**bold:**text',
  '`a` ``b`c``',
  '` a `',
  '`a\nb`',
  '`open',
  '\\*a\\* \\a \\\\',
  '&amp; &copy; &#65; &#x42; &bogus;',
  '[a](https://x.org)',
  '[a](https://x.org "t")',
  '[a](<https://x.org/a b>)',
  '[a](https://x.org/(b))',
  '[a *b*](https://x.org)',
  '[a [b](https://x.org)](https://y.org)',
  '![a](https://x.org/i.png)',
  '[![a](https://x.org/i.png)](https://y.org)',
  '[a](javascript:x)',
  '[a]',
  '[a][b]\n\n[b]: https://x.org',
  '[a](b',
  '<https://x.org>',
  '<mailto:a@b.org>',
  'https://x.org/a_b.',
  '(https://x.org/a)',
  'https://x.org/a_(b)',
  'www.x.org',
  'a@b.org',
  '<a@b.org>',
  'xhttps://x.org',
  '**https://x.org**',
  '# a',
  '####### a',
  '#a',
  '# a #',
  '## ',
  'a\n===',
  'a\n---',
  'a\n***\nb',
  '---',
  '* * *',
  '    code',
  'a\n\n    code',
  '\tcode',
  '```\na\n```',
  '~~~\na\n~~~',
  '```js title\na\n```',
  '````\n```\n````',
  '```\na',
  '  ```\n  a\n  ```',
  '> a\n> b',
  '> a\nb',
  '> > a',
  '> - a',
  '> ```\n> a\n> ```',
  '- a\n- b',
  '- a\n\n- b',
  '- a\n  - b\n    - c',
  '- a\n * b',
  '* a\n- b',
  '1. a\n2. b',
  '3) a\n4) b',
  '1. a\n   b',
  '- a\nb',
  '- [ ] a\n- [x] b',
  '- [ ]',
  '-',
  '- a\n\n  b',
  '- a\n\n\n- b',
  '1. a\n- b',
  'a\n- b',
  'a\n1. b',
  'a\n2. b',
  '10. a',
  '- # a',
  '- ```\n  a\n  ```',
  '|a|b|\n|-|-|\n|1|2|',
  'a|b\n-|-\n1|2',
  '|a|b|\n|:-:|-:|\n|1|2|',
  '|a|\n|-|\n|`x\\|y`|',
  '|a|b|\n|-|-|\n|1|',
  '|a|b|\n|-|-|\n|1|2|3|',
  '|a|b|\n|-|-|\n|1|2|\ntext',
  '|a|b|\n|-|',
  'a\n|b|c|\n|-|-|',
  '<b>a</b>',
  '<div>\n\na\n\n</div>',
  '<!-- a -->',
  'a[^1]\n\n[^1]: b',
  '\ta',
  'a\tb',
  '- a\n\n      code',
  'a\u00a0b',
  '   a',
  '*a\nb*',
  '**a\n\nb**',
  '“*a*”',
  '*a*,',
  '**"a"**b',
  '漢**字**漢',
  '**漢字。**漢',
  '- **a**: b\n- `c`',
  '*',
  '**',
  '****',
  '_ a _',
  '# *a*',
  '1. a\n\n   ```\n   b\n   ```\n2. c',
  '> a\n\n> b',
  '- a\n> b',
  '***a** b*',
  '***a* b**',
  '~~~~a~~~~',
  '~~a~',
  '\\# a',
  '1986\\. a',
  'a \\| b',
  '-a',
  '1.a',
  '+ a',
  '```a`b\nc\n```',
  '[a]( https://x.org )',
  '[]( https://x.org)',
  '[a](https://x.org "t" x)',
  'a  ',
  '\n\na\n\n',
  'a\r\nb',
  'a\\',
  '# a\nb',
  '- a\n# b',
  '| a |\n| - |',
  'a * b_c_d',
  '`a` `b',
  '![](https://x.org/i.png)',
  'HTTPS://X.ORG',
  'https://x.org?a=1&amp;b=2',
  'https://x.org/&copy;',
  '[a](https://x.org/?a&amp;b)',
  '> a\n  b\n\nc',
  '- a\n  > b',
  '1. a\n1. b',
  '0. a',
  '- - a',
  '- a\n\n\n\n  b',
];

/** Texts that the page reads in its own way, by the reason. */
const DIFFERENCES: Record<string, string[]> = {
  'A mark after punctuation still closes before a letter: models write "**Note:**text", and CJK text has no spaces.':
    ['**bold:**text', '**"a"**b', '**漢字。**漢'],
  "Of HTML's named characters the page knows the six that are written in chats.": [
    '&amp; &copy; &#65; &#x42; &bogus;',
    'https://x.org/&copy;',
  ],
  'The outer of two links wins: the page never shows an address behind a label that it does not lead to.': [
    '[a [b](https://x.org)](https://y.org)',
  ],
  'Addresses without a scheme are text: a stray name or mail address shall not become a link by accident.': [
    'www.x.org',
    'a@b.org',
    '<a@b.org>',
    'a@b.c ',
  ],
  'An underlined heading is no heading: a growing list ("a", then "-") would flash as one.': [
    'a\n===',
    'a\n---',
  ],
  'An indented line is no code: models indent by accident, and fence what is code.': [
    '    code',
    'a\n\n    code',
    '\tcode',
    '\ta',
    '- a\n\n      code',
  ],
  'A quote ends with its last ">": what follows is the answer to it.': ['> a\nb', '> a\n  b\n\nc'],
  'Cells past the last column are not shown; channels leave them out when they draw the table.': [
    '|a|b|\n|-|-|\n|1|2|3|',
    '| readable | b |\n|---|---|\n| `x|y` | <i>z</i> |',
  ],
  'A tab is four spaces, and a line ends with a line feed alone.': ['a\tb', 'a\r\nb'],
  'A link without a label shows its address, because nothing else of it could be seen.': [
    '[]( https://x.org)',
    '![](https://x.org/i.png)',
  ],
};

const NAMED = Object.values(DIFFERENCES).flat();
const README = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8').split(/\n(?=#)/);
const CORPUS = [
  ...CONSTRUCTS,
  ...HOSTILE_TEXTS,
  ...Object.values(HOSTILE).map((text) => text.slice(0, HOSTILE_CHARS)),
  ...README,
];
const isNamed = (text: string): boolean => NAMED.some((one) => text === one || isRepeated(text, one));

/** The hostile texts are one piece, again and again. */
function isRepeated(text: string, piece: string): boolean {
  return (
    text.length > piece.length &&
    text === piece.repeat(Math.ceil(text.length / piece.length)).slice(0, text.length)
  );
}

describe("the page's Markdown", () => {
  it.each(CORPUS.filter((text) => !isNamed(text)).map((text) => [text.slice(0, 60), text]))(
    'is read as the gateway reads it: %j',
    (_, text) => {
      expect(pageTree(text)).toEqual(gatewayTree(text));
    },
  );

  it.each(Object.entries(DIFFERENCES))('differs where it says so, and nowhere else: %s', (_, texts) => {
    for (const text of texts) {
      expect(CORPUS.some((one) => one === text || isRepeated(one, text))).toBe(true);
      expect(pageTree(text)).not.toEqual(gatewayTree(text));
    }
  });

  it('is read as the gateway reads it in any document of sound blocks', () => {
    fc.assert(
      fc.property(markdownDocument, (text) => {
        expect(pageTree(text)).toEqual(gatewayTree(text));
      }),
      { numRuns: 300 },
    );
  });
});
