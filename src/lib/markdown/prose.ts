/** The parts of a Markdown text outside its blocks of code. Pure. */

/**
 * A line that begins or ends a block of code, also within quotes and lists. The lookaheads keep it from trying shorter
 * fences, which takes quadratic time.
 */
const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?!`)|~{3,}(?!~))([^]*)$/;
const NEVER_ENDS = '\0';

/** The text with each run of lines outside blocks of code changed; the lines of code stay as they are. Never throws. */
export function changeProse(markdown: string, change: (prose: string) => string): string {
  const parts: string[] = [];
  let prose: string[] = [];
  let fence = NEVER_ENDS;
  const flush = (): void => {
    if (prose.length > 0) parts.push(change(prose.join('\n')));
    prose = [];
  };
  for (const line of markdown.split('\n')) {
    const [, mark = '', info = ''] = FENCE.exec(line) ?? [];
    if (fence !== NEVER_ENDS) {
      parts.push(line);
      if (mark.startsWith(fence) && info.trim() === '') fence = NEVER_ENDS;
    } else if (mark === '' || (mark.startsWith('`') && info.includes('`'))) prose.push(line);
    else {
      flush();
      parts.push(line);
      fence = mark;
    }
  }
  flush();
  return parts.join('\n');
}
