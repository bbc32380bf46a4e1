/**
 * Parser of Markdown blocks: paragraphs, headings, lists, quotes, tables, code. Returns plain objects; HTML stays text.
 */

import type { Block } from './nodes.ts';
import { BlockReader } from './block-reader.ts';

/** Parses a document. */
export function parseBlocks(text: string): Block[] {
  return readBlocks(text).blocks;
}

/**
 * The blocks of a document, and how many of its lines and blocks, from the first on, cannot change with more text at
 * its end.
 */
export function readBlocks(text: string) {
  const lines = text.replaceAll('\0', '\ufffd').replaceAll(/\r\n?/g, '\n').split('\n');
  const reader = new BlockReader();
  // What comes next may belong to the last line, which may change what it is.
  for (const line of lines.slice(0, -1)) reader.read(line);
  const settledLines = reader.places.at(-1)?.start ?? 0;
  const settledBlocks = Math.max(0, reader.places.length - 1);
  const last = lines.at(-1) ?? '';
  if (last !== '') reader.read(last);
  reader.end();
  const blocks = reader.blocks.map((body, index) => {
    const { start, end } = reader.places[index] ?? { start: 0, end: 0 };
    return { ...body, source: lines.slice(start, end).join('\n') };
  });
  return { blocks, settledLines, settledBlocks };
}
