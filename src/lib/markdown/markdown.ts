/** Markdown, parsed once; channels render the tree, delivery cuts it. */
import type { Nodes, Paragraph, Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { dialectOf } from './dialect.ts';
import { readTags } from './read-tags.ts';

/**
 * Markup one document may contain before it is treated as plain text. Tables and lists cost micromark about 20 µs per
 * mark, unmatched emphasis grows quadratically; 1,600 marks stay under 50 ms on a slow machine, and 8 KiB of a real
 * README holds about 800. A bare address costs three marks.
 */
export const MAX_MARKUP = 1_600;

/** Longest text that is parsed, in UTF-16 units: plain letters cost about 1 µs each. Delivery parses at most 8,192 at a time. */
export const MAX_PARSED = 32_768;

/** Quotes and lists nested deeper than this are plain text: micromark's time and stack grow with each level. */
export const MAX_NESTING = 24;

const MDAST_EXTENSIONS = [gfmFromMarkdown()];

/**
 * Parses GitHub-flavored Markdown as models write it (see `dialect.ts`, `stars.ts` and `tags.ts`), without raw HTML and
 * definitions (they stay text). Any string is a document; never throws. A text whose markup passes `MAX_MARKUP` or
 * `MAX_NESTING`, or that is longer than `MAX_PARSED`, is returned as plain paragraphs.
 */
export function parseMarkdown(text: string): Root {
  if (!isTame(text)) return plainDocument(text);
  const root = fromMarkdown(text, { extensions: dialectOf(text), mdastExtensions: MDAST_EXTENSIONS });
  readTags(root, text);
  return root;
}

/** All text below a node, without recursion. */
export function textBelow(node: Nodes): string {
  const left: Nodes[] = [node];
  const found: string[] = [];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if ('value' in next) found.push(next.value);
    if ('children' in next) left.push(...next.children.toReversed());
  }
  return found.join(' ');
}

/** The text as plain paragraphs, separated at blank lines; nothing is read as markup. */
function plainDocument(text: string): Root {
  const children = text
    .split(/\n(?:[ \t]*\n)+/)
    .filter((block) => block.trim() !== '')
    .map((block): Paragraph => ({ type: 'paragraph', children: [{ type: 'text', value: block }] }));
  return { type: 'root', children };
}

/** Estimates in one pass over the lines whether the text is cheap enough to parse. */
function isTame(text: string): boolean {
  if (text.length > MAX_PARSED) return false;
  const fences = new Fences();
  let markup = 0;
  for (const line of text.split(/\r\n?|\n/)) {
    markup++;
    if (!fences.hold(line)) {
      const nesting = nestingOf(line);
      if (nesting > MAX_NESTING) return false;
      if (nesting > 0) markup += 2;
      for (let i = 0; i < line.length; i++) markup += marksAt(line, i);
    }
    if (markup > MAX_MARKUP) return false;
  }
  return true;
}

/** The first line of a fenced block. The lookahead keeps it from trying shorter fences, which takes quadratic time. */
const FENCE = /^( {0,3})(`{3,}(?!`)|~{3,}(?!~))(.*)$/;

/**
 * Tracks the code blocks at the margin, in which characters are not markup: only the line itself costs the parser
 * anything.
 */
class Fences {
  /** The fence of the block that is open now. */
  #open: string | undefined;
  /**
   * False once it is unclear whether a line opens a block: from then on every line counts, which is merely
   * conservative.
   */
  #certain = true;

  /** True for a line that is certainly code; called line by line. */
  hold(line: string): boolean {
    if (this.#open !== undefined) {
      const bare = line.trim();
      const closes = /^ {0,3}\S/.test(line) && bare === this.#open.charAt(0).repeat(bare.length);
      if (!closes || bare.length < this.#open.length) return true;
      this.#open = undefined;
      return false;
    }
    const [, indent, fence = '', info = ''] = FENCE.exec(line) ?? [];
    if (fence === '' || (fence.startsWith('`') && info.includes('`'))) return false;
    // An indented fence may belong to a list item, and end with it.
    if (indent !== '') this.#certain = false;
    if (this.#certain) this.#open = fence;
    return false;
  }
}

const [AT, COLON, SLASH] = ['@', ':', '/'].map((mark) => mark.charCodeAt(0));
const MARKS = new Set(Array.from('*_~`[]<>|&!\\:@-+\t', (mark) => mark.charCodeAt(0)));

/** What the character at a place counts: a bare address (`a@b.c`, `http://a`) is scanned three times. */
function marksAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 128 || !MARKS.has(code)) return 0;
  const isAddress = code === AT || (code === COLON && text.charCodeAt(at + 1) === SLASH);
  return isAddress ? 3 : 1;
}

/** How many quotes and lists a line opens, each step of indentation counted as one it is already in. */
function nestingOf(line: string): number {
  let depth = 0;
  let blanks = 0;
  for (let i = 0; i < line.length && depth <= MAX_NESTING; i++) {
    const char = line.charAt(i);
    if (char === ' ') blanks++;
    else if (char === '\t') blanks += 4;
    else {
      const width = markerWidth(line, i);
      if (width === 0) break;
      depth++;
      i += width - 1;
    }
  }
  return depth === 0 ? 0 : depth + (blanks >> 2);
}

/**
 * Length of the quote or list marker that begins at `at`, 0 when there is none; a list marker precedes a blank or the
 * end.
 */
function markerWidth(line: string, at: number): number {
  if (line.charAt(at) === '>') return 1;
  const marker = /(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/y;
  marker.lastIndex = at;
  return marker.exec(line)?.[0].length ?? 0;
}
