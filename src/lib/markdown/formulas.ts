/** Where a Markdown text holds LaTeX formulas, and where it holds money, citations, patterns and variables instead. Pure. */

/** A formula, by its position in the text in UTF-16 units. */
export interface FoundFormula {
  start: number;
  end: number;
  /** What its delimiters enclose. */
  source: string;
  /** It was enclosed in `\[…\]` or `$$…$$`. */
  isDisplayed: boolean;
}

/** Longest formula that is read, and longest code that is seen as such, in UTF-16 units. */
const MAX_FORMULA = 1_000;

/**
 * Code comes first, in which nothing is a formula; no formula starts inside another, so that each is scanned once. One
 * in single dollars follows Pandoc's rule (`tex_math_dollars`): no blank behind the opening and before the closing
 * dollar, no digit behind that.
 */
const PARTS = new RegExp(
  String.raw`(?<!\`)(?<code>\`+)(?!\`)[^\`](?:[^]{0,${MAX_FORMULA}}?[^\`])??\k<code>(?!\`)|(?<!\\)\\\((?<inline>(?:(?!\\\()[^]){1,${MAX_FORMULA}}?)\\\)|(?<!\\)\\\[(?<display>(?:(?!\\\[)[^]){1,${MAX_FORMULA}}?)\\\]|(?<![\\$])\$\$(?<dollars>[^$]{1,${MAX_FORMULA}})\$\$(?!\$)|(?<![\\$])\$(?![\s$])(?<dollar>(?:\\[^\n]|[^$\\\n]){1,${MAX_FORMULA}})(?<!\s)\$(?![\d$])`,
  'g',
);

/** An operator, or only one letter: `\(see below\)` is not a formula. */
const FORMULA = /[\\^_={}+*/<>|\d-]|^\s*\p{L}\s*$/u;
/**
 * What only LaTeX has: a command, a power, an index. `\d` is a pattern, `long_name` a variable of a program, and
 * `3_000` a number.
 */
const SIGN = /\\(?:[A-Za-z]{2}|[{}|,;!\\])|\^|(?<![A-Za-z]{2})(?<=[A-Za-z)}\]|])_/;
/** A command of LaTeX: no program, price or address has two letters behind a backslash and dollars around. */
const COMMAND = /\\[A-Za-z]{2}/;
const FUNCTIONS = /(?<![A-Za-z])(?:sin|cos|tan|log|ln|exp|lim|max|min|gcd|det|mod)(?![A-Za-z])/g;
const NUMBERS = /^[\d\s,;–-]+$/;

/** The formulas of a text without blocks of code, in order. Never throws. */
export function formulasIn(text: string): FoundFormula[] {
  const formulas: FoundFormula[] = [];
  PARTS.lastIndex = 0;
  for (let found = PARTS.exec(text); found !== null; found = PARTS.exec(text)) {
    const { code, inline, display, dollars, dollar } = found.groups ?? {};
    if (code !== undefined) continue;
    const source = inline ?? display ?? dollars ?? dollar ?? '';
    const [start, end] = [found.index, found.index + found[0].length];
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

/** Characters around a formula that are read to see whether anything else is on its lines. */
const MARGIN = 40;

/** Only blanks, the marks of quotes and lists, and the punctuation of a sentence share its lines. */
function standsAlone(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - MARGIN), start);
  const behind = text.slice(end, end + MARGIN);
  return (
    /(?:^|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?$/.test(before) &&
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
function isInDollars(source: string, before: string, behind: string): boolean {
  if (!isBalanced(source)) return false;
  if (COMMAND.test(source)) return true;
  // Behind letters and digits a dollar is money or the end of a pattern, and before them a variable.
  if (/[A-Za-z0-9_]/.test(before) || !/^(?:[^A-Za-z0-9_{(]|(?:th|st|nd|rd|s)(?![A-Za-z0-9])|$)/.test(behind))
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
