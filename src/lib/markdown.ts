/** Markdown, parsed once; channels render the tree, delivery cuts it. */
import type { Paragraph, Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';

/**
 * Markup one document may hold before it is taken as plain text. Tables and lists cost micromark about 20 µs per mark,
 * unmatched emphasis grows with the square; 2,000 marks stay under 50 ms, and 8 KiB of a real README holds about 800.
 */
export const MAX_MARKUP = 2_000;

/** Quotes and lists nested deeper than this are plain text: micromark's time and stack grow with each level. */
export const MAX_NESTING = 24;

/**
 * Raw HTML, reference definitions and footnotes are not markup in a chat: they would hide text from the reader (a
 * definition renders as nothing), and references may point out of the piece that is parsed.
 */
const OPTIONS = {
  extensions: [
    gfm(),
    {
      disable: {
        null: ['htmlFlow', 'htmlText', 'definition', 'gfmFootnoteCall', 'gfmFootnoteDefinition'],
      },
    },
  ],
  mdastExtensions: [gfmFromMarkdown()],
};

/**
 * Parses GitHub-flavoured Markdown without raw HTML, definitions and footnotes (they stay text). Any string is a
 * document; never throws. A text whose markup passes `MAX_MARKUP` or `MAX_NESTING` is given as plain paragraphs.
 */
export function parseMarkdown(text: string): Root {
  return isTame(text) ? fromMarkdown(text, OPTIONS) : plainDocument(text);
}

/** The text as plain paragraphs, separated at blank lines; nothing is read as markup. */
function plainDocument(text: string): Root {
  const children = text
    .split(/\n(?:[ \t]*\n)+/)
    .filter((block) => block.trim() !== '')
    .map((block): Paragraph => ({ type: 'paragraph', children: [{ type: 'text', value: block }] }));
  return { type: 'root', children };
}

/** Estimates in one pass over the characters whether the text is cheap enough to parse. */
function isTame(text: string): boolean {
  let markup = 0;
  let start = 0;
  while (start < text.length) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const nesting = nestingOf(text, start, end);
    if (nesting > MAX_NESTING) return false;
    markup += 1 + (nesting > 0 ? 2 : 0);
    for (let i = start; i < end; i++) if (isMark(text.charCodeAt(i))) markup++;
    if (markup > MAX_MARKUP) return false;
    start = end + 1;
  }
  return true;
}

const MARKS = new Set(Array.from('*_~`[]<>|&!\\:@-+\t', (mark) => mark.charCodeAt(0)));

function isMark(code: number): boolean {
  return code < 128 && MARKS.has(code);
}

/** How many quotes and lists a line opens, a step of indentation counted as one it is already in. */
function nestingOf(text: string, start: number, end: number): number {
  let depth = 0;
  let blanks = 0;
  let i = start;
  while (i < end && depth <= MAX_NESTING) {
    const char = text.charAt(i);
    if (char === ' ') blanks++;
    else if (char === '\t') blanks += 4;
    else {
      const width = markerWidth(text, i, end);
      if (width === 0) break;
      depth++;
      i += width - 1;
    }
    i++;
  }
  return depth === 0 ? 0 : depth + (blanks >> 2);
}

/** Length of the quote or list marker that begins at `i`, 0 when there is none. */
function markerWidth(text: string, i: number, end: number): number {
  const char = text.charAt(i);
  if (char === '>' || char === '-' || char === '*' || char === '+') return 1;
  let digits = 0;
  while (digits < 9 && i + digits < end && isDigit(text.charCodeAt(i + digits))) digits++;
  if (digits === 0) return 0;
  const dot = text.charAt(i + digits);
  return dot === '.' || dot === ')' ? digits + 1 : 0;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
