/** The head of a table while it grows: no raw pipe appears, no text disappears, and other text is not held for long. */
import * as fc from 'fast-check';
import type { Nodes, Root } from 'mdast';
import { describe, expect, it } from 'vitest';
import { MessageChunker } from '../../../src/delivery/text/chunker.ts';
import type { RenderTarget } from '../../../src/delivery/text/cut.ts';
import { tableStart } from '../../../src/delivery/text/open-end.ts';
import { NETWORKS } from '../../corpora/networks.ts';
import { renderLight } from '../render.ts';

describe('the end of a growing text that may become a table', () => {
  it.each([
    ['| Na', ''],
    ['Name | Ag', 'Name '],
    ['Before:\n| Name | Age |', 'Before:\n'],
    ['| Name | Age |\n', ''],
    ['| Name | Age |\n|--', ''],
    ['| Name | Age |\n|:-:|:', ''],
    ['Name | Age\n-', 'Name '],
    ['- | Name | Age |', '- '],
    ['> | Name | Age |\n> |-', '> '],
    ['A \\| B | C', 'A \\| B '],
  ])('shows %j as %j', (text, shown) => {
    expect(text.slice(0, tableStart(text))).toBe(shown);
  });

  it.each([
    '| Name | Age |\n|---|-',
    '| Name | Age |\n|---|---|\n| Ada | 3',
    'Name | Age\n:-: | --:\nAda | 3',
    '> | Name |\n> |---|\n> | A',
    '- | Name | Age |\n  |---|---|\n  | A',
    'ls | wc\nT',
    'ls | wc\n\n',
    'Run `ls | wc` and',
    'Run `ls | w',
    'where \\(|x| < 1',
    'no pipe at all\n-',
    `${'word '.repeat(40)}| and on`,
    `| ${'word '.repeat(120)}`,
  ])('shows the whole of %j', (text) => {
    expect(tableStart(text)).toBe(text.length);
  });
});

const cell = fc.constantFrom('Name', 'a b', '**bold**', 'x', '12 GB', '漢字');
const row = (columns: number) => fc.array(cell, { minLength: columns, maxLength: columns });
const streamedTable = fc
  .tuple(fc.integer({ min: 2, max: 4 }), fc.integer({ min: 1, max: 4 }), fc.boolean())
  .chain(([columns, rows, isBare]) =>
    fc.tuple(
      row(columns),
      fc.array(fc.constantFrom('---', ':-:', '--:'), { minLength: columns, maxLength: columns }),
      fc.array(row(columns), { minLength: rows, maxLength: rows }),
      fc.constant(isBare),
      fc.constantFrom('', '> ', '- '),
    ),
  )
  .map(([head, rule, rows, isBare, mark]) => {
    const lines = [head, rule, ...rows].map((cells) =>
      isBare ? cells.join(' | ') : `| ${cells.join(' | ')} |`,
    );
    const rest = mark === '- ' ? '  ' : mark;
    return lines.map((line, at) => `${at === 0 ? mark : rest}${line}`).join('\n');
  });
const answer = fc
  .tuple(fc.constantFrom('', 'Here it is:\n\n', 'As a table:\n', '## Table\n\n'), streamedTable)
  .map(([before, table]) => `${before}${table}\n\nAnd *more* text.`);

/** The texts of a document outside of its tables and its code. */
function textsOf(node: Nodes): string[] {
  if (node.type === 'table' || node.type === 'code' || node.type === 'inlineCode') return [];
  if (node.type === 'text') return [node.value];
  return 'children' in node ? node.children.flatMap(textsOf) : [];
}

describe('every prefix of an answer with a table', () => {
  it('has no raw pipe outside of the table', () => {
    const outside: string[] = [];
    const target: RenderTarget = {
      maxLength: 100_000,
      render(doc: Root) {
        outside.push(...textsOf(doc).filter((text) => /\||^\s*:?-+:?\s*$/.test(text)));
        return renderLight(doc);
      },
    };
    fc.assert(
      fc.property(answer, (text) => {
        const growing = new MessageChunker(target);
        outside.length = 0;
        for (const character of text) {
          growing.push(character);
          growing.open();
        }
        expect(outside).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  it.each(NETWORKS)(
    'shows no raw row on $name, and ends as if it had arrived at once',
    ({ target, read }) => {
      fc.assert(
        fc.property(answer, (text) => {
          const growing = new MessageChunker(target);
          for (const character of text) {
            growing.push(character);
            const shown = growing.open().map((message) => read(message)[1]);
            expect(shown.filter((one) => /^[\s>•-]*\|[^\S\n]*[^\s+|]/m.test(one))).toEqual([]);
          }
          const whole = new MessageChunker(target);
          whole.push(text);
          expect(growing.finish()).toEqual(whole.finish());
        }),
        { numRuns: 25 },
      );
    },
  );
});

describe('a text with pipes that is no table', () => {
  const line = fc
    .array(fc.constantFrom('ls', '| wc', 'a | b', '||', 'word', '`x | y`', '1 - 2', '|'), {
      minLength: 1,
      maxLength: 5,
    })
    .map((words) => words.join(' '));

  it('never shrinks because of a pipe, and every line is shown once the next but one has begun', () => {
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 6 }), (lines) => {
        const text = lines.join('\n');
        let shown = 0;
        for (let at = 1; at <= text.length; at += 1) {
          const now = tableStart(text.slice(0, at));
          expect(now).toBeGreaterThanOrEqual(shown);
          shown = now;
          const before = text.slice(0, at).split('\n').slice(-2).join('\n').length;
          expect(now).toBeGreaterThanOrEqual(at - before);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is shown whole once it is released, and so is what continues it', () => {
    const growing = new MessageChunker({ maxLength: 1_000, render: renderLight });
    const plain = (): string | undefined => growing.open()[0]?.plain;
    growing.push('run ls | w');
    expect([plain(), growing.held]).toEqual(['run ls', 3]);
    growing.release();
    expect([plain(), growing.held]).toEqual(['run ls | w', 0]);
    growing.push('c -l');
    expect(plain()).toBe('run ls | wc -l');
    growing.push('\na | b');
    expect(plain()).toBe('run ls | wc -l\na');
  });
});
