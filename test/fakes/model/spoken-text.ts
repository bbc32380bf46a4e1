/** What people and tools say in a request, and the notes of the gateway beside it. */
import { TITLE_REQUEST } from '../../../src/agent/after-turn/title-worker.ts';

/** A note between its marks, with the empty line that separates it from other text. */
const NOTE = /(?:\n\n)?\[([0-9a-f]{16}): note\]\n([\s\S]*?)\n\[\1: end\](?:\n\n)?/g;

/** A message on either wire; the content of one with pictures is a list of parts. */
export interface SpokenMessage {
  role: string;
  content?: unknown;
}

/** The text of a message, its notes included. */
export function textOf({ content }: SpokenMessage): string {
  if (typeof content === 'string') return content;
  const parts: unknown[] = Array.isArray(content) ? content : [];
  return parts
    .flatMap((part) =>
      typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string'
        ? [part.text]
        : [],
    )
    .join('\n\n');
}

/** A text without the notes of the gateway. */
export function withoutNotes(text: string): string {
  return text.replace(NOTE, '');
}

/** The last thing a person said; empty if there was nothing. */
export function lastUserText({ messages }: { messages: readonly SpokenMessage[] }): string {
  const said = messages.flatMap((message) =>
    message.role === 'user' ? [withoutNotes(textOf(message))] : [],
  );
  return said.findLast((text) => text !== '') ?? '';
}

/** The notes of the gateway at the end of a request, in their order; empty if it has none. */
export function lastNote({ messages }: { messages: readonly SpokenMessage[] }): string {
  const last = messages.at(-1);
  const notes = last === undefined ? [] : [...textOf(last).matchAll(NOTE)];
  return notes.map(([, , note = '']) => note).join('\n\n');
}

/** The messages of a request without the notes of the gateway: what stays the same in the next request. */
export function messagesWithoutNotes<Message extends SpokenMessage>(messages: readonly Message[]): Message[] {
  return messages.flatMap((message) => {
    if (typeof message.content !== 'string') return [message];
    const content = withoutNotes(message.content);
    return content === '' && message.content !== '' ? [] : [{ ...message, content }];
  });
}

/** True for a call of a turn: not for the one that asks for a title, which offers the tools as well. */
export function isTurnCall(body: { messages: readonly SpokenMessage[]; tools?: unknown }): boolean {
  return body.tools !== undefined && !lastUserText(body).includes(TITLE_REQUEST);
}
