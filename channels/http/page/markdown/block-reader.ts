/**
 * Reads the blocks of Markdown line by line, as CommonMark and GFM define them; indented lines are not code, underlined
 * ones not headings.
 */

import type { BlockBody, Item } from './nodes.ts';
import { calloutOf } from '../../../../src/lib/markdown/tags.ts';
import { decodeCharacters, withoutBlanksAtEnd } from './characters.ts';
import { writtenText } from './formulas.ts';
import { cellsOf, columnsOf } from './table.ts';

/**
 * A part that lines may continue. `indent`: columns before the text of an item; `blankAt`: the last blank line in it;
 * `marker`: how the items of a list begin.
 */
type Part =
  | { type: 'document'; children: BlockBody[]; blankAt: number }
  | { type: 'quote'; body: Quote; children: BlockBody[]; blankAt: number }
  | { type: 'item'; item: Item; children: BlockBody[]; blankAt: number; indent: number }
  | { type: 'list'; items: Item[]; marker: string; blankAt: number };
type Quote = Extract<BlockBody, { type: 'quote' }>;
/** `quote`: the one that it opens. */
type Paragraph = {
  type: 'paragraph';
  body: Extract<BlockBody, { type: 'paragraph' }>;
  lines: string[];
  item: Item | undefined;
  quote: Quote | undefined;
};
type Code = {
  type: 'code';
  body: Extract<BlockBody, { type: 'code' }>;
  lines: string[];
  fence: string;
  indent: number;
};
type Table = Extract<BlockBody, { type: 'table' }>;

/** Quotes and items nested deeper than this are text. */
export const MAX_DEPTH = 24;
const HEADING = /^(#{1,6})(?:[ \t]+([^]*))?$/;
const RULE = /^(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const FENCE = /^(?:(`{3,})([^`]*)|(~{3,})([^]*))$/;
const ITEM = /^([-*+]|\d{1,9}[.)])(?=[ \t]|$)/;
/** What may begin a list within a paragraph: the text "in\n1984. Or so" has none. */
const INTERRUPTS = /^(?:[-*+]|1[.)])[ \t]+[^ \t]/;
const TASK = /^\[([ \t\nxX])\](?:[ \t]*\n|[ \t])/;

/** Reads line by line: first the open parts that a line continues, then those that it opens, then its text. */
export class BlockReader {
  /** The blocks of the document. */
  blocks: BlockBody[] = [];
  /** The lines of each of them. */
  places: { start: number; end: number }[] = [];
  #line = new Line('');
  #number = -1;
  /** The open parts, outermost first. */
  #open: Part[] = [{ type: 'document', children: this.blocks, blankAt: -1 }];
  /** The open block in the innermost part. */
  #leaf: Paragraph | Code | Table | undefined;

  read(text: string) {
    this.#line = new Line(text);
    this.#number += 1;
    let matched = 1;
    while (matched < this.#open.length && this.#continues(this.#open[matched])) matched += 1;
    const isWhole = matched === this.#open.length;
    if (isWhole && this.#leaf?.type === 'code') this.#readCode(this.#leaf);
    else if (this.#line.isBlank) return this.#readBlank(matched);
    else this.#readParts(matched, isWhole);
    const place = this.places.at(-1);
    if (place !== undefined) place.end = this.#number + 1;
    return undefined;
  }

  /** Ends what is open. */
  end() {
    const leaf = this.#leaf;
    this.#leaf = undefined;
    if (leaf?.type === 'code') leaf.body.text = writtenText(leaf.lines.join('\n'));
    if (leaf?.type !== 'paragraph') return;
    const text = withoutBlanksAtEnd(leaf.lines.join('\n'));
    const task = leaf.item === undefined ? null : TASK.exec(text);
    leaf.body.text =
      leaf.quote === undefined ? text.slice(task?.[0].length ?? 0) : withHeading(text, leaf.quote);
    if (task !== null && leaf.item !== undefined) leaf.item.checked = /x/i.test(task[1] ?? '');
  }

  #continues(part: Part | undefined) {
    const { isBlank, bare, indent } = this.#line;
    switch (part?.type) {
      case 'quote':
        if (!bare.startsWith('>')) return false;
        this.#takeQuoteMarker();
        return true;
      case 'item':
        // An item begins with at most one blank line.
        if (isBlank ? part.children.length === 0 : indent < part.indent) return false;
        this.#line.takeBlanks(part.indent);
        return true;
      default:
        return true;
    }
  }

  #readParts(matched: number, isWhole: boolean) {
    const isParagraph = this.#leaf?.type === 'paragraph';
    let from = matched;
    while (this.#openPart(from, isWhole && isParagraph)) from = this.#open.length;
    if (this.#line.isBlank || this.#openBlock(from)) return;
    // A line continues a paragraph even if it lacks the markers of the parts around that.
    if (from === matched && !isWhole && !isParagraph) this.#closeTo(matched);
    this.#readText(isWhole);
  }

  /**
   * Opens a quote or an item if one begins.
   * @param from the number of parts that the line continues
   */
  #openPart(from: number, inParagraph: boolean) {
    const { bare, indent } = this.#line;
    const depth = this.#open.slice(0, from).filter(({ type }) => type === 'quote' || type === 'item').length;
    if (depth >= MAX_DEPTH) return false;
    if (bare.startsWith('>')) {
      this.#closeTo(from);
      const body: Quote = { type: 'quote', children: [] };
      this.#add(body);
      this.#open.push({ type: 'quote', body, children: body.children, blankAt: -1 });
      this.#takeQuoteMarker();
      return true;
    }
    const marker = RULE.test(bare) ? undefined : ITEM.exec(bare)?.[1];
    if (marker === undefined || (inParagraph && !INTERRUPTS.test(bare))) return false;
    this.#closeTo(from);
    this.#line.takeBlanks(indent);
    this.#line.takeChars(marker.length);
    const blanks = this.#line.isBlank ? 1 : this.#line.indent;
    this.#line.takeBlanks(blanks);
    this.#openItem(marker, indent + marker.length + blanks);
    return true;
  }

  #openItem(marker: string, indent: number) {
    const kind = marker.slice(-1);
    let list = this.#open.at(-1);
    if (list?.type !== 'list' || list.marker !== kind) {
      const start = /\d/.test(marker) ? Number.parseInt(marker, 10) : undefined;
      const body = { type: 'list' as const, start, items: [] };
      this.#add(body);
      list = { type: 'list', items: body.items, marker: kind, blankAt: -1 };
      this.#open.push(list);
    }
    const item: Item = { checked: undefined, tight: true, children: [] };
    list.items.push(item);
    this.#open.push({ type: 'item', item, children: item.children, blankAt: -1, indent });
  }

  #takeQuoteMarker() {
    this.#line.takeBlanks(this.#line.indent);
    this.#line.takeChars(1);
    this.#line.takeBlanks(1);
  }

  /** Opens a heading, a rule or code if one begins. */
  #openBlock(from: number) {
    const { bare, indent } = this.#line;
    const [, hashes, heading = ''] = HEADING.exec(bare) ?? [];
    const [, ticks, language = '', tildes, info = language] = FENCE.exec(bare) ?? [];
    const fence = ticks ?? tildes;
    if (hashes === undefined && fence === undefined && !RULE.test(bare)) return false;
    this.#closeTo(from);
    if (hashes !== undefined)
      this.#add({ type: 'heading', level: hashes.length, text: withoutClosingHashes(heading) });
    else if (fence === undefined) this.#add({ type: 'rule' });
    else {
      const word = /^[ \t]*([^ \t]*)/.exec(info)?.[1] ?? '';
      const body = { type: 'code' as const, language: decodeCharacters(word), text: '' };
      this.#add(body);
      this.#leaf = { type: 'code', body, lines: [], fence, indent };
    }
    return true;
  }

  #readText(isWhole: boolean) {
    const { bare } = this.#line;
    const leaf = this.#leaf;
    if (leaf?.type === 'table' && isWhole) leaf.rows.push(cellsOf(bare));
    else if (leaf?.type !== 'paragraph') this.#openParagraph([bare]);
    else if (!isWhole || !this.#openTable(leaf, bare)) leaf.lines.push(bare);
  }

  #openParagraph(lines: string[]) {
    const body = { type: 'paragraph' as const, text: '' };
    this.#add(body);
    const part = this.#open.at(-1);
    const item = part?.type === 'item' && part.children.length === 1 ? part.item : undefined;
    const quote = part?.type === 'quote' && part.children.length === 1 ? part.body : undefined;
    this.#leaf = { type: 'paragraph', body, lines, item, quote };
  }

  /** Makes the last line of a paragraph the head of a table, where this one is the row of dashes below it. */
  #openTable(paragraph: Paragraph, dashes: string) {
    const head = paragraph.lines.at(-1) ?? '';
    const align = columnsOf(head, dashes);
    if (align === undefined) return false;
    paragraph.lines.pop();
    this.end();
    const part = this.#open.at(-1);
    if (paragraph.lines.length === 0 && part !== undefined && part.type !== 'list') part.children.pop();
    if (this.#open.length === 1) {
      const place = this.places.at(-1);
      if (paragraph.lines.length === 0) this.places.pop();
      else if (place !== undefined) place.end = this.#number - 1;
    }
    const table: Table = { type: 'table', align, head: cellsOf(head), rows: [] };
    this.#add(table, this.#number - 1);
    this.#leaf = table;
    return true;
  }

  #readCode(code: Code) {
    const closing = withoutBlanksAtEnd(this.#line.bare);
    if (closing.length >= code.fence.length && closing === code.fence.charAt(0).repeat(closing.length)) {
      this.end();
      return;
    }
    this.#line.takeBlanks(code.indent);
    code.lines.push(this.#line.rest);
  }

  #readBlank(matched: number) {
    this.#closeTo(matched);
    for (const part of this.#open.toReversed()) {
      if (part.type === 'quote') break;
      part.blankAt = this.#number;
    }
  }

  /** @param count of the parts that stay open */
  #closeTo(count: number) {
    this.end();
    this.#open.length = Math.min(count, this.#open.length);
  }

  /**
   * Adds a block to the innermost part. A blank line between two blocks of an item makes it loose.
   * @param start its first line
   */
  #add(body: BlockBody, start: number = this.#number) {
    if (this.#open.at(-1)?.type === 'list') this.#open.pop();
    const part = this.#open.at(-1);
    if (part === undefined || part.type === 'list') return;
    if (part.type === 'item' && part.children.length > 0 && part.blankAt === start - 1)
      part.item.tight = false;
    part.children.push(body);
    if (part.type === 'document') this.places.push({ start, end: this.#number + 1 });
  }
}

function withoutClosingHashes(text: string) {
  const bare = withoutBlanksAtEnd(text);
  let end = bare.length;
  while (end > 0 && bare[end - 1] === '#') end -= 1;
  return end === 0 || /[ \t]/.test(bare.charAt(end - 1)) ? withoutBlanksAtEnd(bare.slice(0, end)) : bare;
}

/** The text of a quote with its mark of a callout, `[!NOTE]`, as bold words; the quote is one then. */
function withHeading(text: string, quote: Quote) {
  const callout = calloutOf(text);
  if (callout === undefined) return text;
  quote.callout = callout.heading.toLowerCase();
  const rest = text.slice(callout.length);
  return `**${callout.heading}**${rest === '' || rest.startsWith('\n') ? '' : ': '}${rest}`;
}

/** The distance of tab stops, in columns. */
const TAB_STOP = 4;

/**
 * One line as it is read from its start, quotes, items and fences each taking their part: what is left of it. Columns count from
 * its start, as tabs do.
 */
class Line {
  /** What is left of it. */
  rest;
  #column = 0;

  constructor(text: string) {
    this.rest = text;
  }

  /** True when only blanks are left. */
  get isBlank() {
    return /^[ \t]*$/.test(this.rest);
  }

  /** What is left without the blanks before it. */
  get bare() {
    return this.rest.replace(/^[ \t]+/, '');
  }

  /** Columns of the blanks that come next. */
  get indent() {
    let column = this.#column;
    for (const char of /^[ \t]*/.exec(this.rest)?.[0] ?? '') column += widthAt(char, column);
    return column - this.#column;
  }

  /** Takes characters that are not tabs. */
  takeChars(count: number) {
    this.rest = this.rest.slice(count);
    this.#column += count;
  }

  /**
   * Takes blanks, at most this many columns of them; a tab that is wider becomes the blanks that are left of it.
   */
  takeBlanks(columns: number) {
    const end = this.#column + columns;
    while (this.#column < end && /^[ \t]/.test(this.rest)) {
      const next = this.#column + widthAt(this.rest.charAt(0), this.#column);
      this.rest = ' '.repeat(Math.max(0, next - end)) + this.rest.slice(1);
      this.#column = Math.min(next, end);
    }
  }
}

function widthAt(blank: string, column: number) {
  return blank === '\t' ? TAB_STOP - (column % TAB_STOP) : 1;
}
