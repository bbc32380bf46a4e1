/** Markdown as rich messages: what Telegram's documentation allows, and every word of the answer. */
import { describe, expect, it } from 'vitest';
import {
  MAX_BLOCKS,
  MAX_COLUMNS,
  MAX_LEVELS,
  MAX_RICH_CHARS,
  toRichMessage,
} from '../../../channels/telegram/rich-message.ts';
import { documentOf } from '../../../src/delivery/text/chunker.ts';
import { takeOutFormulas } from '../../../src/lib/markdown/formulas.ts';
import { readRich } from '../../fakes/telegram/rich.ts';

async function rich(text: string) {
  const { markdown, formulas } = takeOutFormulas(text);
  return toRichMessage(await documentOf(markdown, () => Promise.resolve()), formulas);
}

/** What readers see of it, as the strict server reads it. */
async function seen(text: string): Promise<string> {
  const rendered = await rich(text);
  if (rendered === undefined) throw new Error('no rich message');
  return readRich(rendered.message).text;
}

describe('a rich message', () => {
  it('has details with their summary, open if their writer wants them open', async () => {
    const text = '<details open>\n<summary>The **proof**</summary>\n\n- a\n- b\n\n</details>\n\nafter';
    const { message, gains } = (await rich(text)) ?? {};
    expect(gains).toBe(true);
    expect(message?.blocks).toMatchObject([
      { type: 'details', is_open: true, blocks: [{ type: 'list' }] },
      { type: 'paragraph', text: 'after' },
    ]);
    expect(await seen(text)).toContain('The proof\n- a');
    expect(await seen('<details>')).toContain('…');
  });

  it('has tables with their alignment, and links in their cells', async () => {
    const text = '| name | price |\n|:--|--:|\n| [tea](https://tea.example) | **2** |\n| plain | |';
    const { message, gains } = (await rich(text)) ?? {};
    expect(gains).toBe(true);
    expect(message?.blocks?.[0]).toMatchObject({
      type: 'table',
      cells: [
        [
          { text: 'name', is_header: true, align: 'left' },
          { text: 'price', is_header: true, align: 'right' },
        ],
        [
          { text: { type: 'url', url: 'https://tea.example', text: 'tea' } },
          { text: { type: 'bold', text: '2' } },
        ],
        [{ text: 'plain' }, { align: 'right' }],
      ],
    });
    expect(await seen(text)).toBe('| name | price |\n| tea | 2 |\n| plain |  |');
  });

  it('shows a line break in a cell as a blank', async () => {
    expect(await seen('| a |\n|--|\n| one<br>two<BR/>three `<br>` |')).toBe('| a |\n| one two three <br> |');
  });

  it('has formulas as LaTeX, within a line and on their own, but none in code', async () => {
    const text =
      'As \\(a_1 = \\frac{1}{2}\\) says:\n\n$$\\sum_{i} x_i$$\n\nnot `\\(code\\)`\n\n```\n\\[x\\]\n```';
    expect((await rich(text))?.message.blocks).toEqual([
      {
        type: 'paragraph',
        text: ['As ', { type: 'mathematical_expression', expression: 'a_1 = \\frac{1}{2}' }, ' says:'],
      },
      { type: 'mathematical_expression', expression: '\\sum_{i} x_i' },
      { type: 'paragraph', text: ['not ', { type: 'code', text: '\\(code\\)' }] },
      { type: 'pre', text: '\\[x\\]' },
    ]);
  });

  it('has tasks, numbered items, headings, quotes and code with its language', async () => {
    const text =
      '## Title\n\n- [x] done\n- [ ] open\n\n3. three\n4. four\n\n> said\n\n---\n\n```ts\nlet x;\n```';
    expect(await seen(text)).toBe('Title\n- [x] done\n- [ ] open\n3. three\n4. four\n> said\n---\nlet x;');
    expect((await rich(text))?.message.blocks?.at(-1)).toEqual({
      type: 'pre',
      text: 'let x;',
      language: 'ts',
    });
    const long = (await rich(`> ${'many words '.repeat(60)}`))?.message.blocks;
    expect(long).toMatchObject([{ type: 'expandable_blockquote' }]);
  });

  it('makes no false links, and shows addresses that Telegram does not open', async () => {
    const text =
      'See README.md and /proc, [call](tel:+49123), [mail](mailto:a@b.example), [here](../docs/x.md), [bad](javascript:alert(1)), [ping](tg://user?id=1).';
    const { message } = (await rich(text)) ?? {};
    expect(message?.skip_entity_detection).toBe(true);
    expect(readRich(message)).toMatchObject({
      text: 'See README.md and /proc, call, mail, here (../docs/x.md), bad, ping (tg://user?id=1).',
      links: ['+49123', 'a@b.example'],
    });
  });

  it('gains nothing for a plain text answer', async () => {
    expect((await rich('Just **words** and `code`.'))?.gains).toBe(false);
    expect((await rich('| a |\n|--|\n| b |'))?.gains).toBe(true);
    expect((await rich('\\(x^2\\)'))?.gains).toBe(true);
    expect((await rich('- [ ] task'))?.gains).toBe(true);
  });

  it('is not worth it for an answer with a block of code, which some clients show there without a button that copies', async () => {
    expect((await rich('| a |\n|--|\n| b |\n\n```sh\nls\n```'))?.gains).toBe(false);
    expect((await rich('- [ ] task with `code`'))?.gains).toBe(true);
  });

  it('runs from right to left if most of its letters do', async () => {
    const isRtl = async (text: string) => (await rich(text))?.message.is_rtl;
    expect(await isRtl('| שם | מחיר |\n|--|--|\n| תה Earl | 2 |')).toBe(true);
    expect(await isRtl('Python:\n\n| الاسم | السعر |\n|--|--|\n| شاي أخضر | 2 |')).toBe(true);
    expect(await isRtl('| name | price |\n|--|--|\n| tea (שי) | 2 |')).toBeUndefined();
    expect(await isRtl('| 1 |\n|--|\n| 2 |')).toBeUndefined();
  });
});

describe('the limits of rich messages', () => {
  it('leave an answer beyond them to messages of the usual kind', async () => {
    const table = (columns: number): string =>
      [Array(columns).fill('a'), Array(columns).fill('--')].map((row) => `|${row.join('|')}|`).join('\n');
    expect(await rich(table(MAX_COLUMNS))).toBeDefined();
    expect(await rich(table(MAX_COLUMNS + 1))).toBeUndefined();
    // A table that is too large to be parsed becomes text.
    expect((await rich(table(400)))?.gains).toBe(false);
    const paragraphs = (count: number): string => Array(count).fill('p').join('\n\n');
    expect(await rich(paragraphs(MAX_BLOCKS))).toBeDefined();
    expect(await rich(paragraphs(MAX_BLOCKS + 1))).toBeUndefined();
    const words = (count: number): string => `${'w'.repeat(63)} `.repeat(count / 64).slice(0, -1) + 'w';
    expect((await rich(words(MAX_RICH_CHARS)))?.plain).toHaveLength(MAX_RICH_CHARS);
    expect(await rich(words(MAX_RICH_CHARS + 64))).toBeUndefined();
    const quotes = (levels: number): string => `${'> '.repeat(levels)}deep`;
    expect(await rich(quotes(MAX_LEVELS - 1))).toBeDefined();
    expect(await rich(quotes(MAX_LEVELS))).toBeUndefined();
  });

  it('let no formula of 10,000 characters hold anything up', async () => {
    const before = performance.now();
    expect(await seen(`It is $$${'x^2 + '.repeat(1_700)}1$$ indeed.`)).toContain('x^2 + x^2');
    expect(performance.now() - before).toBeLessThan(1_000);
  });
});

const ANSWER = `# Report\n\nIntro with **bold _nested_** and \`code\`, \\(x_1\\).\n\n| a | b |\n|--|:-:|\n| 1 | [x](https://e.example) |\n
- one\n  - two\n    1. three\n- [ ] task\n\n> quote\n> more\n\n\`\`\`py\nprint("<b>")\n\`\`\`\n\n$$\\frac{a}{b}$$\n\n![image](https://e.example/i.png) end <b>raw</b> &amp; \ud800 \u0000 ‏rtl‎ 👩‍👩‍👧`;

it('accepts every beginning of an answer, and loses no word of it', async () => {
  for (let length = 1; length <= ANSWER.length; length += 1) {
    const text = ANSWER.slice(0, length);
    const rendered = await rich(text);
    if (rendered === undefined) continue;
    const { text: shown } = readRich(rendered.message);
    const words = (of: string): string[] => of.match(/[a-zA-Z]{3,}/g) ?? [];
    for (const word of words(rendered.plain)) expect(shown).toContain(word);
    for (const word of ['Report', 'Intro', 'nested', 'quote', 'print'].filter((one) =>
      text.includes(`${one} `),
    ))
      expect(shown).toContain(word);
  }
  expect(await seen(ANSWER)).toContain('print("<b>")');
});
