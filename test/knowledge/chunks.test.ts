/** Passages of documents: along their structure, within their size, and without losing any text. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DocumentKind, MAX_TOKENS, OVERLAP_TOKENS, passagesIn } from '../../src/knowledge/chunks.ts';
import { estimateTokens } from '../../src/lib/text.ts';

const PLAIN: DocumentKind = { title: 'notes.txt', headings: false, lines: true, marks: false };
const MARKDOWN: DocumentKind = { ...PLAIN, title: 'guides/travel-costs.md', headings: true };
const PDF: DocumentKind = { title: 'a.pdf', headings: false, lines: false, marks: true };

const paragraph = (about: string): string =>
  `${`The rule about ${about} holds for everyone. `.repeat(12)}\n\n`;
const bare = (text: string): string => text.replaceAll(/\s+/g, '');
const cut = (text: string, kind: DocumentKind) => [...passagesIn(text, kind)];

describe('passages', () => {
  it('begin at headings, and name those above them and their lines', () => {
    const text = `# Travel\n\n${paragraph('trains')}## Hotels\n\n${paragraph('hotels')}# Food\n\n${paragraph('lunch')}`;
    const places = cut(text, MARKDOWN).map(({ place }) => place);
    expect(places).toEqual([
      { headings: ['Travel'], lines: [1, 4] },
      { headings: ['Travel', 'Hotels'], lines: [5, 8] },
      { headings: ['Food'], lines: [9, 12] },
    ]);
  });

  it('stay with the next one where a heading has little before it', () => {
    const passages = cut(
      '# Travel\n\n## Hotels\n\nUp to 140 euros.\n\n## Trains\n\nSecond class.\n',
      MARKDOWN,
    );
    expect(passages).toHaveLength(1);
    expect(passages[0]?.place.headings).toEqual(['Travel', 'Hotels']);
  });

  it('take no comment of a program, and nothing in a block of code, for a heading', () => {
    expect(cut('# install\nrun it\n', PLAIN)[0]?.place.headings).toBeUndefined();
    const fenced = `${paragraph('code')}\`\`\`sh\n# not a heading\n\`\`\`\n`;
    expect(cut(fenced, MARKDOWN).every(({ place }) => place.headings === undefined)).toBe(true);
  });

  it('end with their page, and leave its mark out', () => {
    const passages = cut('[page 1 of 2]\nFirst page.\n\n[page 2 of 2]\nSecond page.', PDF);
    expect(passages.map(({ place, content }) => [place.page, content])).toEqual([
      [1, 'First page.'],
      [2, 'Second page.'],
    ]);
    expect(cut('[sheet Prices]\na,b\n1,2', PDF)[0]?.place.headings).toEqual(['Prices']);
  });

  it('are searched with the title, the headings and the end of the passage before', () => {
    const text = `# Travel\n\n${paragraph('trains')}${paragraph('taxis')}${paragraph('planes')}`;
    const [first, second] = cut(text, MARKDOWN);
    expect(first?.context).toBe('guides travel costs md\nTravel');
    expect(second?.context).toContain('The rule about');
    expect(estimateTokens(second?.context.split('\n').at(-1) ?? '')).toBeLessThanOrEqual(OVERLAP_TOKENS);
  });

  it('keep their hash when text far from them changes', () => {
    const text = `# A\n\n${paragraph('trains')}# B\n\n${paragraph('hotels')}# C\n\n${paragraph('lunch')}`;
    const before = cut(text, MARKDOWN).map(({ hash }) => hash);
    const after = cut(text.replace('lunch', 'dinner'), MARKDOWN).map(({ hash }) => hash);
    expect(after.filter((hash) => before.includes(hash))).toHaveLength(2);
  });

  it('lose no text and are never too large, whatever the text', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.constantFrom(
        '\n',
        '\n\n',
        '# A\n',
        '## B\n',
        '```\n',
        '。',
        'words and more words. ',
        '你好'.repeat(300),
      ),
      fc.string({ unit: 'binary', minLength: 300, maxLength: 500 }),
    );
    const kinds = fc.constantFrom(PLAIN, MARKDOWN);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), kinds, (pieces, kind) => {
        const text = pieces.join('').replaceAll('\r', '');
        const passages = cut(text, kind);
        expect(bare(passages.map(({ content }) => content).join(''))).toBe(bare(text));
        for (const { content } of passages) {
          expect(estimateTokens(content)).toBeLessThanOrEqual(MAX_TOKENS + 3);
          expect(content.trim()).not.toBe('');
        }
      }),
    );
  });
});
