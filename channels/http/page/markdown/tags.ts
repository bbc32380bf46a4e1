/** Pairs of tags in parsed inline Markdown, as in chats of other networks. Pure. */
import { type Inline, textOf } from './nodes.ts';
import {
  isLineBreak,
  loweredOrMarked,
  pairTags,
  raisedOrMarked,
  type TagReader,
} from '../../../../src/lib/markdown/tags.ts';
import { joined } from './emphasis.ts';

const READER: TagReader<Inline> = {
  tagOf: (node) => (node.type === 'tag' ? node.text : undefined),
  text: (text) => ({ type: 'text', text }),
  wrap(kind, children) {
    if (children.length === 0) return [];
    switch (kind) {
      case 'strong':
        return [{ type: 'strong', children }];
      case 'emphasis':
        return [{ type: 'em', children }];
      case 'delete':
        return [{ type: 'del', children }];
      case 'code':
        return [{ type: 'code', text: textOf(children) }];
      case 'raised':
      case 'lowered':
        return shifted(kind, children);
      default:
        return kind;
    }
  },
};

function shifted(kind: 'raised' | 'lowered', children: Inline[]): Inline[] {
  const change = kind === 'raised' ? raisedOrMarked : loweredOrMarked;
  if (children.every(({ type }) => type === 'text'))
    return [{ type: 'text', text: change(textOf(children)) }];
  const sign = kind === 'raised' ? '^' : '_';
  return [{ type: 'text', text: `${sign}(` }, ...children, { type: 'text', text: ')' }];
}

/** The nodes with their tags read, at every depth. */
export function withTags(nodes: Inline[]): Inline[] {
  const inside = nodes.map((node) => {
    if (node.type === 'tag') return isLineBreak(node.text) ? { type: 'break' as const } : node;
    return 'children' in node ? { ...node, children: withTags(node.children) } : node;
  });
  return inside.some(({ type }) => type === 'tag') ? joined(pairTags(inside, READER)) : inside;
}
