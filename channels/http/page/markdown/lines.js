/** The lines of a Markdown text, and the fences of code among them. */

/** The beginning of fenced code: its fence, and what stands behind it. */
export const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;

/** Blanks and signs of list items, behind which a fence may stand. */
const BEFORE_FENCE = /^(?: |[-*+] |\d{1,9}[.)] )*/;

/**
 * Tabs become four blanks, but in code, behind the place where its fence stands: a Makefile is copied as it was written.
 * @param {string} text
 * @returns {string[]}
 */
export function linesOf(text) {
  let fence = '';
  let indent = 0;
  return text
    .replaceAll('\0', '\ufffd')
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => {
      // The list item in which the code stands may end before its fence is closed.
      if (fence !== '' && !endsItem(line, indent)) {
        if (closes(fence, line)) fence = '';
        return withBlanks(line, indent);
      }
      const plain = line.replaceAll('\t', '    ');
      indent = BEFORE_FENCE.exec(plain)?.[0].length ?? 0;
      fence = FENCE.exec(plain.slice(indent))?.[1] ?? '';
      return plain;
    });
}

/**
 * True for a line that stands before an item's text.
 * @param {string} line
 * @param {number} indent
 */
function endsItem(line, indent) {
  return indent > 0 && line.trim() !== '' && !/^(?: {2}|\t)/.test(line);
}

/**
 * A line whose tabs within the first columns are blanks.
 * @param {string} line
 * @param {number} columns
 */
function withBlanks(line, columns) {
  let start = '';
  let at = 0;
  for (; start.length < columns && /[ \t]/.test(line[at] ?? ''); at += 1)
    start += line[at] === '\t' ? '    ' : ' ';
  return start + line.slice(at);
}

/**
 * True for the line that ends the code behind a fence.
 * @param {string} fence
 * @param {string} line
 * @returns {boolean}
 */
export function closes(fence, line) {
  const bare = line.trim();
  return bare.length >= fence.length && bare === (fence[0] ?? '`').repeat(bare.length);
}
