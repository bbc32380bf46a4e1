/** Words of a text that Telegram would turn into links although they are none. Pure. */
import { joined, type Piece, textPiece, wrapped } from './piece.ts';

/**
 * File names whose extension is also a country's or another top-level domain, .NET and its languages, and words that
 * begin with a slash, which would be commands. Addresses with a path or a scheme are left alone.
 */
const FALSE_LINK =
  /(?<![\w@/:.<>)\]-])(?:[\w-]+(?:\.[\w-]+)*\.(?:md|py|sh|rs|pl|pm|cc|so|ps|zip|mov)(?![\w/:-]|\.\w)|(?:VB|ASP|ADO|ML)\.NET(?![\w/-]|\.\w)|(?<slash>\/(?<name>[A-Za-z0-9_]{1,64})(?![\w/])))/gi;

/** The text, with such words as code; the bot's `commands` stay commands. */
export function withoutFalseLinks(text: string, commands: ReadonlySet<string>): Piece {
  // Most texts contain neither, and each part of an answer is rendered a dozen times until it fits.
  if (!text.includes('.') && !text.includes('/')) return textPiece(text);
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of text.matchAll(FALSE_LINK)) {
    const name = found.groups?.['name']?.toLowerCase();
    if (name !== undefined && commands.has(name)) continue;
    pieces.push(textPiece(text.slice(from, found.index)), wrapped('code', textPiece(found[0])));
    from = found.index + found[0].length;
  }
  return from === 0 ? textPiece(text) : joined([...pieces, textPiece(text.slice(from))]);
}
