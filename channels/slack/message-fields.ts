/** The fields of messages to send to Slack: blocks, buttons, and the text of notifications. Pure. */
import type { OutboundPart, Rendered } from '../../src/protocol/channel.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { Button, Place } from '../../src/protocol/message.ts';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import { clipEnd } from '../../src/lib/text.ts';
import { CHAT_ID, TS } from './ids.ts';
import { plainParts, render } from './rendering/render.ts';
import type { Part } from './rendering/rich-text.ts';

/**
 * Longest message, in UTF-16 units: above that, Slack's documentation promises no good result ("Truncating content").
 */
export const MAX_LENGTH = 4_000;
/** Longest text of a notification; `chat.update` accepts 4,000 bytes, escaped. */
const MAX_TEXT_BYTES = 3_900;
/** Slack's limits: buttons in one block, characters of a label and of a value. */
const MAX_BUTTONS = 25;
const MAX_LABEL = 75;
const MAX_VALUE = 2_000;

/** Fields of every message: link previews are disabled. */
export interface Fields {
  text: string;
  blocks: object[];
  unfurl_links: false;
  unfurl_media: false;
}

/** The fields of a part. Throws `ChannelError('rejected')` if it is too long. */
export function fieldsOf({ body, plain, buttons }: Pick<OutboundPart, 'body' | 'plain' | 'buttons'>): Fields {
  if (body.length > MAX_LENGTH)
    throw new ChannelError('rejected', `A message on Slack has at most ${MAX_LENGTH} characters.`);
  return {
    text: notificationOf(body.plain),
    blocks: [...richText(plain === true ? plainParts(body.plain) : partsOf(body)), ...actionsOf(buttons)],
    unfurl_links: false,
    unfurl_media: false,
  };
}

/** A short text of the gateway itself (Markdown), cut to what fits. */
export function fieldsOfText(text: string): Fields {
  const body = render(parseMarkdown(clipEnd(text, MAX_LENGTH / 2)));
  const fits = body.length <= MAX_LENGTH;
  return fieldsOf({ body: fits ? body : plainBody(text.slice(0, MAX_LENGTH / 2)), buttons: [] });
}

function plainBody(text: string): Rendered {
  const parts = plainParts(text.toWellFormed());
  return { text: JSON.stringify(parts), plain: text.toWellFormed(), length: text.length };
}

/** The rich text of a rendered document: what `render` wrote. */
export function partsOf(body: Rendered): Part[] {
  return body.text === '' ? [] : (JSON.parse(body.text) as Part[]);
}

export function richText(parts: readonly Part[]): object[] {
  return parts.length === 0 ? [] : [{ type: 'rich_text', elements: parts }];
}

function actionsOf(buttons: readonly Button[]): object[] {
  const groups = Array.from({ length: Math.ceil(buttons.length / MAX_BUTTONS) }, (_, group) =>
    buttons.slice(group * MAX_BUTTONS, (group + 1) * MAX_BUTTONS),
  );
  return groups.map((group, row) => ({
    type: 'actions',
    elements: group.map((button, index) => buttonOf(button, `button-${row}-${index}`)),
  }));
}

function buttonOf({ label, value, style = 'normal' }: Button, actionId: string): object {
  if (value.length > MAX_VALUE)
    throw new ChannelError('rejected', 'The value of a button is too long for Slack.');
  const text = { type: 'plain_text', text: clipEnd(label, MAX_LABEL), emoji: true };
  const colour = { normal: {}, confirm: { style: 'primary' }, danger: { style: 'danger' } }[style];
  return { type: 'button', action_id: actionId, text, value, ...colour };
}

/** The text that notifications and screen readers present: escaped, so that nothing in it pings. */
function notificationOf(plain: string): string {
  let text = escapeText(clipEnd(plain, MAX_LENGTH));
  for (let max = MAX_TEXT_BYTES; Buffer.byteLength(text) > MAX_TEXT_BYTES; max = Math.floor(max * 0.7))
    text = escapeText(clipEnd(plain, max));
  return text;
}

/** Text in the form that `text` requires ("Formatting text for app surfaces", Escaping text). */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The destination of a message. Throws `ChannelError('rejected')` for an address that is not a Slack address. */
export function targetOf({ chatId, threadId }: Place): { channel: string; thread_ts?: string } {
  if (!CHAT_ID.test(chatId))
    throw new ChannelError('rejected', `"${chatId.slice(0, 40)}" is not the id of a Slack channel.`);
  if (threadId === undefined) return { channel: chatId };
  if (!TS.test(threadId))
    throw new ChannelError('rejected', `"${threadId.slice(0, 40)}" is not the id of a Slack thread.`);
  return { channel: chatId, thread_ts: threadId };
}
