/** Reads a whole answer: its formulas as people read them, as in chats of other networks, then its blocks. Pure. */
import { readableMath } from '../../../../src/lib/math-text.ts';
import { parseBlocks } from './blocks.js';

/**
 * The blocks of an answer in Markdown.
 * @param {string} text
 */
export function parseDocument(text) {
  return parseBlocks(readableMath(text));
}
