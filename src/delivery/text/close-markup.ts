/** Makes the unfinished end of a growing text readable: closes open markup, and removes marks with nothing after them. */
import { runKind } from '../../lib/markdown/stars.ts';

const EMPHASIS = /^(?:\*{1,3}|_{1,3}|~~)$/;

/**
 * The text with open emphasis and code closed, and a half-written link reduced to its text. Never longer than twice
 * the text.
 */
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
      const before = text.charAt(match.index - 1);
      const after = text.charAt(match.index + mark.length);
      if (open.at(-1) === mark && before.trim() !== '') open.pop();
      else if (after.trim() !== '' && !(mark.startsWith('_') && /\w/.test(before))) open.push(mark);
    }
    opener = match.index + mark.length;
  }
  const begun = opener === text.trimEnd().length && /[*_~`]$/.test(text.trimEnd());
  if (code !== '') return begun ? dropEnd(text, code) : text + code;
  const closers = open.toReversed().join('');
  return closers === '' ? text : text.trimEnd() + closers;
}

/** Stars and underscores of arithmetic, programs and file patterns. */
function isLiteral(text: string, at: number, mark: string): boolean {
  const after = text.charAt(at + mark.length);
  return runKind(text, at, at + mark.length) === 'text' || (mark === '*' && /[./,)]/.test(after));
}

/** Removes an opening mark that has nothing after it yet. */
function dropEnd(text: string, mark: string): string {
  const whole = text.trimEnd();
  return whole.endsWith(mark) ? whole.slice(0, -mark.length) : text + mark;
}
