/** The token that means "nothing to say", as models write it. */

/** Text longer than this is shown, whatever it is made of, in UTF-16 units. */
export const MAX_SILENT_CHARS = 400;

/** True of a turn with a silent token while its text may still become that token: nothing of it has been shown. */
export function isSilent(silentToken: string | undefined, text: string): boolean {
  return silentToken !== undefined && mayBeSilent(text, silentToken);
}

/** Only letters and digits count: people's marks around the token, and its case, do not. */
function letters(text: string): string {
  return text.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** True while the text may still become the token, once or more often (each model call of a turn may write it). */
export function mayBeSilent(text: string, token: string): boolean {
  if (text.length > MAX_SILENT_CHARS) return false;
  const one = letters(token);
  const heard = letters(text);
  return one !== '' && one.repeat(Math.ceil(heard.length / one.length)).startsWith(heard);
}

/** True when there is no text, or all of it is the token. */
export function isSilentReply(text: string, token: string): boolean {
  if (text === '') return true;
  const heard = letters(text);
  return heard !== '' && heard.length % letters(token).length === 0 && mayBeSilent(text, token);
}
