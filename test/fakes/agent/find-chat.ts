/** A person with no chats other than those of the conversation. */
import type { FindChat } from '../../../src/protocol/delivery.ts';
import { isAddress } from '../../../src/protocol/message.ts';

export const noOtherChats: FindChat = async ({ to, address }) =>
  isAddress(to) ? { kind: 'foreign' } : { kind: 'none', others: [address] };
