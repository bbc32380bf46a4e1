/** Parser of Markdown blocks: paragraphs, headings, lists, quotes, tables, code. Returns plain objects; HTML stays text. */

import { closes, FENCE, linesOf } from './lines.js';

/**
 * @typedef {{ type: 'paragraph', text: string }
 *   | { type: 'heading', level: number, text: string }
 *   | { type: 'code', language: string, text: string }
 *   | { type: 'rule' }
 *   | { type: 'quote', children: Block[] }
 *   | { type: 'list', start: number | undefined, items: { checked: boolean | undefined, tight: boolean, children: Block[] }[] }
 *   | { type: 'table', align: string[], head: string[], rows: string[][] }} BlockBody
 */
/** `source` is the text of the block: blocks with the same source look the same. @typedef {BlockBody & { source: string }} Block */

/** Quotes and lists nested deeper than this are paragraphs. */
const MAX_DEPTH = 8;
/** Most cells of a row. */
const MAX_CELLS = 64;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t](.*))?$/;
const RULE = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?: |$)/;
const TASK = /^\[([ xX])\] (?=\s*\S)/;
const DELIMITER_CELL = /^:?-+:?$/;

/**
 * Parses a document.
 * @param {string} text
 * @returns {Block[]}
 */
export function parseBlocks(text) {
  return readBlocks(linesOf(text), 0);
}

/**
 * @param {string[]} lines
 * @param {number} depth
 * @returns {Block[]}
 */
function readBlocks(lines, depth) {
  /** @type {Block[]} */
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at]?.trim() === '') {
      at += 1;
      continue;
    }
    const { body, end } = readBlock(lines, at, depth);
    blocks.push({ ...body, source: lines.slice(at, end).join('\n') });
    at = end;
  }
  return blocks;
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {number} depth
 * @returns {{ body: BlockBody, end: number }}
 */
function readBlock(lines, at, depth) {
  const line = lines[at] ?? '';
  const fence = FENCE.exec(line);
  if (fence !== null) return readCode(lines, at, fence[1] ?? '```', fence[2] ?? '');
  const heading = HEADING.exec(line);
  if (heading !== null) {
    const text = (heading[2] ?? '').trim();
    return {
      body: { type: 'heading', level: heading[1]?.length ?? 1, text: withoutClosingHashes(text) },
      end: at + 1,
    };
  }
  if (RULE.test(line)) return { body: { type: 'rule' }, end: at + 1 };
  if (depth < MAX_DEPTH && QUOTE.test(line)) return readQuote(lines, at, depth);
  if (depth < MAX_DEPTH && ITEM.test(line)) return readList(lines, at, depth);
  if (startsTable(lines, at)) return readTable(lines, at);
  return readParagraph(lines, at, depth);
}

/**
 * A fence that is not closed yet extends to the end: the answer may still be growing.
 * @param {string[]} lines
 * @param {number} at
 * @param {string} fence
 * @param {string} info
 * @returns {{ body: BlockBody, end: number }}
 */
function readCode(lines, at, fence, info) {
  const indent = (lines[at] ?? '').length - (lines[at] ?? '').trimStart().length;
  let end = at + 1;
  while (end < lines.length && !closes(fence, lines[end] ?? '')) end += 1;
  // The line break at the end of the text is not an empty line of the code.
  const last = end === lines.length && lines[end - 1] === '' ? end - 1 : end;
  const code = lines
    .slice(at + 1, last)
    .map((line) => (line.slice(0, indent).trim() === '' ? line.slice(indent) : line));
  const language = info.trim().split(/\s/, 1)[0] ?? '';
  return { body: { type: 'code', language, text: code.join('\n') }, end: Math.min(lines.length, end + 1) };
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {number} depth
 * @returns {{ body: BlockBody, end: number }}
 */
function readQuote(lines, at, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end] ?? '')) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ''));
  return { body: { type: 'quote', children: readBlocks(inner, depth + 1) }, end };
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {number} depth
 * @returns {{ body: BlockBody, end: number }}
 */
function readList(lines, at, depth) {
  const [, , first = '-'] = ITEM.exec(lines[at] ?? '') ?? [];
  const kind = first.slice(-1);
  const items = [];
  let end = at;
  for (;;) {
    const item = ITEM.exec(lines[end] ?? '');
    if (item === null || (item[2] ?? '').slice(-1) !== kind || RULE.test(lines[end] ?? '')) break;
    const next = itemEnd(lines, end, (item[1] ?? '').length + (item[2] ?? '').length + 1);
    items.push(readItem(lines.slice(end, next), item, depth));
    end = next;
    let after = end;
    while (after < lines.length && lines[after]?.trim() === '') after += 1;
    if (after > end && ITEM.test(lines[after] ?? '')) end = after;
  }
  const start = /\d/.test(first) ? Number.parseInt(first, 10) : undefined;
  return { body: { type: 'list', start, items }, end };
}

/**
 * The line after an item's last: indented lines belong to it, and unindented ones that continue its paragraph. An item
 * that begins with an empty line has no paragraph to continue.
 * @param {string[]} lines
 * @param {number} at
 * @param {number} indent
 */
function itemEnd(lines, at, indent) {
  let end = at + 1;
  const isEmpty = (lines[at] ?? '').slice(indent).trim() === '';
  if (isEmpty && !(lines[end] ?? '').startsWith(' '.repeat(indent))) return end;
  let blank = false;
  while (end < lines.length) {
    const line = lines[end] ?? '';
    const depth = line.length - line.trimStart().length;
    if (line.trim() === '') blank = true;
    else if (depth >= indent || (depth >= 2 && !blank)) blank = false;
    else if (blank || startsBlock(line)) break;
    end += 1;
  }
  while (end > at + 1 && lines[end - 1]?.trim() === '') end -= 1;
  return end;
}

/**
 * @param {string[]} lines
 * @param {RegExpExecArray} item
 * @param {number} depth
 */
function readItem(lines, item, depth) {
  const indent = (item[1] ?? '').length + (item[2] ?? '').length + 1;
  const inner = lines.map((line, index) => (index === 0 ? line.slice(indent) : withoutIndent(line, indent)));
  const task = TASK.exec(inner[0] ?? '');
  if (task !== null) inner[0] = (inner[0] ?? '').slice(task[0].length);
  const children = readBlocks(inner, depth + 1);
  return {
    checked: task === null ? undefined : task[1] !== ' ',
    tight: !hasBlankBetween(children, inner),
    children,
  };
}

/**
 * True when there are blank lines between the blocks of these lines; a blank line inside a block does not count.
 * @param {Block[]} blocks
 * @param {string[]} lines
 */
function hasBlankBetween(blocks, lines) {
  const used = blocks.reduce((sum, { source }) => sum + source.split('\n').length, 0);
  const leading = lines[0]?.trim() === '' ? 1 : 0;
  return used < lines.length - leading;
}

/**
 * @param {string} line
 * @param {number} indent
 */
function withoutIndent(line, indent) {
  const depth = line.length - line.trimStart().length;
  return line.slice(Math.min(depth, indent));
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @returns {{ body: BlockBody, end: number }}
 */
function readTable(lines, at) {
  const head = cells(lines[at] ?? '');
  const align = cells(lines[at + 1] ?? '').map((cell) => {
    if (cell.endsWith(':')) return cell.startsWith(':') ? 'center' : 'right';
    return 'left';
  });
  let end = at + 2;
  while (end < lines.length && lines[end]?.trim() !== '' && !startsBlock(lines[end] ?? '')) end += 1;
  // Cells beyond the last column are words, too.
  const rows = lines.slice(at + 2, end).map(cells);
  return { body: { type: 'table', align, head, rows }, end };
}

/**
 * True for a row with as many cells as the row of dashes below it.
 * @param {string[]} lines
 * @param {number} at
 */
function startsTable(lines, at) {
  const [head = '', delimiter = ''] = [lines[at], lines[at + 1]];
  if (!head.includes('|') || !delimiter.includes('-')) return false;
  const marks = cells(delimiter);
  return marks.every((cell) => DELIMITER_CELL.test(cell)) && marks.length === cells(head).length;
}

/**
 * The cells of a row; beyond `MAX_CELLS` what is left stands in the last one.
 * @param {string} line
 */
function cells(line) {
  const bare = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  const all = bare.split(/(?<!\\)\|/);
  if (all.length > MAX_CELLS) all.push(all.splice(MAX_CELLS - 1).join('|'));
  return all.map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {number} depth
 * @returns {{ body: BlockBody, end: number }}
 */
function readParagraph(lines, at, depth) {
  let end = at + 1;
  const stops = depth < MAX_DEPTH ? endsParagraph : () => false;
  while (end < lines.length && lines[end]?.trim() !== '' && !stops(lines, end)) end += 1;
  const text = lines.slice(at, end).map((line) => line.trimStart());
  return { body: { type: 'paragraph', text: text.join('\n').trimEnd() }, end };
}

/**
 * A list interrupts a paragraph only when its first item is not empty and, in a numbered list, has the number 1: the text
 * "in\n1984. Or so" has no list.
 * @param {string[]} lines
 * @param {number} at
 */
function endsParagraph(lines, at) {
  const line = lines[at] ?? '';
  const item = ITEM.exec(line);
  if (item === null || RULE.test(line)) return startsBlock(line) || startsTable(lines, at);
  return /^(?:[-*+]|1[.)])$/.test(item[2] ?? '') && line.trim() !== item[2];
}

/** @param {string} line */
function startsBlock(line) {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
}

/** @param {string} text */
function withoutClosingHashes(text) {
  let end = text.length;
  while (end > 0 && text[end - 1] === '#') end -= 1;
  return end === 0 || text[end - 1] === ' ' ? text.slice(0, end).trimEnd() : text;
}
