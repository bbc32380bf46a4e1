/** Cuts blocks where a message is full: never in a character, preferably after a block, line, sentence or word. */
import type { List, ListItem, Nodes, Parents, Root, RootContent, Table } from 'mdast';
import type { Channel, Rendered } from '../../protocol/channel.ts';
import { graphemesOf } from '../../lib/text.ts';
import { openingsLeft, withoutEmpty } from '../../lib/markdown/details.ts';

/** A channel's rendering of a document, and the maximum length of one message. */
export interface RenderTarget {
  render(doc: Root): Rendered;
  /** In the units of `Rendered.length`. */
  maxLength: number;
}

/** How a channel shows one message. */
export function targetOf(channel: Channel): RenderTarget {
  return { render: (doc) => channel.render(doc), maxLength: channel.capabilities.maxLength };
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
 * The first message of blocks that do not fit in one. It depends only on what comes before the cut, so a growing text
 * keeps its cuts. A link whose target is too long for a message keeps only its text.
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
 * What follows a cut, with the open details opened again; without their end a message folds all that is left. Nothing
 * is opened if the openings could fill a message.
 */
function reopened(
  blocks: RootContent[],
  front: RootContent[],
  rest: RootContent[],
  maxLength: number,
): RootContent[] {
  const { openings, nodes } = withoutEmpty(openingsLeft(front, MAX_SUMMARY), rest);
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

function withoutTargets(node: RootContent): RootContent[] {
  if (node.type === 'link') return node.children.flatMap(withoutTargets);
  if (node.type === 'image') return [{ type: 'text', value: node.alt || '[image]' }];
  return 'children' in node ? [withChildren(node, node.children.flatMap(withoutTargets))] : [node];
}

/** Separator after a heading and a table's header, where no cut is allowed: it would leave them without their content. */
const GLUE = '\u2063';

const sizes = new WeakMap<Nodes, number>();

interface Span {
  child: RootContent;
  index: number;
  from: number;
  to: number;
}

/** The text of a node in reading order; blocks are separated by a blank line, items, rows and lines by a newline. */
function flatText(node: Nodes): string {
  if ('value' in node) return node.value;
  if (!('children' in node)) return atomText(node);
  let text = '';
  node.children.forEach((child, index) => {
    text += (index === 0 ? '' : separator(node, index)) + flatText(child);
  });
  return text;
}

/** Length of `flatText`, cached: trees never change once created. */
function flatSize(node: Nodes): number {
  const cachedSize = sizes.get(node);
  if (cachedSize !== undefined) return cachedSize;
  const size = measure(node);
  sizes.set(node, size);
  return size;
}

function measure(node: Nodes): number {
  if ('value' in node) return node.value.length;
  if (!('children' in node)) return atomText(node).length;
  return node.children.reduce(
    (sum, child, index) => sum + (index === 0 ? 0 : separator(node, index).length) + flatSize(child),
    0,
  );
}

/** The text of a node that has no text of its own: it has a length, so that a cut falls before or after it. */
function atomText(node: Nodes): string {
  if (node.type === 'break') return '\n';
  if (node.type === 'image' && node.alt) return node.alt;
  return '\ufffc';
}

function separator(parent: Parents, index: number): string {
  switch (parent.type) {
    case 'root':
    case 'blockquote':
      return parent.children[index - 1]?.type === 'heading' ? GLUE : '\n\n';
    case 'table':
      return index === 1 ? GLUE : '\n';
    case 'list':
    case 'listItem':
      return '\n';
    case 'tableRow':
      return '\t';
    default:
      return '';
  }
}

/**
 * The part of a tree between two offsets of its flat text, as whole nodes. A later piece of a table repeats its header,
 * one of an ordered list goes on numbering, one of a list item has no marker.
 */
function slice(node: RootContent, from: number, to: number): RootContent[] {
  const size = flatSize(node);
  if (from <= 0 && to >= size) return [node];
  if ('value' in node) {
    const value = node.value.slice(Math.max(0, from), Math.max(0, to));
    return value === '' ? [] : [{ ...node, value }];
  }
  if (!('children' in node)) return from <= 0 && to > 0 ? [node] : [];
  if (node.type === 'list') return sliceList(node, from, to);
  if (node.type === 'table') return sliceTable(node, from, to);
  const children = spansOf(node, from, to).flatMap((span) => slice(span.child, span.from, span.to));
  return children.length === 0 ? [] : [withChildren(node, children)];
}

/** `slice` over a run of blocks. */
function sliceBlocks(blocks: RootContent[], from: number, to: number): RootContent[] {
  return spansOf({ type: 'root', children: blocks }, from, to).flatMap((span) =>
    slice(span.child, span.from, span.to),
  );
}

/** The children that overlap the window, each with the window in its own offsets. */
function spansOf(parent: Parents, from: number, to: number): Span[] {
  const spans: Span[] = [];
  let offset = 0;
  for (const [index, child] of parent.children.entries()) {
    if (index > 0) offset += separator(parent, index).length;
    const size = flatSize(child);
    if (to - offset > 0 && from - offset < Math.max(size, 1))
      spans.push({ child, index, from: from - offset, to: to - offset });
    offset += size;
  }
  return spans;
}

function sliceList(list: List, from: number, to: number): RootContent[] {
  const continuation: RootContent[] = [];
  const items: ListItem[] = [];
  let first: number | undefined;
  for (const span of spansOf(list, from, to)) {
    const item = list.children[span.index];
    if (item === undefined) continue;
    if (span.from > 0) {
      continuation.push(
        ...spansOf(item, span.from, span.to).flatMap((inner) => slice(inner.child, inner.from, inner.to)),
      );
      continue;
    }
    first ??= span.index;
    items.push(...slice(item, span.from, span.to).filter((node) => node.type === 'listItem'));
  }
  if (first === undefined || items.length === 0) return continuation;
  const start = list.ordered === true ? (list.start ?? 1) + first : list.start;
  return [...continuation, { ...list, start, children: items }];
}

function sliceTable(table: Table, from: number, to: number): RootContent[] {
  const spans = spansOf(table, from, to);
  const rows = spans
    .flatMap((span) => slice(span.child, span.from, span.to))
    .filter((node) => node.type === 'tableRow');
  if (rows.length === 0) return [];
  const header = table.children[0];
  const repeated = header !== undefined && (spans[0]?.index ?? 0) > 0 ? [header] : [];
  return [{ ...table, children: [...repeated, ...rows] }];
}

function withChildren<P extends Parents>(parent: P, children: RootContent[]): P {
  return { ...parent, children };
}
