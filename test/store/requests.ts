/** Messages the way a channel hands them over. */
import type { AcceptRequest } from '../../src/protocol/store/accept.ts';
import { addressOf, type InboundMessage } from '../../src/protocol/message.ts';

/** A message the way a channel hands it over. */
export function inbound(id: string, change: Partial<InboundMessage> = {}): InboundMessage {
  return {
    id,
    channel: 'telegram',
    chatId: '42',
    senderId: '7',
    senderName: 'Ada',
    content: `text of ${id}`,
    timestamp: 0,
    media: [],
    place: 'private',
    mentioned: false,
    ...change,
  };
}

export function request(id: string, change: Partial<InboundMessage> = {}, node?: string): AcceptRequest {
  const message = inbound(id, change);
  return { message, address: addressOf(message), entry: 'runStream', node };
}
