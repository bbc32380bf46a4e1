/**
 * Cuts a run of blocks where a message is full: never inside a character, preferably after a block, a line, a
 * sentence, a word.
 */
import type { Root, RootContent } from 'mdast';
import type { Rendered } from '../../protocol/channel.ts';
import { graphemesOf } from '../../lib/graphemes.ts';
import { openingsLeft, withoutEmpty } from '../../lib/markdown/details.ts';
import { flatSize, flatText, sliceBlocks, withChildren } from './slice.ts';

/** A channel's rendering of a document, and the maximum length of one message. */
export interface RenderTarget {
  render(doc: Root): Rendered;
  /** In the units of `Rendered.length`. */
  maxLength: number;
}

/** A full message and the blocks that did not fit. */
export interface Cut {
  chunk: Rendered;
  rest: RootContent[];
}

/** A message is at least this full: a better boundary is not searched for any further back. */
const LEAST_FILL = 0.5;

/** Longest summary of details that is repeated after a cut, in UTF-16 units. */
const MAX_SUMMARY = 100;

/** Longest cluster (an emoji family, letters with many marks) that is kept whole. */
const CLUSTER_WINDOW = 64;

/**
 * The first message of blocks that do not fit in one. Depends only on what comes before the cut, so a growing text
 * keeps its cuts. A link whose target alone is too long for a message keeps only its text.
 */
export function cutChunk(blocks: RootContent[], target: RenderTarget): Cut {
  const fitting = longestFit(blocks, target);
  if (fitting > 0) return cutAt(blocks, target, fitting);
  const bare = blocks.flatMap(withoutTargets);
  return cutAt(bare, target, Math.max(1, longestFit(bare, target)));
}

export function rootOf(blocks: RootContent[]): Root {
  return { type: 'root', children: blocks };
}

/** How much of the flat text fits if it may be cut anywhere. */
function longestFit(blocks: RootContent[], target: RenderTarget): number {
  const fits = (end: number) => target.render(rootOf(sliceBlocks(blocks, 0, end))).length <= target.maxLength;
  const size = flatSize(rootOf(blocks));
  let low = 0;
  let high = Math.min(size, target.maxLength + 1);
  if (fits(high)) {
    low = high;
    high = Math.min(size, target.maxLength * 4);
  }
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Cuts at the best boundary that is not past `most`, and at which the rendered result still fits. */
function cutAt(blocks: RootContent[], target: RenderTarget, most: number): Cut {
  const text = flatText(rootOf(blocks));
  for (let limit = most; ; limit = Math.floor(limit * 0.9)) {
    const end = boundary(text, limit);
    const chunk = target.render(rootOf(sliceBlocks(blocks, 0, end)));
    if (chunk.length <= target.maxLength || limit <= 1) {
      const rest = sliceBlocks(blocks, pastGap(text, end), text.length);
      return { chunk, rest: reopened(blocks, sliceBlocks(blocks, 0, end), rest, target.maxLength) };
    }
  }
}

/**
 * What follows a cut, with the details that contain the cut opened again: a message that lacks their end folds
 * everything that is left of it. Nothing is opened if the openings could fill a message.
 */
function reopened(
  blocks: RootContent[],
  before: RootContent[],
  rest: RootContent[],
  maxLength: number,
): RootContent[] {
  const { openings, nodes } = withoutEmpty(openingsLeft(before, MAX_SUMMARY), rest);
  if (nodes.length === 0) return [];
  const all = [...openings, ...nodes];
  const isShorter = flatSize(rootOf(all)) < flatSize(rootOf(blocks));
  return isShorter && flatSize(rootOf(openings)) <= maxLength / 4 ? all : rest;
}

/** The best place for a cut in the last half before `most`. */
function boundary(text: string, most: number): number {
  if (most >= text.length) return text.length;
  const least = Math.floor(most * LEAST_FILL);
  for (const gap of ['\n\n', '\n']) {
    const end = text.lastIndexOf(gap, most);
    if (end > least) return end;
  }
  for (let end = most; end > least; end--) {
    if (/\s/.test(text.charAt(end)) && /[.!?…]/.test(text.charAt(end - 1))) return end;
    if (/[。！？]/.test(text.charAt(end - 1))) return end;
  }
  const space = text.lastIndexOf(' ', most);
  return space > least ? space : clusterStart(text, most);
}

/** The start of the character (as a reader counts them) that contains `at`. */
function clusterStart(text: string, at: number): number {
  const from = Math.max(0, at - CLUSTER_WINDOW);
  const start = graphemesOf(text.slice(from, at + CLUSTER_WINDOW)).containing(at - from)?.index ?? at - from;
  if (start > 0) return from + start;
  const low = text.charCodeAt(at);
  return Math.max(1, low >= 0xdc00 && low <= 0xdfff ? at - 1 : at);
}

/** Where the text continues after a cut: past the line breaks or the spaces at the cut, never past indentation. */
function pastGap(text: string, end: number): number {
  const gap = text.charAt(end) === ' ' ? / *\n*/y : /[\n\t\u2063]*/y;
  gap.lastIndex = end;
  return end + (gap.exec(text)?.[0].length ?? 0);
}

/** Links and images reduced to their text. */
function withoutTargets(node: RootContent): RootContent[] {
  if (node.type === 'link') return node.children.flatMap(withoutTargets);
  if (node.type === 'image') return [{ type: 'text', value: node.alt || '[image]' }];
  return 'children' in node ? [withChildren(node, node.children.flatMap(withoutTargets))] : [node];
}
