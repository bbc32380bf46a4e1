/**
 * Random documents, well-formed or not, on every network and on the page: nothing is refused, no word is lost, and no table
 * is wider than a phone.
 */
import * as fc from 'fast-check';
import type { Nodes, Table } from 'mdast';
import { describe, expect, it } from 'vitest';
import { parseDocument } from '../../channels/http/page/markdown/document.ts';
import { markFormulas } from '../../channels/http/page/markdown/formulas.ts';
import { MAX_TABLE_COLUMNS, renderTelegram } from '../../channels/telegram/render.ts';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import { columnsOf } from '../../src/lib/markdown/text-table.ts';
import { campaignCases, campaignSize } from '../campaign.ts';
import { markdownish } from '../contracts/hostile-texts.ts';
import { markdownDocument, scribble } from '../delivery/documents.ts';
import { comparable } from '../channels/http/page/markdown/reference.ts';
import { pageTree, referenceTree } from '../channels/http/page/markdown/trees.ts';
import { readHtml } from '../fakes/telegram/html.ts';
import { NETWORKS, shownAsRich, shownOf } from './networks.ts';
import { lostWords, wordsOfMarkdown, wordsOfRich } from './words.ts';

/** Documents per part, and parts: a full campaign runs 20,000. The time of one property is limited. */
const DOCUMENTS = 200;
const PARTS = campaignCases(
  Array.from({ length: 100 }, (_, part) => ({ part })),
  10,
);

const anyDocument = fc.oneof(
  { weight: 2, arbitrary: markdownDocument },
  { weight: 2, arbitrary: markdownish },
  { weight: 1, arbitrary: scribble },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 200 }) },
);

describe.each(PARTS)('random documents, part $part', ({ part }) => {
  it('are accepted by every network, with every word', async () => {
    await fc.assert(
      fc.asyncProperty(anyDocument, async (markdown) => {
        const expected = await wordsOfMarkdown(markdown);
        for (const network of NETWORKS)
          for (const view of await shownOf(network, markdown)) expect(lostWords(expected, view)).toEqual([]);
        const rich = await shownAsRich(markdown);
        const lost = rich === undefined ? [] : lostWords(await wordsOfRich(markdown), rich);
        expect(lost).toEqual([]);
        for (const table of tablesIn(parseMarkdown(markdown)))
          expect(widestLine(table)).toBeLessThanOrEqual(MAX_TABLE_COLUMNS);
      }),
      { numRuns: campaignSize(DOCUMENTS), seed: 1 + part },
    );
  });

  it('are rendered on the page as CommonMark and GFM specify, except for what the reference names', () => {
    fc.assert(
      fc.property(anyDocument, (text) => {
        const markdown = comparable(text);
        const read = referenceTree(markFormulas(markdown));
        expect(pageTree(markdown, parseDocument)).toEqual(read);
      }),
      { numRuns: campaignSize(DOCUMENTS), seed: 1 + part },
    );
  });
});

function tablesIn(node: Nodes): Table[] {
  if (node.type === 'table') return [node];
  return 'children' in node ? node.children.flatMap(tablesIn) : [];
}

/** Columns of the widest line that Telegram draws in a monospaced font, where nothing may wrap. */
function widestLine(table: Table): number {
  const { text, entities } = readHtml(renderTelegram({ type: 'root', children: [table] }).text);
  const drawn = entities.filter(({ type }) => type === 'pre');
  return Math.max(0, ...drawn.map(({ offset, length }) => columnsOf(text.slice(offset, offset + length))));
}
