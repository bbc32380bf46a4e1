/** Titles of sessions as text: the request for one, the one in a model's answer, and the first words if there is none. */
import { oneLine, stripEnd } from '../../lib/text.ts';
import type { ChatMessage } from '../../contracts/model/provider.ts';

/** Longest part of the message, and of the answer, that the model reads for a title, in UTF-16 units. */
const MAX_READ_CHARS = 1_500;
/** Longest title that the gateway itself makes; people may write longer ones (`MAX_TITLE_CHARS`). */
const MADE_CHARS = 60;

const INSTRUCTION =
  'You give conversations the titles under which a list shows them. A title says what the conversation is about, in its ' +
  'own language, in at most six words: no quotation marks, no markup, no full stop.';

/** The last message of a request for a title. */
export const TITLE_REQUEST = 'Write the title of the conversation above, and nothing else.';

/** The request for the title of a conversation that began with this message and its answer. */
export function titleMessages(said: string, answer: string): ChatMessage[] {
  return [
    { role: 'system', content: INSTRUCTION },
    { role: 'user', content: cut(said, MAX_READ_CHARS) },
    { role: 'assistant', content: cut(answer, MAX_READ_CHARS), toolCalls: [] },
    { role: 'user', content: TITLE_REQUEST },
  ];
}

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
