/** A document as one flat text, and pieces of it by offsets in that text: how to cut a tree without breaking markup. */
import type { List, ListItem, Nodes, Parents, RootContent, Table } from 'mdast';

/** Separator after a heading and a table's header, where no cut is allowed: it would leave them without their content. */
const GLUE = '\u2063';

const sizes = new WeakMap<Nodes, number>();

/** The text of a node in reading order; blocks are separated by a blank line, items, rows and lines by a newline. */
export function flatText(node: Nodes): string {
  if ('value' in node) return node.value;
  if (!('children' in node)) return atomText(node);
  let text = '';
  node.children.forEach((child, index) => {
    text += (index === 0 ? '' : separator(node, index)) + flatText(child);
  });
  return text;
}

/** Length of `flatText`, cached: trees never change once created. */
export function flatSize(node: Nodes): number {
  const known = sizes.get(node);
  if (known !== undefined) return known;
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
 * The part of a tree between two offsets of its flat text, as whole nodes: markup that is open at a cut is closed in
 * one piece and opened in the next. A later piece of a table repeats its header, one of an ordered list continues its
 * numbering, one of a list item has no marker.
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
export function sliceBlocks(blocks: RootContent[], from: number, to: number): RootContent[] {
  return spansOf({ type: 'root', children: blocks }, from, to).flatMap((span) =>
    slice(span.child, span.from, span.to),
  );
}

interface Span {
  child: RootContent;
  index: number;
  from: number;
  to: number;
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
  const before: RootContent[] = [];
  const items: ListItem[] = [];
  let first: number | undefined;
  for (const span of spansOf(list, from, to)) {
    const item = list.children[span.index];
    if (item === undefined) continue;
    if (span.from > 0) {
      before.push(
        ...spansOf(item, span.from, span.to).flatMap((inner) => slice(inner.child, inner.from, inner.to)),
      );
      continue;
    }
    first ??= span.index;
    items.push(...slice(item, span.from, span.to).filter((node) => node.type === 'listItem'));
  }
  if (first === undefined || items.length === 0) return before;
  const start = list.ordered === true ? (list.start ?? 1) + first : list.start;
  return [...before, { ...list, start, children: items }];
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

/** A copy of a parent with other children. */
export function withChildren<P extends Parents>(parent: P, children: RootContent[]): P {
  return { ...parent, children };
}
