/** A link as Markdown, for texts whose network keeps addresses beside the words. Pure. */

/** Longest address that is read, in UTF-16 units; a longer one is left out, its words stay. */
export const MAX_ADDRESS = 2_048;

/** Just the words if there is no address, if they are the address, or if it is too long. */
export function linkText(words: string, url: string): string {
  if (url === '' || words === url || url.length > MAX_ADDRESS) return words;
  const address = url.replaceAll(
    /[ \t\n()<>]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return `[${words}](${address})`;
}
