/** Markdown in Discord's dialect: what a reader sees, and that no text in it can act as markup or a mention. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { render } from '../../../../channels/discord/render.ts';
import { cleanText } from '../../../../src/lib/text.ts';
import { parseMarkdown } from '../../../../src/lib/markdown/markdown.ts';
import { markdownish } from '../../../contracts/hostile-texts.ts';
import { fencesBalanced, visibleText } from '../../../fakes/discord/markdown.ts';

const ZERO_WIDTH = '\u200b';
const shown = (markdown: string): string => visibleText(render(parseMarkdown(markdown)).text);
const sent = (markdown: string): string => render(parseMarkdown(markdown)).text;

describe('Markdown on Discord', () => {
  it.each([
    ['**bold** and *slanted* and ~~gone~~', '**bold** and *slanted* and ~~gone~~'],
    ['# One\n\n### Three\n\n##### Five', '# One\n### Three\n**Five**'],
    ['- a\n  - b\n    - c\n- d', '- a\n  - b\n    - c\n- d'],
    ['3. a\n4. b', '3. a\n4. b'],
    ['- [x] done\n- [ ] open', '☑ done\n☐ open'],
    [
      '<details>\n<summary>The proof</summary>\n\nfirst\n\n- a\n</details>\n\nafter',
      '> **The proof**\n> \n> first\n> \n> - a\n\nafter',
    ],
    [
      '<details>\n<summary>Thinking</summary>\n\nfirst \\|\\| *a*\n\nsecond\n</details>\n\nafter',
      '-# Thinking\n||first \\|\\| *a*||\n||second||\n\nafter',
    ],
    [
      '<details>\n<summary>Why</summary>\n\nbecause `a || b`\n</details>',
      '> **Why**\n> \n> because `a || b`',
    ],
    ['<details open>\n<summary>Why</summary>\n\nbecause\n</details>', '> **Why**\n> \n> because'],
    ['> quoted\n> twice', '> quoted\n> twice'],
    ['```js\nlet a = 1;\n```', '```js\nlet a = 1;\n```'],
    ['`a` and `` b`c ``', '`a` and `` b`c ``'],
    ['[here](https://example.test/a_(b))', '[here](<https://example.test/a_%28b%29>)'],
    ['https://example.test/a_b_c', '<https://example.test/a_b_c>'],
    ['[https://bank.test](https://evil.test)', '<https://bank.test> (<https://evil.test>)'],
    ['![a cat](https://example.test/cat.png)', '[a cat](<https://example.test/cat.png>)'],
    ['[run](javascript:alert(1))', 'run'],
    ['a  \nb', 'a\nb'],
    ['one\n\ntwo', 'one\n\ntwo'],
  ])('sends %j as %j', (markdown, expected) => {
    expect(sent(markdown)).toBe(expected);
  });

  it.each([
    ['snake_case_name and 2 * 3 * 4', 'snake_case_name and 2 * 3 * 4'],
    ['||not a spoiler|| ~~~', '||not a spoiler|| ~~~'],
    ['\\# no heading', '# no heading'],
    ['\\- no list\n\\> no quote', '- no list\n> no quote'],
    ['1986\\. A great year', '1986. A great year'],
    ['-# no small print', '-# no small print'],
    ['<div>html</div> & <script>', '<div>html</div> & <script>'],
    ['C:\\dir\\file ¯\\\\\\_(ツ)\\_/¯', 'C:\\dir\\file ¯\\_(ツ)_/¯'],
    ['[1] and [x]y', '[1] and [x]y'],
    ['**a**\\*b', 'a*b'],
    ['***both***', 'both'],
    ['**see `x**y` there**', 'see x**y there'],
    ['http://host_name/a*b', 'http://host_name/a*b'],
  ])('shows %j as %j', (markdown, expected) => {
    expect(shown(markdown).replaceAll(ZERO_WIDTH, '')).toBe(expected);
  });

  it('renders a table as aligned code', () => {
    expect(sent('| Fruit | Price |\n|---|--:|\n| **Apple** | 1 |\n| Fig | 12 |')).toBe(
      '```\nFruit | Price\n------+------\nApple |     1\nFig   |    12\n```',
    );
  });

  it('disarms everyone, here, people, roles, channels, emoji and dates with a zero-width space (row 35)', () => {
    const text = '@everyone @here <@1> <@&2> <#3> <:x:4> <a:y:5> <t:6> </ask:7>';
    const out = sent(text);
    expect(out).not.toMatch(/@everyone|@here|<[@#:/]|<a:|<t:|<id:/);
    expect(visibleText(out).replaceAll(ZERO_WIDTH, '')).toBe(text);
  });

  it.each([
    ['@everyone@example.org', '@everyone@example.org'],
    ['http://@here', 'http://@here'],
    ['see https://example.org/@everyone/1', 'see https://example.org/%40everyone/1'],
    ['@*everyone*', '@everyone'],
    ['<[@12](https://example.org)', '<@12'],
  ])('disarms %j even where two pieces of the text meet', (markdown, expected) => {
    const out = sent(markdown);
    expect(out).not.toMatch(/@everyone|@here|<@/);
    expect(visibleText(out).replaceAll(ZERO_WIDTH, '')).toBe(expected);
  });

  it('keeps a fence that follows a lone < and is followed by an address', () => {
    expect(shown('<\n```\ncode\n```\n<https://e.org>||x||')).toBe('<\n\ncode\n\nhttps://e.org||x||');
  });

  it('lets no Markdown ping everyone, whatever it is made of (property)', () => {
    const piece = fc.constantFrom(
      ...Array.from('@@@<*_~[]()./:- \n'),
      'everyone',
      'here',
      '@everyone',
      '@here',
      'http://',
      'https://a.b/',
      '<https://a.b/@here>',
      '](https://a.b)',
      '@x.org',
      'x',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        // Nothing pings inside a code block, which is how a table is shown.
        expect(sent(pieces.join('')).replaceAll(/```[^`]*```/g, '')).not.toMatch(/@everyone|@here/);
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps code with fences in it closed, and a list with code in one piece', () => {
    const nested = '````\n```js\nx\n```\n````';
    expect(fencesBalanced(sent(nested))).toBe(true);
    expect(shown(nested).replaceAll(ZERO_WIDTH, '')).toBe('```js\nx\n```');
    expect(shown('- first\n\n  ```sh\n  ls -a\n  ```\n\n- second')).toBe('• first\nls -a\n\n• second');
    expect(shown('> ```\n> quoted code\n> ```')).toBe('quoted code');
  });

  it('shows references as written and footnotes in brackets, so that no text is lost', () => {
    const written = '[a][one]\n\n[one]: https://example.test/';
    expect(shown(written)).toBe(written);
    expect(sent('text[^1]\n\n[^1]: the note')).toBe('text\\[1\\]\n\n\\[1\\] the note');
  });

  it.each([
    ['quotes', '>', ' x'],
    ['stars', '*', 'x'],
  ])('keeps the text of %s nested deeper than anyone writes', (_, marker, text) => {
    const nested = (depth: number): string =>
      shown(`${marker.repeat(depth)}${text}${marker === '*' ? marker.repeat(depth) : ''}`);
    for (const depth of [59, 60, 61, 3_000]) expect(nested(depth)).toContain('x');
  });

  it('gives the text without markup as plain', () => {
    const { plain } = render(parseMarkdown('# T\n\n**a** `b` [c](https://example.test/)\n\n```js\nd\n```'));
    expect(plain).toBe('T\na b c (https://example.test/)\n\nd');
  });

  it('keeps every character of plain text and gives none of it a meaning (property)', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ...Array.from('*_~|`>#-@<[]():\\.!/ \n'),
        '@everyone',
        '<@12>',
        'https://a.b/c_d',
        '1.',
        '```',
        '||',
        'h',
        'x',
      ),
      fc.string({ maxLength: 6 }),
      fc.string({ unit: 'grapheme', maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
        const text = pieces.join('').replaceAll(ZERO_WIDTH, '');
        const { text: out } = render({
          type: 'root',
          children: [{ type: 'paragraph', children: [{ type: 'text', value: text }] }],
        });
        expect(visibleText(out).replaceAll(ZERO_WIDTH, '')).toBe(cleanText(text).trim());
        expect(out.replaceAll(/https?:\S+/g, '')).not.toMatch(/@everyone|@here|<@/);
      }),
      { numRuns: 2_000 },
    );
  });

  it('closes every fence, renders nothing malformed, and counts what it renders (property)', () => {
    fc.assert(
      fc.property(markdownish, (markdown) => {
        const { text, length } = render(parseMarkdown(markdown));
        expect(fencesBalanced(text)).toBe(true);
        expect(text.isWellFormed()).toBe(true);
        expect(length).toBe(text.length);
      }),
      { numRuns: 1_000 },
    );
  });
});
