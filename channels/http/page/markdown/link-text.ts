/** The text of a link in parsed inline Markdown. Pure. */
import type { Inline } from './nodes.ts';

/** Characters that change the direction in which a text is read. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text of a link: other links in it become their text. */
export function withoutLinks(nodes: Inline[]): Inline[] {
  return nodes.flatMap((node) => {
    if (node.type === 'text') return { ...node, text: node.text.replaceAll(DIRECTION_MARKS, '') };
    if (!('children' in node)) return node;
    const children = withoutLinks(node.children);
    return node.type === 'strong' || node.type === 'em' || node.type === 'del'
      ? { ...node, children }
      : children;
  });
}

/** The text of parsed nodes, as it is read. */
export function textOf(nodes: Inline[]): string {
  return nodes
    .map((node) => ('children' in node ? textOf(node.children) : 'text' in node ? node.text : ' '))
    .join('');
}
