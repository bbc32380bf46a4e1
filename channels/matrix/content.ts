/** The content of messages to send to a room: text, HTML, buttons, and what they relate to. Pure. */
import type { OutboundPart } from '../../src/protocol/channel.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { Place } from '../../src/protocol/message.ts';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import { cleanText, clipEnd } from '../../src/lib/text.ts';
import { BUTTONS, keptButtons, shownButtons } from './buttons.ts';
import { EVENT_ID, ROOM_ID } from './ids.ts';
import { escapeHtml, joined } from './rendering/html.ts';
import { render } from './rendering/render.ts';

/**
 * Longest message, in UTF-16 units or in quarters of the HTML's bytes. An event has at most 65,536 bytes ("Size
 * limits"), and an edit contains the text three times: as HTML, as text, and as text for clients that do not know
 * edits.
 */
export const MAX_LENGTH = 6_000;
/** The homeserver needs the remainder for signatures and preceding events. */
const MAX_CONTENT_BYTES = 60_000;
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

type Text = Pick<OutboundPart, 'body' | 'plain' | 'buttons'>;

/** The content of a part, without what it relates to. Throws `ChannelError('rejected')` if it is too long. */
export function contentOf({ body, plain, buttons }: Text): Content {
  if (body.length > MAX_LENGTH)
    throw new ChannelError('rejected', `A message on Matrix has at most ${MAX_LENGTH} characters.`);
  const kept = keptButtons(buttons);
  const text = { html: plain === true ? '' : body.text, plain: cleanText(body.plain) };
  const shown =
    kept.length === 0
      ? text
      : joined([text, shownButtons(kept, buttons.length)], { html: '', plain: '\n\n' });
  // Content that is only text needs no HTML version.
  const isText = plain === true || shown.html === escapeHtml(shown.plain);
  return {
    msgtype: 'm.text',
    body: isText ? shown.plain : clipBytes(shown.plain, MAX_PLAIN_BYTES),
    ...(!isText && { format: 'org.matrix.custom.html', formatted_body: shown.html }),
    'm.mentions': {},
    ...(kept.length > 0 && { [BUTTONS]: kept }),
  };
}

/** A short text of the gateway itself (Markdown), as a part of the conversation at a place; cut to what fits. */
export function contentOfText(place: Place & { messageId?: string | undefined }, text: string): Content {
  const body = render(parseMarkdown(clipEnd(text, MAX_LENGTH / 2)));
  const plain = clipEnd(cleanText(text), MAX_LENGTH / 2);
  const content = contentOf({
    body: body.length <= MAX_LENGTH ? body : { text: '', plain, length: 0 },
    buttons: [],
  });
  return { ...content, ...relationOf(place, undefined, place.messageId) };
}

/**
 * The same content as the edit of a message ("Event replacements"): with a text for clients that do not know edits.
 * The message keeps its relation: the new content names none.
 */
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
  after: string | undefined,
): object {
  const reply = replyTo !== undefined && EVENT_ID.test(replyTo) ? replyTo : undefined;
  if (threadId === undefined)
    return reply === undefined ? {} : { 'm.relates_to': { 'm.in_reply_to': { event_id: reply } } };
  const shown = reply ?? after ?? threadId;
  const thread = { rel_type: 'm.thread', event_id: threadId, 'm.in_reply_to': { event_id: shown } };
  return { 'm.relates_to': { ...thread, is_falling_back: reply === undefined } };
}

/** Throws `ChannelError('rejected')` for content that no homeserver accepts. */
export function checkSize(content: Content): Content {
  if (Buffer.byteLength(JSON.stringify(content)) <= MAX_CONTENT_BYTES) return content;
  throw new ChannelError('rejected', 'The text is too long for an event on Matrix.');
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
  const size = (kept: string): number => Buffer.byteLength(JSON.stringify(kept));
  let kept = text;
  while (size(kept) > max) kept = `${kept.slice(0, Math.floor(kept.length * 0.9) - 1).toWellFormed()}…`;
  return kept;
}
