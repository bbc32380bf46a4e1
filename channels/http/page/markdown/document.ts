/** Reads answers: their references and formulas, then their blocks. Pure. */
import type { Block } from './nodes.ts';
import { resolveReferences } from '../../../../src/lib/markdown/references.ts';
import { parseBlocks, readBlocks } from './blocks.ts';
import { markFormulas, writtenText } from './formulas.ts';
import { cellsOf } from './table.ts';

/** What formulas that have not ended yet may begin with, unless on their last line: single dollars are on one line. */
const FORMULA = /\\[([]|\$\$/;
/** A last line that says only how the next words will be shown: it is shown with them. */
const HELD =
  /^[ \t>]*(?:\[(?:!(?:[A-Za-z]*\]?)?)?|[-*+_=#`~|:][-*+_=#`~|: \t]*|\d{1,9}[.)]?[ \t]*|(?:[-*+]|\d{1,9}[.)]) \[[ xX]?\]?[ \t]*|(?:`{3,}|~{3,})[^`]*)?$/;
/** A row that may be the head of a table. */
const HEAD = /(?:^|\n)[ \t]*(\|[^\n]*)\n?$/;

/** The blocks of an answer in Markdown. */
export function parseDocument(text: string) {
  return parseBlocks(markFormulas(resolveReferences(text)));
}

/** A document that grows at its end: of each longer text only the last block is parsed again. */
export class GrowingDocument {
  /** The beginning, which more text does not change. */
  #settled = '';
  #blocks: Block[] = [];

  /** The blocks of the text so far; what its last line says about words to come is left out. */
  blocksOf(text: string): Block[] {
    if (!text.startsWith(this.#settled)) {
      this.#settled = '';
      this.#blocks = [];
    }
    const open = text.slice(this.#settled.length);
    const whole = withoutHeldLine(open);
    const source = markFormulas(whole);
    const { blocks, settledLines, settledBlocks } = readBlocks(source);
    const earlierBlocks = this.#blocks;
    if (settledLines > 0 && whole === open && !FORMULA.test(source) && !open.includes('\r')) {
      this.#settled += `${writtenText(source.split('\n', settledLines).join('\n'))}\n`;
      this.#blocks = [...earlierBlocks, ...blocks.slice(0, settledBlocks)];
    }
    return [...earlierBlocks, ...withTable(source, blocks)];
  }
}

function withoutHeldLine(text: string) {
  const start = text.lastIndexOf('\n') + 1;
  const isHeld = start < text.length && HELD.test(text.slice(start));
  return isHeld ? text.slice(0, Math.max(0, start - 1)) : text;
}

/**
 * The blocks of a text, where a row at its end is taken for the head of a table: the line of dashes below it comes next.
 */
function withTable(text: string, blocks: Block[]) {
  const head = blocks.at(-1)?.type === 'paragraph' ? HEAD.exec(text)?.[1] : undefined;
  if (head === undefined || head.trim() === '|') return blocks;
  return parseBlocks(`${text}${text.endsWith('\n') ? '' : '\n'}|${'-|'.repeat(cellsOf(head).length)}`);
}
