/** What is kept of a message that others wrote, until the next turn reads it. Pure. */
import type { EarlierMessage } from '../protocol/channel.ts';
import type { InboundMessage } from '../protocol/message.ts';
import { type IdentifiedMessage, MAX_OBSERVED_CHARS } from '../protocol/store/group-chats.ts';
import { oneLine } from '../lib/text.ts';

/** A message that others wrote, as it is kept. */
export function observedMessage(message: Omit<EarlierMessage, 'isOwn'>): IdentifiedMessage {
  const { id, senderId, senderName = `user ${senderId}` } = message;
  return { id, senderId, senderName, content: observedText(message) };
}

/** A message as one line, with its files by kind. */
export function observedText({
  content,
  media,
  forwarded,
}: Pick<InboundMessage, 'content' | 'media' | 'forwarded'>): string {
  const files = media.map(({ kind }) => `[${kind}]`);
  const text = oneLine([forwarded === true ? '(forwarded)' : '', content, ...files].join(' '));
  return text.length <= MAX_OBSERVED_CHARS ? text : `${text.slice(0, MAX_OBSERVED_CHARS)}…`;
}
