/** The title of a session: what lists show for it. */
import { oneLine } from '../../lib/text.ts';
import { GatewayError } from '../errors.ts';
import { textRef } from '../texts/say.ts';

/** Longest title, in UTF-16 units. */
export const MAX_TITLE_CHARS = 80;

/** A title that a person wrote, on one line. Throws `GatewayError('bad_title')` for one that is empty or too long. */
export function readTitle(text: string): string {
  const title = oneLine(text);
  if (title !== '' && title.length <= MAX_TITLE_CHARS) return title;
  const { length } = title;
  throw new GatewayError(
    'bad_title',
    title === ''
      ? textRef('title.empty', { most: MAX_TITLE_CHARS })
      : textRef('title.too_long', { length, most: MAX_TITLE_CHARS }),
  );
}
