/**
 * Runs of `*` and `_` that their writers mean otherwise than CommonMark: arithmetic, file patterns and names of programs
 * are text, and bold may end behind the punctuation of a sentence. Pure.
 */

/** What a run of marks is besides what CommonMark (and the rule for CJK) says. */
export type RunKind = 'text' | 'closes' | 'usual';

/** Punctuation behind which `**` closes even where a letter follows: models write `**Note:**text`, above all in Thai. */
const ENDING = /[.,:;!?…%"'”’»؟،؛।]/u;
const NAME = /[a-z]/;

/** The run of marks from `start` to `end`, whose characters are all the same. */
export function runKind(text: string, start: number, end: number): RunKind {
  const [previous, following, next] = [text.charAt(start - 1), text.charAt(end), text.charAt(end + 1)];
  if (text.charAt(start) === '_') return end - start === 2 && isInName(text, start, end) ? 'text' : 'usual';
  if (isProduct(previous, following) && end - start === 1) return 'text';
  if (previous === '/' && (following === '/' || (following === '.' && /[A-Za-z0-9]/.test(next))))
    return 'text';
  return end - start > 1 && ENDING.test(previous) ? 'closes' : 'usual';
}

/** `2*3`, `2*x`, `x*2`. */
function isProduct(previous: string, following: string): boolean {
  return (
    (/[0-9]/.test(previous) && /[A-Za-z0-9]/.test(following)) ||
    (/[A-Za-z]/.test(previous) && /[0-9]/.test(following))
  );
}

/** `__init__.py` and `__call__()`: the underscores of Python's names. */
function isInName(text: string, start: number, end: number): boolean {
  const isBehind = (at: number): boolean =>
    text.charAt(at) === '(' || (text.charAt(at) === '.' && NAME.test(text.charAt(at + 1)));
  if (isBehind(end)) {
    const from = beginOfName(text, start);
    return text.startsWith('__', from - 2) && from < start;
  }
  let at = end;
  while (at - end < MAX_NAME && NAME.test(text.charAt(at))) at += 1;
  return at > end && text.startsWith('__', at) && isBehind(at + 2);
}

/** Longest name between the underscores of Python that is seen as such. */
const MAX_NAME = 40;

function beginOfName(text: string, end: number): number {
  let from = end;
  while (end - from < MAX_NAME && NAME.test(text.charAt(from - 1))) from -= 1;
  return from;
}
