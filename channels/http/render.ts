/** A document as plain text. HTTP clients read the stored Markdown; nothing is sent to them. */
import type { Nodes, Root } from 'mdast';
import type { Rendered } from '../../src/protocol/channel.ts';

/** The document's text, one block per line; `length` counts UTF-16 units. */
export function renderPlain(doc: Root): Rendered {
  const text = textOf(doc);
  return { text, plain: text, length: text.length };
}

const BLOCKS = new Set(['root', 'blockquote', 'list', 'listItem', 'table', 'tableRow', 'footnoteDefinition']);

function textOf(node: Nodes): string {
  if (node.type === 'image' || node.type === 'imageReference') return node.alt ?? '';
  if (node.type === 'break') return '\n';
  if ('value' in node) return node.value;
  if (!('children' in node)) return '';
  return node.children.map(textOf).join(BLOCKS.has(node.type) ? '\n' : '');
}
