/** The page's Markdown parser without a browser: its results, its speed on any text, and the safety of links. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_DEPTH } from '../../../../../channels/http/page/markdown/block-reader.ts';
import { parseBlocks } from '../../../../../channels/http/page/markdown/blocks.ts';
import { MAX_NESTED } from '../../../../../channels/http/page/markdown/emphasis.ts';
import { parseInline } from '../../../../../channels/http/page/markdown/inline.ts';
import { MAX_TARGET, safeHref } from '../../../../../channels/http/page/markdown/links.ts';
import { HOSTILE_TEXTS, markdownish } from '../../../../contracts/hostile-texts.ts';

/** Longest time on 64 KiB, in milliseconds. */
const BUDGET_MS = 50;
const SIZE = 64 * 1024;
/** At most this many are measured. */
const RUNS = 50;

type Tree = { type: string; href?: string; text?: string; children?: Tree[] };

function flat(nodes: Tree[]): string {
  return nodes
    .map((node) => node.text ?? (node.type === 'break' ? '\n' : flat(node.children ?? [])))
    .join('');
}

function hrefs(nodes: Tree[]): string[] {
  return nodes.flatMap((node) => [
    ...(node.href === undefined ? [] : [node.href]),
    ...hrefs(node.children ?? []),
  ]);
}

const shape = (text: string): unknown => parseInline(text).map((node) => ({ ...node, type: node.type }));

describe('inline Markdown', () => {
  it.each([
    ['**a** and *b*', [{ type: 'strong' }, { text: ' and ' }, { type: 'em' }]],
    ['***both***', [{ type: 'em', children: [{ type: 'strong' }] }]],
    ['***a* b**', [{ type: 'strong', children: [{ type: 'em' }, { text: ' b' }] }]],
    ['~one~ ~~~three~~~', [{ text: '~one~ ~~~three~~~' }]],
    ['&lt;b&gt; &#8364; &#0; &copy; &bogus;', [{ text: '<b> € \ufffd © &bogus;' }]],
    ['~~gone~~', [{ type: 'del' }]],
    ['snake_case_name and 2 * 3 * 4', [{ text: 'snake_case_name and 2 * 3 * 4' }]],
    ['**open', [{ text: '**open' }]],
    ['`a*b*` ``c`d``', [{ type: 'code', text: 'a*b*' }, { text: ' ' }, { type: 'code', text: 'c`d' }]],
    ['\\*not\\* this', [{ text: '*not* this' }]],
    [
      '[a **b**](https://x.org/y)',
      [{ type: 'link', href: 'https://x.org/y', children: [{ text: 'a ' }, { type: 'strong' }] }],
    ],
    [
      'see https://x.org/a_b_c.',
      [{ text: 'see ' }, { type: 'link', href: 'https://x.org/a_b_c' }, { text: '.' }],
    ],
    [
      '![alt](https://x.org/i.png)',
      [{ type: 'link', href: 'https://x.org/i.png', children: [{ text: 'alt' }] }],
    ],
    ['line  \nnext', [{ text: 'line' }, { type: 'break' }, { text: 'next' }]],
  ])('reads %s', (text, expected) => {
    expect(shape(text)).toMatchObject(expected);
  });

  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '//evil',
    '/v1/models',
    ' java\nscript:x',
  ])('makes no link to %s', (target) => {
    expect(safeHref(target)).toBeUndefined();
    expect(hrefs(parseInline(`[x](${target}) <${target}>`))).toEqual([]);
  });

  it.each([
    ['[https://bank.example](https://evil.example/x)', 'evil.example'],
    ['[bank.example](https://evil.example)', 'evil.example'],
    ['[**www.bank.example/login**](https://evil.example)', 'evil.example'],
    ['[see bank.example](https://evil.example:8443)', 'evil.example:8443'],
    ['[https://bank.example](https://bank.example.evil.example)', 'bank.example.evil.example'],
    ['[https://bank.example@evil.example](https://evil.example)', undefined],
    ['[ada@bank.example](mailto:eve@evil.example)', 'mailto:eve@evil.example'],
    ['[ada@bank.example](mailto:ada@bank.example)', undefined],
    ['[https://bank.example/a](https://bank.example/b)', undefined],
    ['[Bank.example](https://bank.example)', undefined],
    ['[the bank](https://bank.example)', undefined],
    ['https://bank.example', undefined],
  ])('shows where %s leads when its text looks like another address: %s', (text, host) => {
    const [link] = parseInline(text);
    expect(link).toMatchObject({ type: 'link' });
    expect(link?.type === 'link' && link.host).toBe(host);
  });

  it('reads no link text backwards', () => {
    const [link] = parseInline('[\u202emoc.elpmaxe\u202c\u2066](https://evil.example)');
    expect(link).toMatchObject({ children: [{ type: 'text', text: 'moc.elpmaxe' }], host: 'evil.example' });
  });

  it('links only to http, https and mailto, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          markdownish,
          fc.string({ unit: fc.constantFrom(...'[]()<>!*_~`\\ jh:tps/.x"\''.split('')) }),
        ),
        (text) => {
          for (const href of hrefs(parseInline(text))) expect(href).toMatch(/^(https?|mailto):/);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('loses no letter of a text without links', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab *_~`\\'.split('')) }), (text) => {
        const letters = (from: string): string => from.replaceAll(/[^ab]/g, '');
        expect(letters(flat(parseInline(text)))).toBe(letters(text));
      }),
      { numRuns: 500 },
    );
  });
});

describe('blocks of Markdown', () => {
  const types = (text: string): string[] => parseBlocks(text).map((block) => block.type);

  it('include headings, lists, quotes, code, rules and tables', () => {
    const text =
      '# T\np\n\n- a\n  - b\n\n1. x\n2. y\n\n> q\n\n```js\n# code\n```\n---\n| a | b |\n|:-:|--:|\n| 1 | `x \\| y` |';
    expect(types(text)).toEqual(['heading', 'paragraph', 'list', 'list', 'quote', 'code', 'rule', 'table']);
    expect(parseBlocks(text)[2]).toMatchObject({ items: [{ children: [{ text: 'a' }, { type: 'list' }] }] });
    expect(parseBlocks(text)[3]).toMatchObject({ start: 1, items: [{}, {}] });
    expect(parseBlocks(text)[7]).toMatchObject({ align: ['center', 'right'], rows: [['1', '`x | y`']] });
  });

  it('keep the tabs of code in a list, after its fence, until the code or the list ends', () => {
    const code = (text: string): unknown => {
      const [list] = parseBlocks(text);
      const [item] = list?.type === 'list' ? list.items : [];
      return item?.children.find(({ type }) => type === 'code');
    };
    const fenced = '- so:\n\n  ```make\n  all:\n  \tcc a.c\tb.c\n  ```\n';
    expect(code(fenced)).toMatchObject({ language: 'make', text: 'all:\n\tcc a.c\tb.c' });
    expect(code('1. ```\n   \tx\n   ```')).toMatchObject({ text: '\tx' });
    expect(code('- ```\n\tx')).toMatchObject({ text: '  x' });
    const [, after] = parseBlocks('- ```\n  \tx\n\nend\n\n- item\n\n\tmore');
    expect(after).toMatchObject({ type: 'paragraph', text: 'end' });
    expect(parseBlocks(`${fenced}- item\n\n\tmore`)[0]).toMatchObject({
      items: [{}, { children: [{ text: 'item' }, { text: 'more' }] }],
    });
  });

  it('keep the tabs of code at the margin, and nowhere else', () => {
    const [makefile, list] = parseBlocks('```make\nall:\n\tcc a.c\n```\n\n- item\n\n\tmore');
    expect(makefile).toMatchObject({ type: 'code', text: 'all:\n\tcc a.c' });
    expect(list).toMatchObject({ type: 'list', items: [{ children: [{ text: 'item' }, { text: 'more' }] }] });
  });

  it('include an open fence as code, and a list item with paragraphs as loose', () => {
    expect(parseBlocks('```py\nx = 1')).toMatchObject([{ type: 'code', language: 'py', text: 'x = 1' }]);
    const [list] = parseBlocks('1. one\n\n   more\n\n2. two');
    expect(list).toMatchObject({
      type: 'list',
      items: [{ tight: false, children: [{}, {}] }, { tight: true }],
    });
    expect(parseBlocks('- [x] done\n- [ ] open')).toMatchObject([
      { items: [{ checked: true }, { checked: false }] },
    ]);
  });

  it('stay equal when text is appended after them, so that they are drawn once', () => {
    const text = '# T\n\nfirst *paragraph*\n\n```\ncode\n```\n\nlast';
    const before = parseBlocks(text);
    const after = parseBlocks(`${text} words and more`);
    expect(after.slice(0, 3)).toEqual(before.slice(0, 3));
    expect(after[3]?.source).not.toBe(before[3]?.source);
  });

  it('are found in hostile texts and all their prefixes without an error', () => {
    for (const text of HOSTILE_TEXTS) {
      for (let end = 0; end <= Math.min(text.length, 300); end += 1)
        expect(types(text.slice(0, end))).toBeInstanceOf(Array);
    }
    fc.assert(
      fc.property(markdownish, (text) => {
        for (const block of parseBlocks(text)) expect(block.source.length).toBeGreaterThan(0);
      }),
      { numRuns: 300 },
    );
  });
});

describe('nested content', () => {
  const depthOf = (nodes: Tree[]): number =>
    Math.max(0, ...nodes.map((node) => (node.children === undefined ? 0 : 1 + depthOf(node.children))));

  it(`is emphasis up to a depth of ${MAX_NESTED}, and text beyond it`, () => {
    const nested = (depth: number): string => `${'*a _b '.repeat(depth / 2)}c${'_ d*'.repeat(depth / 2)}`;
    expect(depthOf(parseInline(nested(MAX_NESTED)))).toBe(MAX_NESTED);
    const beyond = parseInline(nested(MAX_NESTED + 2));
    expect(depthOf(beyond)).toBe(MAX_NESTED);
    expect(flat(beyond)).toContain('*a _b a');
  });

  it(`is a quote or a list up to a depth of ${MAX_DEPTH}, and text beyond it`, () => {
    const [at, beyond] = [MAX_DEPTH, MAX_DEPTH + 1].map((depth) => parseBlocks('> '.repeat(depth)));
    const text = JSON.stringify(parseBlocks(`${'> '.repeat(MAX_DEPTH)}> a`));
    expect([depthOf(at!), depthOf(beyond!)]).toEqual([MAX_DEPTH, MAX_DEPTH]);
    expect(text).toContain('"text":"> a"');
  });

  it(`is a link to a target of at most ${MAX_TARGET} characters, and text beyond it`, () => {
    const link = (length: number): string => `[a](https://${'x'.repeat(length - 'https://'.length)})`;
    expect(parseInline(link(MAX_TARGET))).toMatchObject([{ type: 'link' }]);
    expect(flat(parseInline(link(MAX_TARGET + 1)))).toContain('[a](https://x');
  });
});

describe('64 KiB of anything', () => {
  it.each(
    [
      '[',
      '](',
      '[a](',
      '![',
      '*',
      '**a ',
      '_a',
      '*a_b',
      '~~',
      '`',
      '`a``',
      '\\',
      '<http://',
      'https://a.b/',
      '(',
      '[[a](u)]',
      ' ',
      '*a **b ',
      '&',
      '&amp;',
      '![a](b)',
      '![[a](',
      '***',
      '~a',
      '[a](https://a.b "t',
    ].map((unit) => [unit]),
  )('inline of "%s" takes less than 50 ms', (unit) => {
    const text = unit.repeat(SIZE / unit.length);
    expect(best(() => parseInline(text))).toBeLessThan(BUDGET_MS);
  });

  it.each(
    [
      '> ',
      '- ',
      '1. ',
      '-',
      '- a\n',
      '> a\n',
      '# ',
      '|',
      '| a |\n',
      '```\n',
      '|-\n',
      '  - a\n\n',
      '* * ',
      '\n',
      'a\n- ',
      '_ ',
      'a|\n',
      'a|b\n-|\n',
      '1984. a\n',
    ].map((unit) => [unit]),
  )('blocks of %j take less than 50 ms', (unit) => {
    const text = unit.repeat(SIZE / unit.length);
    expect(best(() => parseBlocks(text))).toBeLessThan(BUDGET_MS);
  });
});

/**
 * CPU time of this thread in the best of the runs: wall time would include other processes, the first runs compile, and
 * neighbours on the same core slow down some. Ends with the first that is within the budget.
 */
function best(work: () => unknown): number {
  let least = Infinity;
  for (let run = 0; run < RUNS && least >= BUDGET_MS; run += 1) {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}
