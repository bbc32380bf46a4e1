/** Recognizes the silent token, which means "nothing to report", as models write it. */

/** A longer text is always shown, in UTF-16 units. */
export const MAX_SILENT_CHARS = 400;

/** True for a turn with a silent token while its text may still become that token, so that nothing was shown yet. */
export function isSilent(silentToken: string | undefined, text: string): boolean {
  return silentToken !== undefined && mayBeSilent(text, silentToken);
}

/** Only letters and digits count: punctuation around the token and its case do not. */
function letters(text: string): string {
  return text.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** True while the text may still become the token, once or more often (each model call of a turn may write it). */
export function mayBeSilent(text: string, token: string): boolean {
  if (text.length > MAX_SILENT_CHARS) return false;
  const one = letters(token);
  const written = letters(text);
  return one !== '' && one.repeat(Math.ceil(written.length / one.length)).startsWith(written);
}

/** True when there is no text, or all of it is the token. */
export function isSilentReply(text: string, token: string): boolean {
  if (text === '') return true;
  const written = letters(text);
  return written !== '' && written.length % letters(token).length === 0 && mayBeSilent(text, token);
}
