/** The text of a Markdown document without its marks, as it is read aloud. Pure. */
import { parseDocument } from './document.js';
import { parseInline } from './inline.js';
import { textOf } from './link-text.js';

/** @typedef {import('./nodes.js').BlockBody} BlockBody */

/**
 * The plain text, a block in each line.
 * @param {string} text
 */
export function plainText(text) {
  return parseDocument(text).flatMap(linesOf).join('\n');
}

/**
 * @param {BlockBody} block
 * @returns {string[]}
 */
function linesOf(block) {
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

/**
 * The text of inline Markdown in one line.
 * @param {string} text
 */
export function inlineText(text) {
  return textOf(parseInline(text)).replaceAll(/\s+/g, ' ').trim();
}
