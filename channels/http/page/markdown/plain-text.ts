/** The text of a Markdown document without its marks, as it is read aloud. Pure. */
import { type BlockBody, textOf } from './nodes.ts';
import { parseDocument } from './document.ts';
import { parseInline } from './inline.ts';

/** The plain text, a block in each line. */
export function plainText(text: string) {
  return parseDocument(text).flatMap(linesOf).join('\n');
}

function linesOf(block: BlockBody): string[] {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return [inlineText(block.text)];
    case 'code':
      return [block.text];
    case 'quote':
      return block.children.flatMap(linesOf);
    case 'list':
      return block.items.flatMap(({ children }) => children.flatMap(linesOf));
    case 'table':
      return [block.head, ...block.rows].map((row) => row.map(inlineText).join(', '));
    default:
      return [];
  }
}

/** The text of inline Markdown in one line. */
export function inlineText(text: string) {
  return textOf(parseInline(text)).replaceAll(/\s+/g, ' ').trim();
}
