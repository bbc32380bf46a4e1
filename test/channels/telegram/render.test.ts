/** Markdown as Telegram HTML, read back by a parser as strict as Telegram's. */
import * as fc from 'fast-check';
import type { PhrasingContent, Root } from 'mdast';
import { describe, expect, it } from 'vitest';
import { MAX_DEPTH, MAX_ENTITIES, MAX_LENGTH, renderTelegram } from '../../../channels/telegram/render.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { markdownish } from '../../contracts/hostile-texts.ts';
import { cleanVisible, readHtml } from '../../fakes/telegram/html.ts';

const html = (markdown: string): string => renderTelegram(parseMarkdown(markdown)).text;
const plain = (markdown: string): string => renderTelegram(parseMarkdown(markdown)).plain;
/** What this many marks count as. */
const shareOf = (entities: number): number => Math.ceil((entities / MAX_ENTITIES) * MAX_LENGTH);

describe('markup', () => {
  it.each([
    ['**bold** *italic* ~~gone~~ `code`', '<b>bold</b> <i>italic</i> <s>gone</s> <code>code</code>'],
    ['# Title\n\ntext', '<b><u>Title</u></b>\n\ntext'],
    ['```ts\nconst a = 1 < 2;\n```', '<pre><code class="language-ts">const a = 1 &lt; 2;</code></pre>'],
    ['```\nplain\n```', '<pre>plain</pre>'],
    ['```a"b\nx\n```', '<pre>x</pre>'],
    [
      '<details>\n<summary>The proof</summary>\n\nfirst\n\n```\nx\n```\n\n</details>\n\nafter',
      '<blockquote expandable><b>The proof</b>\nfirst\n\n<pre>x</pre></blockquote>\n\nafter',
    ],
    ['> said\n> twice', '<blockquote>said\ntwice</blockquote>'],
    ['> a\n> > b', '<blockquote>a\n\n&gt; b</blockquote>'],
    ['- a\n- b\n  - c', '• a\n• b\n   • c'],
    ['3. a\n4. b', '3. a\n4. b'],
    ['1. run\n   ```\n   x\n   ```\n   then', '1. run\n<pre>x</pre>\n    then'],
    ['- [x] done\n- [ ] open', '☑ done\n☐ open'],
    ['1. [x] done', '1. ☑ done'],
    ['a\n\n---\n\nb', 'a\n\n──────────\n\nb'],
    ['| a | b |\n|---|---|\n| 1 | **2** |', '<pre>a | b\n--+--\n1 | 2</pre>'],
    [
      '[site](https://example.test/?a=1&b="2")',
      '<a href="https://example.test/?a=1&amp;b=&quot;2&quot;">site</a>',
    ],
    ['![cat](https://example.test/cat.png)', '<a href="https://example.test/cat.png">cat</a>'],
    ['[![cat](https://x.test/c.png)](https://y.test)', '<a href="https://y.test">cat</a>'],
    ['[](https://example.test)', '<a href="https://example.test">https://example.test</a>'],
    ['[mail](mailto:a@example.test)', 'mail (a@example.test)'],
    ['a <div>not ours</div> & <b>', 'a &lt;div&gt;not ours&lt;/div&gt; &amp; &lt;b&gt;'],
    ['H<sub>2</sub>O, <kbd>Esc</kbd><br>and <u>more</u>', 'H₂O, <code>Esc</code>\nand <i>more</i>'],
  ])('%j becomes %j', (markdown, expected) => {
    expect(html(markdown)).toBe(expected);
  });

  it.each(['javascript:alert(1)', 'JaVaScRiPt:x', 'data:text/html,x', 'file:///etc/passwd', 'vbscript:x'])(
    'shows the words of a link to %s without the link',
    (url) => {
      expect(html(`[click](<${url}>)`)).toBe('click');
    },
  );

  it.each(['tg://user?id=7001', 'TG://user?id=7001', 'tg://proxy?server=x', 'tg://login?token=x'])(
    'never links to %s: it would notify someone, or change their app',
    (url) => {
      const { entities } = readHtml(html(`[click](<${url}>)`));
      expect(entities.map(({ type }) => type)).toEqual(['code']);
      expect(plain(`[click](${url})`)).toBe(`click (${url})`);
    },
  );

  it('distinguishes the six headings', () => {
    const shown = [1, 2, 3, 4, 5, 6].map((depth) => html(`${'#'.repeat(depth)} same`));
    expect(new Set(shown).size).toBe(6);
  });

  it.each([
    ['- a\n\n- b', '• a\n\n• b'],
    ['1. a\n\n   more\n2. b', '1. a\n    more\n\n2. b'],
    ['- a\n- b', '• a\n• b'],
  ])('keeps the blank lines of the list %j', (markdown, expected) => {
    expect(html(markdown)).toBe(expected);
  });

  it('folds a quote of more than eight lines, or of one long line', () => {
    const lines = (count: number): string => Array.from({ length: count }, () => '> x').join('\n');
    expect(html(lines(8))).toMatch(/^<blockquote>/);
    expect(html(lines(9))).toMatch(/^<blockquote expandable>/);
    expect(html(`> ${'word '.repeat(80)}`)).toMatch(/^<blockquote expandable>/);
    expect(readHtml(html(lines(9))).entities[0]?.type).toBe('expandable_blockquote');
  });

  it.each([
    ['[call](tel:+4930123)', 'call (+4930123)'],
    ['[guide](docs/guide.md)', 'guide (<code>docs/guide.md</code>)'],
    ['[top](#top)', 'top (<code>#top</code>)'],
    ['[files](ftp://x.test/a)', 'files (<code>ftp://x.test/a</code>)'],
    ['[mail](mailto:a@x.test?subject=y)', 'mail (a@x.test)'],
    ['[a@x.test](mailto:a@x.test)', 'a@x.test'],
  ])('shows the address of %s, which Telegram does not link', (markdown, expected) => {
    expect(html(markdown)).toBe(expected);
  });

  it.each([
    ['see README.md and run.sh', 'see <code>README.md</code> and <code>run.sh</code>'],
    ['VB.NET or ASP.NET.', '<code>VB.NET</code> or <code>ASP.NET</code>.'],
    ['look in /proc or /etc/passwd', 'look in <code>/proc</code> or /etc/passwd'],
    ['send /stop or /STOP now', 'send /stop or /STOP now'],
    [
      'on example.io, www.x.pl/a.md and a@b.sh',
      'on example.io, <a href="http://www.x.pl/a.md">www.x.pl/a.md</a> and ',
    ],
    ['and/or 1/2', 'and/or 1/2'],
  ])('makes no false link in %j', (markdown, expected) => {
    const shown = renderTelegram(parseMarkdown(markdown), new Set(['stop'])).text;
    expect(shown.slice(0, expected.length)).toBe(expected);
  });

  it('keeps the control characters that Telegram shows, and counts them as Telegram does', () => {
    expect(plain('a\u0000b\tc\u202Ed\u0007e')).toBe('a\uFFFDb cd e');
    expect(plain('lone \uD83D end')).toBe('lone \uFFFD end');
    expect(renderTelegram(parseMarkdown('👩‍👧 &')).length).toBe(7);
  });

  it('gives an empty text for an empty document', () => {
    for (const markdown of ['', ' \n ', '```\n```'])
      expect(renderTelegram(parseMarkdown(markdown))).toEqual({ text: '', plain: '', length: 0 });
  });

  it('shows what is nested too deeply as plain text', () => {
    let node: PhrasingContent = { type: 'text', value: 'deep' };
    for (let i = 0; i < 50_000; i += 1) node = { type: 'strong', children: [node] };
    const rendered = renderTelegram({ type: 'root', children: [{ type: 'paragraph', children: [node] }] });
    expect(rendered).toMatchObject({ plain: 'deep', length: shareOf(MAX_DEPTH) });
    expect(rendered.text.match(/<b>/g)).toHaveLength(MAX_DEPTH);
    expect(plain(`${'> '.repeat(60)}deep`)).toMatch(/deep$/);
  });
});

describe('any text', () => {
  it('is accepted by Telegram with and without markup, and counted as Telegram counts', () => {
    fc.assert(
      fc.property(fc.oneof(markdownish, fc.string({ unit: 'binary' })), (text) => {
        const { text: source, plain, length } = renderTelegram(parseMarkdown(text));
        expect(cleanVisible(readHtml(source)).text).toBe(plain);
        expect(cleanVisible({ text: plain, entities: [] }).text).toBe(plain);
        expect(length).toBe(Math.max(plain.length, shareOf(readHtml(source).entities.length)));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is rendered in time proportional to its length, with a thousand blocks of every kind', () => {
    const one = parseMarkdown('- **x** `y` [z](https://x.test)\n\n> q\n\n| a | 日本 |\n|---|---|\n| 1 | 2 |');
    const doc: Root = { type: 'root', children: Array.from({ length: 1_000 }, () => one.children).flat() };
    renderTelegram(doc);
    const before = process.threadCpuUsage();
    expect(renderTelegram(doc).length).toBeGreaterThan(30_000);
    expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(500);
  });

  it('keeps every word', () => {
    const word = fc.stringMatching(/^[a-z]{3,8}$/);
    const mark = fc.constantFrom(' ', '**', '*', '`', '\n\n', '\n- ', '\n> ', '\n# ', ' | ', '~~', '\n1. ');
    fc.assert(
      fc.property(fc.array(fc.tuple(word, mark), { minLength: 1, maxLength: 20 }), (parts) => {
        const shown = plain(parts.flat().join(''));
        for (const [text] of parts) expect(shown).toContain(text);
      }),
      { numRuns: 500 },
    );
  });
});
