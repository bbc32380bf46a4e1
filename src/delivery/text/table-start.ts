/** The end of a growing text that may become the head of a table: raw pipes that the next line turns into cells. */

/** A line beyond this length is no head, with a pipe at its beginning and without, in UTF-16 units. */
const MAX_HEAD = 512;
const MAX_BARE_HEAD = 160;

/** What quotes put before their lines, and blanks. */
const QUOTE = /^[ \t>]*/;
/** The marks of lists before their first line. */
const ITEM = /^(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)+/;
/** A line that may grow into the rule below a head. */
const RULE_BEGUN = /^[ \t|:-]*$/;
const RULE_CELL = /^:?-+:?$/;
/** What code and formulas begin with, and end with if that is something else. */
const OPENING = /`+|\\[([]|\$\$/g;
const CLOSINGS: Readonly<Record<string, string>> = { '\\(': '\\)', '\\[': '\\]' };

/**
 * Where the text ends that can be shown: before the first pipe of what may be the head of a table, and of its rule while
 * that grows. The length of the text if nothing is open. Text before that pipe is shown, so that no text disappears.
 */
export function tableStart(text: string): number {
  const lines = text.slice(text.lastIndexOf('\n\n') + 1).split('\n');
  const last = lines.length - 1;
  const from = text.length - (lines[last] ?? '').length;
  if (isInTable(lines)) return text.length;
  const head = lines[last - 1];
  const rule = (lines[last] ?? '').replace(QUOTE, '');
  if (head !== undefined && RULE_BEGUN.test(rule)) {
    const pipe = firstPipe(head);
    if (pipe >= 0) return from - 1 - head.length + pipe;
  }
  const pipe = firstPipe(lines[last] ?? '');
  return pipe < 0 ? text.length : from + pipe;
}

/** Whether the last line is a rule, whole or not, that makes the line before it a head, or a row below one. */
function isInTable(lines: readonly string[]): boolean {
  return lines.some((line, at) => {
    const head = lines[at - 1];
    if (head === undefined || head.trim() === '') return false;
    const bare = line.replace(QUOTE, '');
    const rule = cellsOf(bare);
    return (
      bare.includes('|') &&
      !ITEM.test(bare) &&
      rule.every((cell) => RULE_CELL.test(cell)) &&
      rule.length === cellsOf(head.replace(QUOTE, '').replace(ITEM, '')).length
    );
  });
}

/** Offset of the first pipe that may separate cells; -1 for none, and for a line that is no head. */
function firstPipe(line: string): number {
  const before = QUOTE.exec(line)?.[0].length ?? 0;
  const bare = line.slice(before).replace(ITEM, '');
  if (bare.startsWith('|')) return line.length > MAX_HEAD ? -1 : line.length - bare.length;
  if (line.length > MAX_BARE_HEAD) return -1;
  return withoutLiterals(line).search(/(?<!\\)\|/);
}

/** The line with other characters for code and formulas, closed or not: their pipes separate no cells in prose. */
function withoutLiterals(line: string): string {
  let hidden = '';
  let at = 0;
  for (const { 0: opening, index } of line.matchAll(OPENING)) {
    if (index < at) continue;
    const closing = CLOSINGS[opening] ?? opening;
    const found = line.indexOf(closing, index + opening.length);
    const end = found < 0 ? line.length : found + closing.length;
    hidden += line.slice(at, index) + 'x'.repeat(end - index);
    at = end;
  }
  return hidden + line.slice(at);
}

function cellsOf(line: string): string[] {
  const inside = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inside.split(/(?<!\\)\|/).map((cell) => cell.trim());
}
