/** A document as plain text. Nothing is sent over HTTP by `send`; readers get the stored Markdown itself. */
import type { Nodes, Root } from 'mdast';
import type { Rendered } from '../../src/contracts/channel.ts';

/** The document's words, blocks on lines of their own; `length` counts UTF-16 units. */
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
