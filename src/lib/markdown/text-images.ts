/** Images in a Markdown text that are files, not addresses: `![a chart](chart.png)`. */
import type { Image, Nodes } from 'mdast';
import { fencedBlocks } from './fenced-blocks.ts';
import { parseMarkdown } from './markdown.ts';

/** An image with its position in the text. */
export interface TextImage {
  /** What to show instead of it. */
  alt: string;
  /** The file, as a path. */
  path: string;
  /** In UTF-16 units. */
  start: number;
  end: number;
}

/**
 * A piece of this size ends at the next blank line: a long text is parsed in pieces that each stay within the parser's
 * limits.
 */
const PIECE_CHARS = 2_048;

/** The images of a text whose target is a path, in order. Code contains none. Never throws. */
export function imagesIn(text: string): TextImage[] {
  if (!text.includes('![')) return [];
  const found: TextImage[] = [];
  let at = 0;
  for (const { start, end } of [...fencedBlocks(text), { start: text.length, end: text.length }]) {
    for (const piece of pieces(text.slice(at, start))) {
      if (piece.includes('![')) collect(parseMarkdown(piece), at, found);
      at += piece.length;
    }
    at = end;
  }
  return found;
}

function* pieces(text: string): Generator<string> {
  let rest = text;
  while (rest.length > PIECE_CHARS) {
    const gap = rest.indexOf('\n\n', PIECE_CHARS);
    if (gap < 0) break;
    yield rest.slice(0, gap + 2);
    rest = rest.slice(gap + 2);
  }
  yield rest;
}

/** Without recursion: the text determines the nesting depth. */
function collect(root: Nodes, offset: number, found: TextImage[]): void {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if ('children' in node) open.push(...node.children.toReversed());
    const image = node.type === 'image' ? imageAt(node, offset) : undefined;
    if (image !== undefined) found.push(image);
  }
}

function imageAt({ url, alt, position }: Image, offset: number): TextImage | undefined {
  const [start, end] = [position?.start.offset, position?.end.offset];
  const path = pathOf(url);
  if (path === undefined || start === undefined || end === undefined) return undefined;
  return { alt: alt ?? '', path, start: offset + start, end: offset + end };
}

/** The path that a target names; undefined for an address. */
function pathOf(target: string): string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/|#|$)/i.test(target)) return undefined;
  try {
    return decodeURIComponent(target);
  } catch {
    // A literal percent sign in the name.
    return target;
  }
}
