/** Markdown, parsed once; channels render the tree, delivery cuts it. */
import type { Blockquote, Nodes, Paragraph, PhrasingContent, Root, RootContent } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { dialectOf } from './dialect.ts';
import {
  calloutOf,
  isLineBreak,
  loweredOrMarked,
  pairTags,
  raisedOrMarked,
  type TagKind,
  type TagReader,
} from './tags.ts';

/**
 * Markup in one document before it is treated as plain text. Tables and lists cost micromark about 20 µs per mark,
 * unmatched emphasis grows quadratically; 1,600 marks stay under 50 ms on a slow machine, and 8 KiB of a real README
 * holds about 800. A bare address costs three marks.
 */
export const MAX_MARKUP = 1_600;

/** Longest text that is parsed, in UTF-16 units: plain letters cost about 1 µs each. Delivery parses at most 8,192 at a time. */
export const MAX_PARSED = 32_768;

/** Quotes and lists nested deeper than this are plain text: micromark's time and stack grow with each level. */
export const MAX_NESTING = 24;

const MDAST_EXTENSIONS = [gfmFromMarkdown()];

/**
 * Parses GitHub-flavored Markdown as models write it (`dialect.ts`, `stars.ts`, `tags.ts`); raw HTML and definitions stay
 * text. A text beyond `MAX_MARKUP`, `MAX_NESTING` or `MAX_PARSED` becomes plain paragraphs. Never throws.
 */
export function parseMarkdown(text: string): Root {
  if (!isTame(text)) return plainDocument(text);
  const root = fromMarkdown(text, { extensions: dialectOf(text), mdastExtensions: MDAST_EXTENSIONS });
  readTags(root, text);
  return root;
}

/** All text below a node, without recursion. */
export function textBelow(node: Nodes, between = ' '): string {
  const stack: Nodes[] = [node];
  const texts: string[] = [];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if ('value' in next) texts.push(next.value);
    if ('children' in next) stack.push(...next.children.toReversed());
  }
  return texts.join(between);
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

/** Tracks code blocks at the margin, in which characters are not markup. */
class Fences {
  /** The fence of the block that is open now. */
  #open: string | undefined;
  /** False once it is unclear whether a line opens a block: from then on every line counts. */
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

/** Length of the quote or list marker at `at`, 0 if there is none; a blank or the end follows a list marker. */
function markerWidth(line: string, at: number): number {
  if (line.charAt(at) === '>') return 1;
  const marker = /(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/y;
  marker.lastIndex = at;
  return marker.exec(line)?.[0].length ?? 0;
}

/** A text without any of these has no tags, footnotes and callouts. */
const MAY_HOLD = /<[/a-z]|\[\^|\[!/i;

const READER: TagReader<RootContent> = {
  tagOf: (node) => (node.type === 'html' ? node.value : undefined),
  text: (value) => ({ type: 'text', value }),
  wrap: (kind, inside) => wrap(kind, inside.filter(isPhrase)),
};

/** Changes a tree, parsed from `text`, in place; without recursion, because the text determines its depth. */
export function readTags(root: Root, text: string): void {
  if (!MAY_HOLD.test(text)) return;
  const parents: (Root | Extract<RootContent, { children: unknown }>)[] = [root];
  for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
    if (parent.type === 'blockquote') readCallout(parent, text);
    for (const child of parent.children) if ('children' in child) parents.push(child);
    if (parent.children.some(({ type }) => type === 'html'))
      Object.assign(parent, {
        children: joinedTexts(pairTags(parent.children.flatMap(withoutSingle), READER)),
      });
  }
}

/** Line breaks and footnotes need no partner. A raised number behind another number would be a power. */
function withoutSingle(node: RootContent): RootContent[] {
  if (node.type !== 'html') return [node];
  if (isLineBreak(node.value)) return [{ type: 'break' }];
  const number = /\d+/.exec(node.value)?.[0];
  return number === undefined ? [node] : [{ type: 'text', value: `[${number}]` }];
}

function isPhrase(node: RootContent): node is PhrasingContent {
  return !/^(?:paragraph|heading|list|listItem|blockquote|code|table|tableRow|tableCell|thematicBreak)$/.test(
    node.type,
  );
}

function wrap(kind: TagKind, children: PhrasingContent[]): RootContent[] {
  switch (kind) {
    case 'strong':
    case 'emphasis':
    case 'delete':
      return children.length === 0 ? [] : [{ type: kind, children }];
    case 'code': {
      const value = children.map(plainOf).join('');
      return value === '' ? [] : [{ type: 'inlineCode', value }];
    }
    case 'raised':
    case 'lowered': {
      const change = kind === 'raised' ? raisedOrMarked : loweredOrMarked;
      const value = children.map(plainOf).join('');
      if (children.every(({ type }) => type === 'text'))
        return value === '' ? [] : [{ type: 'text', value: change(value) }];
      const sign = kind === 'raised' ? '^' : '_';
      return [{ type: 'text', value: `${sign}(` }, ...children, { type: 'text', value: ')' }];
    }
    default:
      return kind satisfies never;
  }
}

function plainOf(node: PhrasingContent): string {
  if (node.type === 'break') return '\n';
  if ('value' in node) return node.value;
  return 'children' in node ? node.children.map(plainOf).join('') : '';
}

/** `> [!NOTE]` becomes the first words of its quote, in bold. An escaped bracket begins none. */
function readCallout(quote: Blockquote, text: string): void {
  const [paragraph] = quote.children;
  const first = paragraph?.type === 'paragraph' ? paragraph.children[0] : undefined;
  if (paragraph?.type !== 'paragraph' || first?.type !== 'text') return;
  const callout = calloutOf(first.value);
  if (callout === undefined || text.charAt(first.position?.start.offset ?? -1) !== '[') return;
  const rest = first.value.slice(callout.length);
  const between = rest === '' || rest.startsWith('\n') ? '' : ': ';
  const heading: PhrasingContent = { type: 'strong', children: [{ type: 'text', value: callout.heading }] };
  paragraph.children.splice(0, 1, heading, { type: 'text', value: between + rest });
}

/** Neighbouring texts as one, like the parser's own. */
function joinedTexts(nodes: readonly RootContent[]): RootContent[] {
  const merged: RootContent[] = [];
  for (const node of nodes) {
    const last = merged.at(-1);
    if (node.type === 'text' && last?.type === 'text')
      merged[merged.length - 1] = { type: 'text', value: last.value + node.value };
    else merged.push(node);
  }
  return merged;
}
