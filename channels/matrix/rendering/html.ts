/** Pieces of Matrix's HTML (`org.matrix.custom.html`), with what people read where HTML is not shown. Pure. */
import { cleanText } from '../../../src/lib/text.ts';

/** The tags that answers use, out of those that clients must show ("m.room.message msgtypes"). */
export interface Piece {
  html: string;
  /** The same without markup, for notifications and clients without HTML. */
  plain: string;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}

/** Text as people see it: line breaks stay. */
export function textPiece(text: string): Piece {
  const plain = cleanText(text);
  return { html: escapeHtml(plain).replaceAll('\n', '<br>'), plain };
}

export function wrapped(tag: string, { html, plain }: Piece, attributes = ''): Piece {
  return { html: `<${tag}${attributes}>${html}</${tag}>`, plain };
}

export function joined(pieces: readonly Piece[], between: Piece = { html: '', plain: '' }): Piece {
  return {
    html: pieces.map(({ html }) => html).join(between.html),
    plain: pieces.map(({ plain }) => plain).join(between.plain),
  };
}

/** The number of characters that people see of our HTML: its tags are not text, except for line breaks. */
export function visibleLength(html: string): number {
  return html
    .replaceAll('<br>', '\n')
    .replaceAll(/<[^<>]*>/g, '')
    .replaceAll(/&(?:amp|lt|gt|quot);/g, '.').length;
}
