/**
 * Recognizes the silent token, which means "nothing to report", as models write it: alone, in markup, twice, or with a few
 * words around it. It is never part of what people read.
 */

/** Longest rest of an answer with the token that still counts as "nothing to report", in UTF-16 units. */
export const MAX_SILENT_REST = 300;

/** True when there is no text, or it has the token and little else. */
export function isSilentReply(text: string, token: string): boolean {
  if (text === '' || isRepeated(text, token)) return true;
  const rest = withoutToken(text, token);
  return rest !== text && rest.length <= MAX_SILENT_REST;
}

/** The text without the token and the markup at it, trimmed if it had one. */
export function withoutToken(text: string, token: string): string {
  const escaped = Array.from(token, (character) =>
    /[\p{L}\p{N}]/u.test(character) ? character : `\\\\?\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
  const written = new RegExp(
    `[*_~\`"'“”]{0,8}(?<![\\p{L}\\p{N}])${escaped.join('')}(?![\\p{L}\\p{N}])[*_~\`"'“”]{0,8}`,
    'giu',
  );
  const rest = text.replace(written, '');
  return rest === text ? text : rest.trim();
}

/**
 * True for a turn with a silent token whose text so far says nothing: it is the token, its beginning, or the token with
 * little else.
 */
export function isSilent(token: string | undefined, text: string): boolean {
  return token !== undefined && (isSilentReply(text, token) || isBeginning(text, token));
}

/** Only letters and digits count: punctuation around the token and its case do not. */
function letters(text: string): string {
  return text.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** The token, once or more often (each model call of a turn may write it). */
function isRepeated(text: string, token: string): boolean {
  const written = letters(text);
  return written !== '' && written.length % letters(token).length === 0 && isBeginning(text, token);
}

function isBeginning(text: string, token: string): boolean {
  const one = letters(token);
  const written = letters(text.slice(0, MAX_SILENT_REST));
  return (
    one !== '' &&
    text.length <= MAX_SILENT_REST &&
    one.repeat(Math.ceil(written.length / one.length)).startsWith(written)
  );
}
