/** Segments as blocks of the tree, joined where one continues the other. */
import type { Nodes, RootContent } from 'mdast';
import { readableMath } from '../../lib/markdown/math-text.ts';
import { parseMarkdown } from '../../lib/markdown/markdown.ts';
import type { Segment } from './segments.ts';

/**
 * Placed before a text that continues in the middle of a line while it is parsed: what follows is not at the start of
 * a line.
 */
const LINE_BEFORE = '\u2060';

/** Adds a segment's blocks to the previous ones; neither list is changed. */
export function appendBlocks(blocks: RootContent[], segment: Segment): RootContent[] {
  const added = parseSegment(segment);
  const last = blocks.at(-1);
  const first = added[0];
  if (segment.joins === undefined || last === undefined || first === undefined) return [...blocks, ...added];
  const joined = join(last, first, segment);
  return joined === undefined ? [...blocks, ...added] : [...blocks.slice(0, -1), joined, ...added.slice(1)];
}

/** The newest parsed segment: an open end is shown in several chats, and again when only the lines below it change. */
let newest: { segment: Segment; blocks: RootContent[] } | undefined;

function parseSegment(segment: Segment): RootContent[] {
  const { text, head, joins } = segment;
  const known = newest?.segment;
  if (newest !== undefined && known?.text === text && known.head === head && known.joins === joins)
    return newest.blocks;
  newest = { segment: { text, head, joins }, blocks: parsed(segment) };
  return newest.blocks;
}

/** A repeated opening that was not parsed as what it opens is removed again. */
function parsed(segment: Segment): RootContent[] {
  if (segment.text.trim() === '' && segment.head === '') return [];
  if (segment.head !== '') {
    const blocks = parseMarkdown(readableMath(segment.head + segment.text)).children;
    if (blocks[0]?.type === 'code' || blocks[0]?.type === 'table') return blocks;
  }
  if (segment.joins !== '') return parseMarkdown(readableMath(segment.text)).children;
  const [first, ...rest] = parseMarkdown(LINE_BEFORE + readableMath(segment.text)).children;
  return first === undefined ? [] : [withoutLineBefore(first), ...rest];
}

/** The node without `LINE_BEFORE`, which is the first character of its first text. */
function withoutLineBefore<N extends Nodes>(node: N): N {
  if ('value' in node) return { ...node, value: node.value.replace(LINE_BEFORE, '') };
  if (!('children' in node)) return node;
  const [first, ...rest] = node.children;
  return first === undefined ? node : { ...node, children: [withoutLineBefore(first), ...rest] };
}

function join(last: RootContent, first: RootContent, segment: Segment): RootContent | undefined {
  const glue = segment.joins ?? '';
  if (last.type === 'code' && first.type === 'code' && segment.head !== '') {
    return { ...last, value: last.value + glue + first.value };
  }
  if (last.type === 'table' && first.type === 'table' && segment.head !== '') {
    return { ...last, children: [...last.children, ...first.children.slice(1)] };
  }
  if (last.type === 'list' && first.type === 'list' && last.ordered === first.ordered) {
    return { ...last, children: [...last.children, ...first.children] };
  }
  if (last.type === 'paragraph' && first.type === 'paragraph') {
    return { ...last, children: [...last.children, { type: 'text', value: glue }, ...first.children] };
  }
  return undefined;
}
