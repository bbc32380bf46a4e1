/** The end of a growing text that may become the head of a table: raw pipes that the next line turns into cells. */
import { runKind } from '../../lib/markdown/stars.ts';

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
 * Where the text ends that can be shown: before the first pipe of what may be a table's head, and of its growing rule;
 * the whole length if nothing is open. Text before that pipe is shown, so that no text disappears.
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
  const preceding = QUOTE.exec(line)?.[0].length ?? 0;
  const bare = line.slice(preceding).replace(ITEM, '');
  if (bare.startsWith('|')) return line.length > MAX_HEAD ? -1 : line.length - bare.length;
  if (line.length > MAX_BARE_HEAD) return -1;
  return withoutLiterals(line).search(/(?<!\\)\|/);
}

/** The line with other characters for code and formulas, closed or not: their pipes separate no cells in prose. */
function withoutLiterals(line: string): string {
  let code = '';
  let at = 0;
  for (const { 0: opening, index } of line.matchAll(OPENING)) {
    if (index < at) continue;
    const closing = CLOSINGS[opening] ?? opening;
    const start = line.indexOf(closing, index + opening.length);
    const end = start < 0 ? line.length : start + closing.length;
    code += line.slice(at, index) + 'x'.repeat(end - index);
    at = end;
  }
  return code + line.slice(at);
}

function cellsOf(line: string): string[] {
  const inside = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inside.split(/(?<!\\)\|/).map((cell) => cell.trim());
}

const EMPHASIS = /^(?:\*{1,3}|_{1,3}|~~)$/;

/** The text with open emphasis and code closed, and a half-written link reduced to its text. At most twice as long. */
export function closeOpenMarkup(text: string): string {
  const block = text.lastIndexOf('\n\n') + 1;
  return text.slice(0, block) + closeMarkup(openLinkAsText(text.slice(block)));
}

/** `see [the page](https://exa` becomes `see the page`. */
function openLinkAsText(text: string): string {
  const middle = text.lastIndexOf('](');
  if (middle < 0 || text.indexOf(')', middle) >= 0) return text;
  const start = text.lastIndexOf('[', middle);
  return start < 0 ? text : text.slice(0, start) + text.slice(start + 1, middle);
}

function closeMarkup(text: string): string {
  const open: string[] = [];
  let code = '';
  let opener = 0;
  for (const match of text.matchAll(/`+|\*+|_+|~~/g)) {
    const mark = match[0];
    if (mark.startsWith('`')) {
      code = code === '' ? mark : code === mark ? '' : code;
    } else if (code === '' && EMPHASIS.test(mark) && !isLiteral(text, match.index, mark)) {
      const previousChar = text.charAt(match.index - 1);
      const nextChar = text.charAt(match.index + mark.length);
      if (open.at(-1) === mark && previousChar.trim() !== '') open.pop();
      else if (nextChar.trim() !== '' && !(mark.startsWith('_') && /\w/.test(previousChar))) open.push(mark);
    }
    opener = match.index + mark.length;
  }
  const isHalfMark = opener === text.trimEnd().length && /[*_~`]$/.test(text.trimEnd());
  if (code !== '') return isHalfMark ? dropEnd(text, code) : text + code;
  const closers = open.toReversed().join('');
  return closers === '' ? text : text.trimEnd() + closers;
}

/** Stars and underscores of arithmetic, programs and file patterns. */
function isLiteral(text: string, at: number, mark: string): boolean {
  const nextChar = text.charAt(at + mark.length);
  return runKind(text, at, at + mark.length) === 'text' || (mark === '*' && /[./,)]/.test(nextChar));
}

/** Removes an opening mark that has nothing after it yet. */
function dropEnd(text: string, mark: string): string {
  const whole = text.trimEnd();
  return whole.endsWith(mark) ? whole.slice(0, -mark.length) : text + mark;
}
