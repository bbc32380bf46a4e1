/** The title of a session: what lists show for it. */
import { oneLine } from '../../lib/text.ts';
import { GatewayError } from '../errors.ts';

/** Longest title, in UTF-16 units. */
export const MAX_TITLE_CHARS = 80;

/** A title that a person wrote, on one line. Throws `GatewayError('bad_title')` for one that is empty or too long. */
export function readTitle(text: string): string {
  const title = oneLine(text);
  if (title !== '' && title.length <= MAX_TITLE_CHARS) return title;
  const wrong = title === '' ? 'is empty' : `has ${title.length} characters`;
  throw new GatewayError('bad_title', `The title ${wrong}; it may have 1 to ${MAX_TITLE_CHARS}.`);
}
