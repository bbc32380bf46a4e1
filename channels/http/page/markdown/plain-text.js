/** The words of a Markdown text without its marks, as they are read aloud. Pure. */
import { parseDocument } from './document.js';
import { parseInline } from './inline.js';

/** @typedef {import('./nodes.js').BlockBody} BlockBody */
/** @typedef {import('./nodes.js').Inline} Inline */

/**
 * The words of a text, a block in each line.
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
 * The words of inline Markdown in one line.
 * @param {string} text
 */
export function inlineText(text) {
  return parseInline(text).map(wordsOf).join('').replaceAll(/\s+/g, ' ').trim();
}

/**
 * @param {Inline} node
 * @returns {string}
 */
function wordsOf(node) {
  if (node.type === 'break') return ' ';
  return node.type === 'text' || node.type === 'code' ? node.text : node.children.map(wordsOf).join('');
}
