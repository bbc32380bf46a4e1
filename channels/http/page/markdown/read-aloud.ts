/** An answer as it is read aloud, formulas included. Pure. */
import { readableMath } from '../../../../src/lib/markdown/math-text.ts';
import { plainText } from './plain-text.ts';

/** The plain text of Markdown, a block in each line. */
export function readAloud(markdown: string): string {
  return plainText(readableMath(markdown));
}
