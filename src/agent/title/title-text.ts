/** Titles of sessions as text: the request for one, the one in a model's answer, and the first words if there is none. */
import { oneLine, stripEnd } from '../../lib/text.ts';

/** Longest title that the gateway itself makes; people may write longer ones (`MAX_TITLE_CHARS`). */
const MADE_CHARS = 60;

/**
 * The request for a title: it follows the conversation, as the model has read it, so that a server with one slot need not
 * read the conversation again, neither for the title nor for the next turn.
 */
export const TITLE_REQUEST =
  'The gateway needs a title for the conversation above, for a list of conversations. Write what it is about, in its own ' +
  'language, in at most six words: no quotation marks, no markup, no full stop. Write the title and nothing else, and call no tool.';

/** The title in a model's answer: its first line without markup, quotation marks and a heading such as "Title:". Empty when it has none. */
export function titleIn(answer: string): string {
  const lines = answer.split('\n').map((line) =>
    oneLine(line)
      .replaceAll(/[*_`~#<>|[\]\\]/g, '')
      .trim()
      .replace(/^title\s*:\s*/i, '')
      .replaceAll(/^["'“”„«»‘’「」]+|["'“”„«»‘’「」]+$/g, ''),
  );
  const line = lines.find((one) => /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(one)) ?? '';
  return shorten(stripEnd(line.trim(), '.').trim());
}

/** The first words of a message as a title; empty when it has none. */
export function firstWords(said: string): string {
  return shorten(oneLine(said));
}

/** At most `MADE_CHARS`, cut between words if there are any. */
function shorten(line: string): string {
  if (line.length <= MADE_CHARS) return line;
  const head = cut(line, MADE_CHARS - 1);
  const space = line.charAt(MADE_CHARS - 1) === ' ' ? head.length : head.lastIndexOf(' ');
  return `${(space > MADE_CHARS / 2 ? head.slice(0, space) : head).trimEnd()}…`;
}

/** Never half of a surrogate pair. */
function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(max - 1)) ? max - 1 : max;
  return text.slice(0, end);
}
