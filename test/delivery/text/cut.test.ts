/** Cutting texts into messages: every message fits, no text is lost, no markup is broken, and no text takes long. */
import * as fc from 'fast-check';
import type { Root } from 'mdast';
import { describe, expect, it } from 'vitest';
import { chunksOf, MessageChunker } from '../../../src/delivery/text/chunker.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import type { Rendered } from '../../../src/protocol/channel.ts';
import { HOSTILE, markdownDocument, scribble } from '../documents.ts';
import { renderHeavy, renderLight } from '../render.ts';

/** One synchronous step on 64 KiB may take this long (reliability row 39). */
const STEP_MS = 50;

/** CPU time of this thread in milliseconds: unlike the wall clock it excludes what else the machine is doing. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function cut(text: string, maxLength: number, render = renderLight): Rendered[] {
  const pages = new MessageChunker({ render, maxLength });
  pages.push(text);
  return pages.finish();
}

/** Only the letters: without whitespace, list markers and quote marks, which a cut may drop or repeat. */
function lettersOf(text: string): string {
  return text.replace(/^(?:> |• |\d+\. )+/gm, '').replace(/\s|\|/g, '');
}

describe('cutting a document', () => {
  it('gives messages that fit, whatever the text and the renderer', () => {
    fc.assert(
      fc.property(
        markdownDocument,
        fc.integer({ min: 120, max: 1_500 }),
        fc.boolean(),
        (text, max, heavy) => {
          const pages = cut(text, max, heavy ? renderHeavy : renderLight);
          expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(max);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('keeps every character and adds only repeated table headers', () => {
    fc.assert(
      fc.property(markdownDocument, fc.integer({ min: 120, max: 1_500 }), (text, max) => {
        // Block by block: all of it at once may hold more markup than the parser's guard allows.
        const blocks = text.split('\n\n').map((block) => lettersOf(renderLight(parseMarkdown(block)).plain));
        const whole = blocks.join('').replaceAll('headtail', '');
        const parts = cut(text, max)
          .map((page) => lettersOf(page.plain))
          .join('');
        expect(parts.replaceAll('headtail', '')).toBe(whole);
      }),
      { numRuns: 150 },
    );
  });

  it('keeps all letters in order, whatever is between them', () => {
    fc.assert(
      fc.property(scribble, fc.integer({ min: 10, max: 80 }), (text, max) => {
        const shown = cut(text, max).map((page) => page.plain.replace(/[^ab]/g, ''));
        expect(shown.join('')).toBe(text.replace(/[^ab]/g, ''));
      }),
      { numRuns: 300 },
    );
  });

  it('gives the same messages, in whatever pieces the text arrives', () => {
    fc.assert(
      fc.property(markdownDocument, fc.integer({ min: 1, max: 50 }), (text, step) => {
        const pages = new MessageChunker({ render: renderLight, maxLength: 400 });
        for (let i = 0; i < text.length; i += step) pages.push(text.slice(i, i + step));
        expect(pages.finish()).toEqual(cut(text, 400));
      }),
      { numRuns: 100 },
    );
  });

  it('never changes a settled message while the text grows', () => {
    fc.assert(
      fc.property(markdownDocument, (text) => {
        const pages = new MessageChunker({ render: renderHeavy, maxLength: 300 });
        const settled: string[] = [];
        for (let i = 0; i < text.length; i += 37) {
          pages.push(text.slice(i, i + 37));
          while (settled.length < pages.settled) settled.push(pages.at(settled.length)?.text ?? '');
        }
        const whole = pages.finish().map((page) => page.text);
        expect(whole.slice(0, settled.length)).toEqual(settled);
      }),
      { numRuns: 100 },
    );
  });

  it('cuts between characters as a reader perceives them', () => {
    const pages = cut('👩‍👩‍👧‍👦'.repeat(200), 100);
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) expect(page.plain.replaceAll('👩‍👩‍👧‍👦', '')).toBe('');
  });
});

describe('the cost of an edit', () => {
  it('does not grow with the reply', () => {
    let rendered = 0;
    const count = (doc: Root): Rendered => {
      const page = renderLight(doc);
      rendered += page.length;
      return page;
    };
    const pages = new MessageChunker({ render: count, maxLength: 2_000 });
    const perEdit: number[] = [];
    for (let i = 0; i < 1_000; i++) {
      rendered = 0;
      pages.push(`Sentence ${i} of a **long** reply, with \`code\` in it.${i % 5 === 0 ? '\n\n' : ' '}`);
      pages.open();
      perEdit.push(rendered);
    }
    const most = (edits: number[]) => Math.max(...edits);
    expect(pages.settled).toBeGreaterThan(20);
    expect(most(perEdit.slice(-200))).toBeLessThanOrEqual(most(perEdit.slice(0, 200)) * 1.5);
  });

  it('stays small inside one endless block', () => {
    const pages = new MessageChunker({ render: renderLight, maxLength: 4_096 });
    const times: number[] = [];
    pages.push('```txt\n');
    for (let i = 0; i < 2_000; i++) {
      const began = performance.now();
      pages.push(`line ${i} of a log that does not end\n`);
      pages.open();
      times.push(performance.now() - began);
    }
    const median = (list: number[]) => list.toSorted((a, b) => a - b)[list.length >> 1] ?? 0;
    expect(pages.settled).toBeGreaterThan(10);
    expect(median(times.slice(-500))).toBeLessThan(Math.max(5, median(times.slice(0, 500)) * 4));
  });
});

describe('what a cut keeps whole', () => {
  it('reopens a code block with its language', () => {
    const code = Array.from({ length: 200 }, (_, i) => `line ${i}`).join('\n');
    const pages = cut(`intro\n\n\`\`\`ts\n${code}\n\`\`\`\n\noutro`, 200, renderHeavy);
    const middle = pages.slice(1, -1);
    expect(middle.length).toBeGreaterThan(1);
    for (const page of middle) expect(page.text).toMatch(/^```ts\nline [^]*\n```$/);
  });

  it('repeats the header of a table', () => {
    const rows = Array.from({ length: 400 }, (_, i) => `|row ${i}|value|`).join('\n');
    const pages = cut(`|name|value|\n|-|-|\n${rows}`, 600);
    expect(pages.length).toBeGreaterThan(8);
    for (const page of pages) expect(page.plain.split('\n')[0]).toBe('name | value');
    expect(
      pages
        .map((page) => page.plain)
        .join('\n')
        .match(/row \d+/g),
    ).toHaveLength(400);
  });

  it('continues the numbering of a list', () => {
    const items = Array.from({ length: 300 }, (_, i) => `${i + 1}. item number ${i + 1}`).join('\n');
    const lines = cut(items, 500).flatMap((page) => page.plain.split('\n'));
    expect(lines).toEqual(Array.from({ length: 300 }, (_, i) => `${i + 1}. item number ${i + 1}`));
  });

  it('closes emphasis in one message and opens it in the next', () => {
    const pages = cut(`**${'word '.repeat(60).trim()}**`, 150, renderHeavy);
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) expect(page.text).toMatch(/^\*\*word[^*]*\*\*$/);
  });

  it('keeps the text of a link whose target is too long for a message', () => {
    const pages = cut(`see [the page](https://example.org/${'x'.repeat(500)}) for more`, 200, renderHeavy);
    expect(pages.map((page) => page.plain).join(' ')).toContain('the page');
    expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(200);
  });
});

describe('hostile text', () => {
  it.each(Object.entries(HOSTILE))(
    'parses 64 KiB of %s without blocking the event loop',
    async (_name, piece) => {
      const text = piece
        .repeat(Math.ceil(65_536 / piece.length))
        .slice(0, 65_536)
        .toWellFormed();
      parseMarkdown(text.slice(0, 2_000));
      let longest = Number.POSITIVE_INFINITY;
      let pages: Rendered[] = [];
      // The best of a few runs: the first ones include compilation.
      for (let run = 0; run < 10 && longest > STEP_MS; run++) {
        let began = cpuMs();
        let worst = 0;
        const yieldToEventLoop = () => {
          worst = Math.max(worst, cpuMs() - began);
          began = cpuMs();
          return Promise.resolve();
        };
        pages = await chunksOf(text, { render: renderLight, maxLength: 4_096 }, yieldToEventLoop);
        await yieldToEventLoop();
        longest = Math.min(longest, worst);
      }
      expect(longest).toBeLessThan(STEP_MS);
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(4_096);
    },
  );

  it('parses 64 KiB at once within the same time, or as plain text', () => {
    const took = Object.entries(HOSTILE).map(([name, piece]) => {
      const text = piece.repeat(Math.ceil(65_536 / piece.length)).slice(0, 65_536);
      let ms = Number.POSITIVE_INFINITY;
      // The best of a few runs: the first ones include compilation, and a busy machine slows any of them.
      for (let run = 0; run < 10 && ms >= STEP_MS; run++) {
        const began = cpuMs();
        parseMarkdown(text);
        ms = Math.min(ms, cpuMs() - began);
      }
      return { name, ms };
    });
    expect(took.filter((entry) => entry.ms >= STEP_MS)).toEqual([]);
  });

  it('handles one line of code of 100 KB', () => {
    const pages = cut(`\`\`\`js\n${'x'.repeat(100_000)}\n\`\`\``, 2_000, renderHeavy);
    expect(pages.map((page) => page.plain).join('')).toBe('x'.repeat(100_000));
    expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(2_000);
  });
});
