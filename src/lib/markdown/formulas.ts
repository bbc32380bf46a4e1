/** LaTeX formulas in Markdown: where they are, and how networks that typeset them take them out. Pure. */
import { changeProse } from './references.ts';

/** Private-use characters around the number of a formula. */
const MARKS = ['\uE010', '\uE011'] as const;
const MARK = /\uE010(\d+)\uE011/;
/** Most texts hold none of these, and need not be read. */
const MAY_HOLD = /\\[([]|\$[^\s$]|\$\$/;

/** A formula that was extracted from a text. */
export interface Formula {
  source: string;
  /** It was enclosed in `\[…\]` or `$$…$$`. */
  isDisplayed: boolean;
}

/** Markdown with its formulas extracted, for networks that render LaTeX; see `splitAtFormulas`. Never throws. */
export function takeOutFormulas(markdown: string): { markdown: string; formulas: Formula[] } {
  const formulas: Formula[] = [];
  if (MARKS.some((mark) => markdown.includes(mark))) return { markdown, formulas };
  const without = replaceFormulas(markdown, ({ source, isDisplayed }) => {
    formulas.push({ source: source.trim(), isDisplayed });
    return `${MARKS[0]}${formulas.length - 1}${MARKS[1]}`;
  });
  return { markdown: without, formulas };
}

/** A text with its formulas in their places. */
export function splitAtFormulas(text: string, formulas: readonly Formula[]): (string | Formula)[] {
  if (formulas.length === 0) return [text];
  // Every second element is the number of a formula.
  return text
    .split(MARK)
    .map((piece, index) => (index % 2 === 0 ? piece : (formulas[Number(piece)] ?? piece)))
    .filter((piece) => piece !== '');
}

/**
 * Markdown with each of its formulas replaced by what `replace` makes of it; `written` is the formula with its
 * delimiters. Code stays unchanged. Never throws.
 */
export function replaceFormulas(
  markdown: string,
  replace: (formula: Formula, written: string) => string,
): string {
  if (!MAY_HOLD.test(markdown)) return markdown;
  return changeProse(markdown, (prose) => {
    let read = '';
    let from = 0;
    for (const { start, end, ...formula } of formulasIn(prose)) {
      read += prose.slice(from, start) + replace(formula, prose.slice(start, end));
      from = end;
    }
    return from === 0 ? prose : read + prose.slice(from);
  });
}

/** A formula, by its position in the text in UTF-16 units. */
interface FoundFormula {
  start: number;
  end: number;
  /** What its delimiters enclose. */
  source: string;
  /** It was enclosed in `\[…\]` or `$$…$$`. */
  isDisplayed: boolean;
}

/** Longest formula that is read, in UTF-16 units: derivations of a page have 2,000. */
export const MAX_FORMULA = 4_000;
/** Longest code that is seen as such, in UTF-16 units. */
const MAX_CODE = 1_000;

/**
 * Code comes first, in which nothing is a formula; no formula starts inside another. Single dollars follow Pandoc's rule
 * (`tex_math_dollars`): no blank inside them, no digit behind the closing one.
 */
const PARTS = new RegExp(
  String.raw`(?<!\`)(?<code>\`+)(?!\`)[^\`](?:[^]{0,${MAX_CODE}}?[^\`])??\k<code>(?!\`)|(?<!\\)\\\((?<inline>(?:(?!\\\()[^]){1,${MAX_FORMULA}}?)\\\)|(?<!\\)\\\[(?<display>(?:(?!\\\[)[^]){1,${MAX_FORMULA}}?)\\\]|(?<![\\$])\$\$(?<dollars>[^$]{1,${MAX_FORMULA}})\$\$(?!\$)|(?<![\\$])\$(?![\s$])(?<dollar>(?:\\[^\n]|[^$\\\n]){1,${MAX_FORMULA}})(?<!\s)\$(?![\d$])`,
  'g',
);

/** An operator, or only one letter: `\(see below\)` is not a formula. */
const FORMULA = /[\\^_={}+*/<>|\d-]|^\s*\p{L}\s*$/u;

/** What only LaTeX has: a command, a power, an index; not `\d`, `long_name` or `3_000`. */
const SIGN = /\\(?:[A-Za-z]{2}|[{}|,;!\\])|\^|(?<![A-Za-z]{2})(?<=[A-Za-z)}\]|])_/;

/** A command of LaTeX: no program, price or address has two letters behind a backslash and dollars around. */
const COMMAND = /\\[A-Za-z]{2}/;

const FUNCTIONS = /(?<![A-Za-z])(?:sin|cos|tan|log|ln|exp|lim|max|min|gcd|det|mod)(?![A-Za-z])/g;

const NUMBERS = /^[\d\s,;–-]+$/;

/** Characters around a formula that are read to see whether anything else is on its lines. */
const MARGIN = 40;

/** The formulas of a text without blocks of code, in order. Never throws. */
function formulasIn(text: string): FoundFormula[] {
  const formulas: FoundFormula[] = [];
  PARTS.lastIndex = 0;
  for (let match = PARTS.exec(text); match !== null; match = PARTS.exec(text)) {
    const { code, inline, display, dollars, dollar } = match.groups ?? {};
    if (code !== undefined) continue;
    const source = inline ?? display ?? dollars ?? dollar ?? '';
    const [start, end] = [match.index, match.index + match[0].length];
    const isFormula =
      dollar !== undefined
        ? isInDollars(dollar, text.charAt(start - 1), text.slice(end, end + 3))
        : inline !== undefined
          ? isMath(inline) || inline.includes('=') || (FORMULA.test(inline) && !hasWord(inline))
          : isMath(source) ||
            (FORMULA.test(source) && !NUMBERS.test(source) && standsAlone(text, start, end));
    if (isFormula && !/\n\s*\n/.test(source))
      formulas.push({ start, end, source, isDisplayed: display !== undefined || dollars !== undefined });
    // What closes no formula may open one.
    else PARTS.lastIndex = dollar === undefined ? start + 2 : end - 1;
  }
  return formulas;
}

/** Only blanks, the marks of quotes and lists, and the punctuation of a sentence share its lines. */
function standsAlone(text: string, start: number, end: number): boolean {
  const preceding = text.slice(Math.max(0, start - MARGIN), start);
  const behind = text.slice(end, end + MARGIN);
  return (
    /(?:^|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?$/.test(preceding) &&
    /^[ \t.,;:!?。，]*(?:\n|$)/.test(behind)
  );
}

/** It has a sign of LaTeX, or an equals sign between short names: `[--name=value]` is none. */
function isMath(source: string): boolean {
  return SIGN.test(source) || (source.includes('=') && !/[A-Za-z]{4}/.test(source));
}

function hasWord(source: string): boolean {
  return /\p{L}{2}/u.test(source.replaceAll(FUNCTIONS, ''));
}

/** Whether text between single dollars is a formula, given the character before it and those behind it. */
function isInDollars(source: string, preceding: string, behind: string): boolean {
  if (!isBalanced(source)) return false;
  if (COMMAND.test(source)) return true;
  // Behind letters and digits a dollar is money or the end of a pattern, and before them a variable.
  if (
    /[A-Za-z0-9_]/.test(preceding) ||
    !/^(?:[^A-Za-z0-9_{(]|(?:th|st|nd|rd|s)(?![A-Za-z0-9])|$)/.test(behind)
  )
    return false;
  if (/^[,;.:!?)/&{]|[=+\-*/<>,(|:&]$|["`]|[A-Za-z]{4}/.test(source)) return false;
  // An amount, then words, up to another one: "$3 = 4 US$".
  if (/^\d/.test(source) && hasWord(source)) return false;
  return FORMULA.test(source) && (isMath(source) || isShort(source));
}

/** Single letters with what stands between them in mathematics. */
function isShort(source: string): boolean {
  return /^[\p{L}\d\s+\-*/<>()[\],.'|]+$/u.test(source) && /\p{L}/u.test(source) && !hasWord(source);
}

/** Every bracket and every bar has its partner; those of `\left` and `\right` may differ. */
function isBalanced(source: string): boolean {
  const bare = source.replaceAll(/\\(?:(?:left|right|[bB]igg?[lr]?)\s*[.()[\]|]|\|)/g, '');
  const count = (pattern: RegExp): number => bare.match(pattern)?.length ?? 0;
  return count(/\{/g) === count(/\}/g) && count(/[([]/g) === count(/[)\]]/g) && count(/\|/g) % 2 === 0;
}
