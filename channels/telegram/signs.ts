/** Updates that are no messages: the membership of the bot, and reactions to messages. Pure. */
import type { Inbound, Reader } from './inbound-kinds.ts';
import { nameOf } from './quoted.ts';
import type { TelegramMembership, TelegramReaction } from './update.ts';

/** The reaction that stops the answer it is given to. */
const STOP_REACTION = '👎';

/** `kicked` is also the word for a bot that a person has blocked. */
export function fromMembership(id: string, membership: TelegramMembership, bot: Reader): Inbound {
  const { chat, from, old_chat_member: before, new_chat_member: after } = membership;
  if (chat.type === 'channel') return { kind: 'ignored', why: 'about a channel' };
  if (isMember(before) === isMember(after)) return { kind: 'ignored', why: 'another right of the bot' };
  return {
    kind: 'membership',
    change: {
      id,
      channel: 'telegram',
      chatId: chat.id,
      place: chat.type === 'private' ? 'private' : 'group',
      change: isMember(after) ? 'joined' : 'left',
      byId: from.id,
      readsAll: bot.readsAll === true,
    },
  };
}

function isMember({ status, is_member: stays }: TelegramMembership['old_chat_member']): boolean {
  return status === 'restricted' ? stays === true : status !== 'left' && status !== 'kicked';
}

/** Somebody reacts to a message; Telegram does not tell in which topic. Reactions in the name of a chat have nobody behind them. */
export function fromReaction(id: string, reaction: TelegramReaction): Inbound {
  const { chat, user, message_id: stops, old_reaction: before, new_reaction: now } = reaction;
  const isStop = now.some(isStopReaction) && !before.some(isStopReaction);
  if (!isStop || user === undefined || user.is_bot)
    return { kind: 'ignored', why: 'a reaction that asks nothing' };
  return {
    kind: 'message',
    textLength: 0,
    isCommand: false,
    message: {
      id,
      channel: 'telegram',
      chatId: chat.id,
      senderId: user.id,
      senderName: nameOf(user),
      content: '',
      stops,
      // It stops only what runs now.
      timestamp: 0,
      media: [],
      place: chat.type === 'private' ? 'private' : 'group',
      mentioned: true,
    },
  };
}

function isStopReaction({ emoji }: TelegramReaction['new_reaction'][number]): boolean {
  return emoji === STOP_REACTION;
}
