/** Updates that are not messages: the bot's membership, and reactions to messages. Pure. */
import type { Inbound, Reader, TopicNews } from './inbound-kinds.ts';
import { nameOf } from './quoted.ts';
import type { TelegramDraftStop, TelegramMembership, TelegramMessage, TelegramReaction } from './update.ts';

/** The reaction that stops the answer below which it appears. */
const STOP_REACTION = '👎';

/** `kicked` also stands for a bot that a person has blocked. */
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
      ...(from.language_code !== undefined && { language: from.language_code }),
      readsAll: bot.readsAll === true,
    },
  };
}

function isMember({ status, is_member: stays }: TelegramMembership['old_chat_member']): boolean {
  return status === 'restricted' ? stays === true : status !== 'left' && status !== 'kicked';
}

/**
 * A person reacts to a message; Telegram does not say in which topic. Reactions in the name of a chat have no person
 * behind them.
 */
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
      // It stops only what is running now.
      timestamp: 0,
      media: [],
      place: chat.type === 'private' ? 'private' : 'group',
      mentioned: true,
    },
  };
}

/** A topic that a person has opened or named in a private chat; undefined for any other message. */
export function topicOf(message: TelegramMessage, botId: string): TopicNews | undefined {
  const { chat, from, message_thread_id: threadId } = message;
  const { forum_topic_created: created, forum_topic_edited: edited } = message;
  if (chat.type !== 'private' || threadId === undefined || from?.id === botId) return undefined;
  if (created) return { chatId: chat.id, threadId, isNamed: created.is_name_implicit !== true };
  return edited?.name === undefined ? undefined : { chatId: chat.id, threadId, isNamed: true };
}

/** The button below a draft, only in private chats: treated as if the person had written `/stop`. */
export function fromDraftStop(id: string, { chat, message_thread_id: threadId }: TelegramDraftStop): Inbound {
  if (chat.type !== 'private') return { kind: 'ignored', why: 'a draft outside of a private chat' };
  const place = { chatId: chat.id, threadId, senderId: chat.id };
  return {
    kind: 'message',
    textLength: 0,
    isCommand: true,
    message: {
      id,
      channel: 'telegram',
      ...place,
      content: '/stop',
      // It stops only what is running now.
      timestamp: 0,
      media: [],
      place: 'private',
      mentioned: true,
    },
  };
}

function isStopReaction({ emoji }: TelegramReaction['new_reaction'][number]): boolean {
  return emoji === STOP_REACTION;
}
