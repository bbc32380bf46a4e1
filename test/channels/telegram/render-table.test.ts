/** Tables the way phones show them. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_TABLE_COLUMNS, renderTelegram } from '../../../channels/telegram/render.ts';
import { columnsOf } from '../../../src/lib/markdown/text-table.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { readHtml } from '../../fakes/telegram/html.ts';

const html = (markdown: string): string => renderTelegram(parseMarkdown(markdown)).text;

describe('a table', () => {
  it('that fits is drawn, each column aligned as its writer specified', () => {
    const table = '| item | price |\n|:--|--:|\n| tea | 1 |\n| coffee | 12 |';
    expect(html(table)).toBe('<pre>item   | price\n-------+------\ntea    |     1\ncoffee |    12</pre>');
  });

  it(`of ${MAX_TABLE_COLUMNS} columns is drawn, of one more it is a list of records`, () => {
    const wide = (width: number): string => `| ${'a'.repeat(width - 4)} | b |\n|-|-|\n| c | d |`;
    expect(html(wide(MAX_TABLE_COLUMNS))).toMatch(/^<pre>/);
    const records = html(wide(MAX_TABLE_COLUMNS + 1));
    expect(records).toBe(`${'a'.repeat(MAX_TABLE_COLUMNS - 3)}: <b>c</b>\nb: d`);
  });

  it('with links keeps their addresses, as records', () => {
    const table = '| name | site |\n|-|-|\n| Ada | [home](https://ada.test) |\n| Bo | [call](tel:+4930) |';
    expect(html(table)).toBe(
      'name: <b>Ada</b>\nsite: <a href="https://ada.test">home</a>\n\nname: <b>Bo</b>\nsite: call (+4930)',
    );
  });

  it('shows a break in a cell as a blank, and a column without a name by its values', () => {
    expect(html('| | b |\n|-|-|\n| x<br>y | z |')).toBe('<pre>    | b\n----+--\nx y | z</pre>');
    const long = 'word '.repeat(12).trim();
    expect(html(`| | b |\n|-|-|\n| x | ${long} |`)).toBe(`<b>x</b>\nb: ${long}`);
  });

  it('of any cells loses no word and draws no line that is too wide', () => {
    const cell = fc.stringMatching(/^[a-z]{1,12}( [a-z]{1,12}){0,4}$/);
    const row = fc.array(cell, { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(row, fc.array(row, { maxLength: 6 }), (head, rows) => {
        const lines = [head, ['--', ':-:', '-:'], ...rows].map((cells) => `| ${cells.join(' | ')} |`);
        const { text, entities } = readHtml(html(lines.join('\n')));
        for (const word of [head, ...rows].flat().join(' ').split(' ')) expect(text).toContain(word);
        const drawn = entities.filter(({ type }) => type === 'pre');
        for (const { offset, length } of drawn)
          expect(columnsOf(text.slice(offset, offset + length))).toBeLessThanOrEqual(MAX_TABLE_COLUMNS);
      }),
      { numRuns: 300 },
    );
  });
});
