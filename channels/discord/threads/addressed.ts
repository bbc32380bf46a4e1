/** Where messages need no mention of the bot: in threads that it has opened, and in forum posts for their authors. */
import type { ChannelKind, RawMessage } from '../receiving/inbound.ts';
import { isByBot, type KindOf } from './question-threads.ts';

export interface AddressedParts {
  botId: string;
  kindOf: KindOf;
  /** Ids of the channels that were allowed individually. */
  groups: () => Promise<readonly string[]>;
}

/**
 * True for a message that is meant for the bot by its place alone. In a forum that was allowed individually each post
 * is a question, and its author continues without a mention; other people there have to name the bot. Throws
 * `StoreError`.
 */
export async function isAddressed(
  message: RawMessage,
  { parentId, ownerId }: ChannelKind,
  { botId, kindOf, groups }: AddressedParts,
): Promise<boolean> {
  // Two bots would answer each other forever.
  if (parentId === undefined || ownerId === undefined || isByBot(message)) return false;
  if (ownerId === botId) return true;
  if (ownerId !== message.author.id) return false;
  const parent = await kindOf(parentId);
  return parent?.isForum === true && (await groups()).includes(parentId);
}
