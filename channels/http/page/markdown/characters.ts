/** Character references of HTML, such as `&amp;` and `&#8364;`, and blanks in Markdown. */
import { decodeNamedCharacterReference } from 'decode-named-character-reference';

const REFERENCE = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z][A-Za-z\d]{1,30}));/y;

/** The reference at position `at`: its character and its length in the text. Undefined when there is none. */
export function readReference(text: string, at: number) {
  REFERENCE.lastIndex = at;
  const match = REFERENCE.exec(text);
  if (match === null) return undefined;
  const [{ length }, decimal, hex, name] = match;
  const character =
    name === undefined
      ? characterOf(Number(decimal ?? `0x${hex}`))
      : decodeNamedCharacterReference(name) || undefined;
  return character === undefined ? undefined : { length, character };
}

/** The text with its references and escapes resolved. */
export function decodeCharacters(text: string) {
  return text.replaceAll(
    /\\([!-/:-@[-`{-~])|&[^;&]{1,31};/g,
    (match, escaped: string | undefined) => escaped ?? readReference(match, 0)?.character ?? match,
  );
}

/** The character with this number; U+FFFD when there is none. */
function characterOf(code: number) {
  const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : '\ufffd';
}

/**
 * The text without the blanks at its end; an expression that ends in `$` would look at each run of blanks again and again.
 */
export function withoutBlanksAtEnd(text: string): string {
  let end = text.length;
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) end -= 1;
  return text.slice(0, end);
}
