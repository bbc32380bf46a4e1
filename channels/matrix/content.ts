/** The content of messages to send to a room: text, HTML, buttons, and what they relate to. Pure. */
import type { Rendered } from '../../src/protocol/channel.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { Button, Place } from '../../src/protocol/message.ts';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import { cleanText, clipEnd, oneLine } from '../../src/lib/text.ts';
import { z } from 'zod';
import { escapeHtml, joined, type Piece, textPiece, wrapped } from '../../src/lib/markdown/html.ts';
import { render } from './render.ts';
import { withoutVariant } from './inbound.ts';
import { EVENT_ID, ROOM_ID } from './events.ts';

const BUTTONS = 'parley.buttons';
/** Numbers that are available as reactions. */
const KEYS = ['1⃣', '2⃣', '3⃣', '4⃣', '5⃣', '6⃣', '7⃣', '8⃣', '9⃣', '🔟'];

/** Maximum number of buttons in one message; those after the tenth are pressed by a reply. */
export const MAX_BUTTONS = 25;
const MAX_LABEL = 80;
/** Longest value from the gateway, in UTF-16 units. */
const MAX_VALUE = 200;

const Kept = z.array(
  z.object({ label: z.string(), value: z.string(), style: z.enum(['normal', 'confirm', 'danger']) }),
);

export type KeptButton = z.infer<typeof Kept>[number];

/**
 * Longest message, in UTF-16 units or in quarters of the HTML's bytes. An event has at most 65,536 bytes ("Size
 * limits"), and an edit contains the text three times: as HTML, as text, and as text for clients that do not know
 * edits.
 */
export const MAX_LENGTH = 6_000;
/** The homeserver needs the remainder for signatures and preceding events. */
const MAX_CONTENT_BYTES = 60_000;
/** Of the content before it is encrypted. */
const MAX_ENCRYPTED_BYTES = 45_000;
const MAX_FALLBACK_BYTES = 500;
/** For each of the two plain texts next to the HTML. */
const MAX_PLAIN_BYTES = 17_500;

export interface Content {
  msgtype: string;
  body: string;
  format?: 'org.matrix.custom.html';
  formatted_body?: string;
  /** A mere mention in a text pings no one ("Mentioning users and rooms"). */
  'm.mentions': Record<string, never>;
  'm.relates_to'?: object;
  [field: string]: unknown;
}

/** The content of a part, without what it relates to. Throws `ChannelError('rejected')` if it is too long. */
export function contentOf(body: Rendered, buttons: readonly Button[], plain = false): Content {
  if (body.length > MAX_LENGTH)
    throw new ChannelError('rejected', `A message on Matrix may have at most ${MAX_LENGTH} characters.`);
  const storedButtons = keptButtons(buttons);
  const text = { html: plain ? '' : body.text, plain: cleanText(body.plain) };
  const piece =
    storedButtons.length === 0
      ? text
      : joined([text, shownButtons(storedButtons, buttons.length)], { html: '', plain: '\n\n' });
  // Content that is only text needs no HTML version.
  const isText = plain || piece.html === escapeHtml(piece.plain);
  return {
    msgtype: 'm.text',
    body: isText ? piece.plain : clipBytes(piece.plain, MAX_PLAIN_BYTES),
    ...(!isText && { format: 'org.matrix.custom.html', formatted_body: piece.html }),
    'm.mentions': {},
    ...(storedButtons.length > 0 && { [BUTTONS]: storedButtons }),
  };
}

/** A short text of the gateway itself (Markdown), as a part of the conversation at a place; cut to what fits. */
export function contentOfText(place: Place, previous: string | undefined, text: string): Content {
  const body = render(parseMarkdown(clipEnd(text, MAX_LENGTH / 2)));
  const plain = clipEnd(cleanText(text), MAX_LENGTH / 2);
  const content = contentOf(body.length <= MAX_LENGTH ? body : { text: '', plain, length: 0 }, []);
  return { ...content, ...relationOf(place, undefined, previous) };
}

/** The same content as an edit ("Event replacements"), with a text for clients that know none; its relation stays. */
export function editOf(eventId: string, { 'm.relates_to': _relation, ...content }: Content): Content {
  return {
    msgtype: content.msgtype,
    body: `* ${content.body}`,
    'm.mentions': {},
    'm.new_content': content,
    'm.relates_to': { rel_type: 'm.replace', event_id: eventId },
  };
}

/** What a new message relates to: its thread ("Threading"), and the message that it replies to ("Rich replies"). */
export function relationOf(
  { threadId }: Place,
  replyTo: string | undefined,
  previous: string | undefined,
): object {
  const reply = replyTo !== undefined && EVENT_ID.test(replyTo) ? replyTo : undefined;
  if (threadId === undefined)
    return reply === undefined ? {} : { 'm.relates_to': { 'm.in_reply_to': { event_id: reply } } };
  const target = reply ?? previous ?? threadId;
  const thread = { rel_type: 'm.thread', event_id: threadId, 'm.in_reply_to': { event_id: target } };
  return { 'm.relates_to': { ...thread, is_falling_back: reply === undefined } };
}

/** Throws `ChannelError('rejected')` for content that no homeserver accepts. */
export function checkSize(content: Content): Content {
  if (sizeOf(content) <= MAX_CONTENT_BYTES) return content;
  throw new ChannelError('rejected', 'The text is too long for an event on Matrix.');
}

/**
 * Content whose ciphertext fits into an event: base64 makes it a third longer. Of an edit, that shortens the text for clients that do
 * not know edits. Throws like `checkSize`.
 */
export function fitEncrypted(content: Content): Content {
  if (sizeOf(content) <= MAX_ENCRYPTED_BYTES) return content;
  const short = { ...content, body: clipBytes(content.body, MAX_FALLBACK_BYTES) };
  if (sizeOf(short) <= MAX_ENCRYPTED_BYTES) return short;
  throw new ChannelError('rejected', 'The text is too long for an encrypted event on Matrix.');
}

function sizeOf(content: Content): number {
  return Buffer.byteLength(JSON.stringify(content));
}

/** Throws `ChannelError('rejected')` for an address that is not a Matrix address. */
export function checkPlace({ chatId, threadId }: Place): void {
  if (!ROOM_ID.test(chatId))
    throw new ChannelError('rejected', `"${chatId.slice(0, 40)}" is not the id of a Matrix room.`);
  if (threadId !== undefined && !EVENT_ID.test(threadId))
    throw new ChannelError('rejected', `"${threadId.slice(0, 40)}" is not the id of a Matrix thread.`);
}

/** The beginning of a text, cut to this many bytes of JSON: clients that show HTML never show it. */
function clipBytes(text: string, max: number): string {
  const size = (value: string): number => Buffer.byteLength(JSON.stringify(value));
  let prefix = text;
  while (size(prefix) > max)
    prefix = `${prefix.slice(0, Math.floor(prefix.length * 0.9) - 1).toWellFormed()}…`;
  return prefix;
}

/** The buttons as stored in the event; those after `MAX_BUTTONS` are left out. */
function keptButtons(buttons: readonly Button[]): KeptButton[] {
  return buttons
    .filter(({ value }) => value.length <= MAX_VALUE)
    .slice(0, MAX_BUTTONS)
    .map(({ label, value, style = 'normal' }) => ({
      label: clipEnd(oneLine(label), MAX_LABEL),
      value,
      style,
    }));
}

/** The line that shows them: `1️⃣ Approve  2️⃣ Deny`; `count` is the total number of buttons. */
function shownButtons(buttons: readonly KeptButton[], count: number): Piece {
  const labels = buttons.map(({ label }, at) => `${numberOf(at)} ${label}`);
  const more = count > buttons.length ? [`… (${count - buttons.length} more)`] : [];
  return wrapped('p', textPiece([...labels, ...more].join('\u2003')));
}

/** As people see it in their list of reactions; if there is no such reaction, as they write it. */
function numberOf(at: number): string {
  return KEYS[at]?.replace('⃣', '\uFE0F⃣') ?? `${at + 1}.`;
}

/** The buttons in an event of the bot. */
export function readButtons(content: Readonly<Record<string, unknown>>): KeptButton[] {
  return Kept.safeParse(content[BUTTONS]).data ?? [];
}

/** Whether a reaction may be a press: only then is the event looked up. */
export function mayPress(key: string): boolean {
  const emoji = withoutVariant(key);
  return KEYS.includes(emoji) || emoji === '👍' || emoji === '✅' || emoji === '👎' || emoji === '❌';
}

/** The button that a reaction presses: selected by its number, or by a thumb if it is the only one of its kind. */
export function pressedBy(key: string, buttons: readonly KeptButton[]): KeptButton | undefined {
  const emoji = withoutVariant(key);
  if (KEYS.includes(emoji)) return buttons[KEYS.indexOf(emoji)];
  const style = emoji === '👍' || emoji === '✅' ? 'confirm' : 'danger';
  const [only, ...more] = mayPress(key) ? buttons.filter((button) => button.style === style) : [];
  return more.length > 0 ? undefined : only;
}

/** The button that a reply names by number or label. */
export function namedIn(text: string, buttons: readonly KeptButton[]): KeptButton | undefined {
  const input = text.trim().toLowerCase();
  const at = /^\d{1,2}$/.test(input) ? Number(input) - 1 : -1;
  return buttons[at] ?? buttons.find(({ label }) => label.toLowerCase() === input);
}
