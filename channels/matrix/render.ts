/** Renders a Markdown document as the HTML that Matrix clients show, with a plain-text version. Pure. */
import type { Root } from 'mdast';
import type { Rendered } from '../../src/protocol/channel.ts';
import { htmlOf, visibleLength } from '../../src/lib/markdown/html.ts';

/** Bytes of JSON that count as one character of `MAX_LENGTH`: an event has at most 65,536 bytes in all. */
export const BYTES_PER_CHARACTER = 4;

/** Renders for Matrix; `length` counts what people read, in UTF-16 units, or the size of the HTML if that is the limit. */
export function render(doc: Root): Rendered {
  const { html, plain } = htmlOf(doc);
  const bytes = Buffer.byteLength(JSON.stringify(html));
  const length = plain === '' ? 0 : Math.max(visibleLength(html), Math.ceil(bytes / BYTES_PER_CHARACTER));
  return { text: html, plain, length };
}
