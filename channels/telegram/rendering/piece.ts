/** The same piece of a message in two forms: as Telegram's HTML and as readers see it. Pure. */
import { cleanText } from '../../../src/lib/text.ts';

export interface Piece {
  html: string;
  visible: string;
}

/** What Telegram drops or shows as a space; a line break is neither. */
const UNSEEN = /[^\P{Cc}\n]|[\u2028-\u202E]|\u0333|\u033F|\u030A/u;

export const NOTHING: Piece = { html: '', visible: '' };

/**
 * Text that Telegram shows unchanged: Telegram drops carriage returns, line marks, direction overrides and three
 * combining lines, shows control characters as spaces, and refuses lone surrogates (TDLib `clean_input_string`).
 */
export function textPiece(text: string): Piece {
  const clean = cleanText(text);
  // Two passes for a few texts cost less than one that replaces for all.
  const visible = !UNSEEN.test(clean)
    ? clean
    : clean
        .replace(/\p{Cc}/gu, (mark) => (mark === '\n' || mark > '\u001F' ? mark : mark === '\r' ? '' : ' '))
        .replace(/[\u2028-\u202E]|\u0333|\u033F|\u030A/g, '');
  return { html: escapeHtml(visible), visible };
}

/** A text between tags. */
export function escapeHtml(text: string): string {
  if (!/[&<>]/.test(text)) return text;
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Pieces one after the other, separated by the same markup. */
export function joined(pieces: readonly Piece[], between = ''): Piece {
  return {
    html: pieces.map((piece) => piece.html).join(between),
    visible: pieces.map((piece) => piece.visible).join(between),
  };
}

/** A piece in a tag; a piece that shows nothing needs none. */
export function wrapped(tag: string, piece: Piece, attribute = ''): Piece {
  if (piece.visible === '') return NOTHING;
  return { html: `<${tag}${attribute}>${piece.html}</${tag}>`, visible: piece.visible };
}
