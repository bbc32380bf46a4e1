/**
 * The page's Markdown parser against the gateway's, which Telegram and Discord use: their trees differ only as listed
 * here.
 */
import { globSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { campaignSize } from '../../../../campaign.ts';
import { HOSTILE_TEXTS } from '../../../../contracts/hostile-texts.ts';
import { HOSTILE, markdownDocument } from '../../../../delivery/documents.ts';
import { gatewayTree, pageTree, piecesOf } from './trees.ts';

/** Length of the part of a hostile text that is compared: it repeats itself. */
const HOSTILE_CHARS = 3_000;

/** Longer documents may hold more markup than the gateway parses: it treats them as plain text. */
const MAX_CHARS = 4_096;

/** Texts with one construct each. */
const CONSTRUCTS = [
  'plain',
  'a\nb',
  'a  \nb',
  'a\\\nb',
  '*a* _b_ **c** __d__ ***e*** ~~f~~ ~g~',
  'H<sub>2</sub>O <kbd>a *b*</kbd> <b>c <i>d</b></i> <br> </b> <u>x',
  'a[^1] b[^2][^3]. [^4] c[^x]',
  '[^1]: a\n[^2]: b',
  '> [!NOTE]\n> a',
  '> [!tip] a *b*\n> c',
  '2*3*4 src/*.ts lib/*.js __init__.py',
  '3~5天7~8',
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
  '漢**「字」**漢',
  'a**"b"**c',
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
  '- ```\n  a\n\n  b\n  ```',
  '- \na',
  '-\n\n  a',
  '- \n  a',
  '- [ ] ',
  '-   a\n    b',
  '-     a',
  '- a\n  - b\n\n  - c\n- d',
  '1. run\n   ```\n   x\n   ```\n   then',
  '3. a\n   - b\n4. c',
  '> said\n> twice\n>\n> > deeper',
  '[mail](mailto:a@example.test)',
  '[click](<data:text/html,x>)',
  '[a](https://x.org/?a=1&b="2")',
  '**a** _b_ ~~c~~ `d` [e](https://x.org) https://x.org',
  'https://x.org/?a&amp;',
  'https://x.org/?a=1&b;',
  'https://x.org/a"b',
  'https://x.org/a`b`',
  'http://host_name/a*b',
  'http://localhost:8080/a',
  '[see https://x.org',
  '[https://x.org/a**',
  '![https://x.org/a<@',
  '**a*',
  '__a_',
  '**a* b**',
];

/** Texts that the page reads differently on purpose, by reason. */
const DIFFERENCES: Record<string, string[]> = {
  'Addresses without a scheme are text: a host name or mail address should not become a link by accident.': [
    'www.x.org',
    'a@b.org',
    '<a@b.org>',
    'a@b.c ',
  ],
  'Underlined headings are paragraphs: a growing list ("a", then "-") would flash as a heading.': [
    'a\n===',
    'a\n---',
  ],
  'Indented lines are not code: models indent by accident, and fence their code.': [
    '    code',
    'a\n\n    code',
    '\tcode',
    '\ta',
    '- a\n\n      code',
    '-     a',
  ],
  'CRLF becomes LF.': ['a\r\nb'],
  'A link without a label shows its address: otherwise nothing would be visible.': [
    '[]( https://x.org)',
    '![](https://x.org/i.png)',
  ],
  'A bare address ends at a quotation mark or backtick: models write such marks around addresses.': [
    'https://x.org/a"b',
    'https://x.org/a`b`',
  ],
  'An address behind an open bracket ends before markup.': ['[https://x.org/a**', '![https://x.org/a<@'],
  'Host names may have underscores: containers on a local network have them.': ['http://host_name/a*b'],
};

/** An address behind a bracket, with what may end it for the page only: the difference of open brackets. */
const BRACKETED_ADDRESS = /\[https?:\/\/\S*[*_~<]/i;

const NAMED = Object.values(DIFFERENCES).flat();
/** Real documents, section by section, long ones cut within a table. */
const DOCUMENTS = globSync('{*,docs/*}.md', { cwd: new URL('../../../../../', import.meta.url) }).flatMap(
  (name) =>
    readFileSync(new URL(`../../../../../${name}`, import.meta.url), 'utf8')
      .split(/\n(?=#)/)
      .flatMap(piecesOf),
);
const CORPUS = [
  ...CONSTRUCTS,
  ...HOSTILE_TEXTS,
  ...Object.values(HOSTILE).map((text) => text.slice(0, HOSTILE_CHARS)),
  ...DOCUMENTS,
];
const isNamed = (text: string): boolean => NAMED.some((one) => text === one || isRepeated(text, one));

/** True for a hostile text made of this piece. */
function isRepeated(text: string, piece: string): boolean {
  return (
    text.length > piece.length &&
    text === piece.repeat(Math.ceil(text.length / piece.length)).slice(0, text.length)
  );
}

describe("the page's Markdown parser", () => {
  it.each(CORPUS.filter((text) => !isNamed(text)).map((text) => [text.slice(0, 60), text]))(
    'agrees with the gateway on %j',
    (_, text) => {
      expect(pageTree(text)).toEqual(gatewayTree(text));
    },
  );

  it.each(Object.entries(DIFFERENCES))('differs on purpose: %s', (_, texts) => {
    for (const text of texts) {
      expect(CORPUS.some((one) => one === text || isRepeated(one, text))).toBe(true);
      expect(pageTree(text)).not.toEqual(gatewayTree(text));
    }
  });

  it('agrees with the gateway on any document of well-formed blocks', () => {
    fc.assert(
      fc.property(markdownDocument, (text) => {
        fc.pre(text.length <= MAX_CHARS && !BRACKETED_ADDRESS.test(text));
        expect(pageTree(text)).toEqual(gatewayTree(text));
      }),
      { numRuns: campaignSize(1_000) },
    );
  });
});
