/**
 * Converts a Telegram update to an `InboundMessage`; ignores everything that was not written to the bot by a person.
 * Pure.
 */
import type { ChannelIdentity } from '../../../src/protocol/channel.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import { enclosureOf, mediaOf } from './content.ts';
import { nameOf, quotedOf } from './quoted.ts';
import { type TelegramEntity, type TelegramMessage, type TelegramPress, updateSchema } from './update.ts';
import type { Inbound, Reader } from './inbound-kinds.ts';
import { fromDraftStop, fromMembership, fromReaction, topicOf } from './other-updates.ts';

/** Telegram's own account that forwards a linked channel's posts into its group. */
const LINKED_CHANNEL_ID = '777000';

/** The General topic: its messages name no thread, yet it is a topic. */
export const GENERAL_TOPIC = '1';

/** Reads one element of `getUpdates`, which may be any value. Never throws. */
export function toInbound(update: unknown, bot: Reader): Inbound {
  const parsed = updateSchema.safeParse(update);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { kind: 'ignored', why: `malformed at ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}` };
  }
  const { update_id: updateId, message, callback_query: press, my_chat_member: membership } = parsed.data;
  const {
    edited_message: edited,
    message_reaction: reaction,
    stopped_message_generation: stop,
  } = parsed.data;
  if (press) return fromPress(`${bot.id}:${updateId}`, press, bot);
  if (membership) return fromMembership(`${bot.id}:${updateId}`, membership, bot);
  if (stop) return fromDraftStop(`${bot.id}:${updateId}`, stop);
  if (reaction) return fromReaction(`${bot.id}:${updateId}`, reaction);
  if (edited) return fromEdit(`${bot.id}:${updateId}`, edited, bot);
  if (!message) return { kind: 'ignored', why: 'of a kind that is not answered' };
  const { chat, migrate_to_chat_id: to, migrate_from_chat_id: from } = message;
  if (to !== undefined) return { kind: 'moved', from: chat.id, to };
  if (from !== undefined) return { kind: 'moved', from, to: chat.id };
  const topic = topicOf(message, bot.id);
  if (topic !== undefined) return { kind: 'topic', topic };
  const why = notAnswered(message, bot.id);
  if (why === undefined) return fromMessage(`${bot.id}:${updateId}`, message, bot);
  return { kind: 'ignored', why, ...(message.from?.id !== bot.id && writtenBy(message)) };
}

/**
 * The new text of a message. Edits without text, such as a moving live location, change nothing that was read before.
 */
function fromEdit(id: string, message: TelegramMessage, bot: Reader): Inbound {
  const why = notAnswered(message, bot.id);
  if (why !== undefined) return { kind: 'ignored', why };
  const inbound = fromMessage(id, message, bot);
  if (inbound.kind !== 'message') return inbound;
  if (inbound.isCommand || (message.text ?? message.caption) === undefined)
    return { kind: 'ignored', why: 'an edit of no question' };
  return { ...inbound, message: { ...inbound.message, isEdit: true } };
}

function writtenBy(message: TelegramMessage): Pick<Extract<Inbound, { kind: 'ignored' }>, 'from'> {
  const { chat, from } = message;
  return { from: { chatId: chat.id, threadId: threadOf(message), senderId: from?.id ?? '' } };
}

/** An administrator of the group who writes in its name. Telegram guarantees that only administrators can. */
function isAnonymousAdmin({ chat, sender_chat: author }: TelegramMessage): boolean {
  return author !== undefined && author.id === chat.id && chat.type !== 'channel';
}

/**
 * Why a message is not answered, whatever it says; undefined if a person or another bot wrote it. Behind messages
 * written as a channel and behind linked channels there is no one to authorize; inline bots send text that others
 * wrote.
 */
function notAnswered(message: TelegramMessage, botId: string): string | undefined {
  if (!message.from) return 'a channel post or without a sender';
  if (message.sender_chat && !isAnonymousAdmin(message)) return 'written in the name of another chat';
  if (message.from.id === botId) return 'written by this bot';
  if (message.via_bot) return 'written through an inline bot';
  if (message.from.id === LINKED_CHANNEL_ID || message.is_automatic_forward === true)
    return 'a linked channel post';
  if (message.chat.type === 'channel') return 'a channel post';
  return undefined;
}

/** Converts a button press to a message without text; its chat is that of the message with the button. */
function fromPress(id: string, press: TelegramPress, bot: Reader): Inbound {
  const { id: callbackId, from, data, message } = press;
  if (data === undefined || message === undefined || from.is_bot) return { kind: 'button', callbackId };
  return {
    kind: 'button',
    callbackId,
    message: {
      id,
      channel: 'telegram',
      chatId: message.chat.id,
      threadId: threadOf(message),
      senderId: from.id,
      senderName: nameOf(from),
      language: from.language_code,
      content: '',
      button: data,
      // A forged press could name any message; only the bot's own messages may be changed.
      ...(message.from?.id === bot.id && { buttonUnder: { id: message.message_id } }),
      // Telegram gives no time for a press, and nothing uses it.
      timestamp: 0,
      media: [],
      place: message.chat.type === 'private' ? 'private' : 'group',
      mentioned: true,
    },
  };
}

function fromMessage(id: string, message: TelegramMessage, bot: Reader): Inbound {
  const { chat, from } = message;
  const media = mediaOf(message);
  const text = message.text ?? message.caption ?? '';
  const enclosure = enclosureOf(message);
  if (!from || (text === '' && media.length === 0 && !enclosure))
    return { kind: 'ignored', why: 'without text or file', ...writtenBy(message) };
  const entities = message.entities ?? message.caption_entities ?? [];
  const place = chat.type === 'private' ? 'private' : 'group';
  const { content, called } = withoutBotName(text, entities, bot);
  const [, command] = /^\/([a-z0-9_]+)(?:\s|$)/i.exec(content) ?? [];
  const author = message.forward_origin ?? (enclosure?.by && { author: enclosure.by });
  const { quote: chosen, external_reply: elsewhere } = message;
  const quoted = quotedOf(
    { answered: repliedTo(message), chosen, elsewhere },
    { botId: bot.id, sender: from.id },
  );
  return {
    kind: 'message',
    ...(message.media_group_id !== undefined && { album: `${chat.id} ${from.id} ${message.media_group_id}` }),
    textLength: text.length,
    isCommand: command !== undefined && bot.commands.has(command.toLowerCase()),
    message: {
      id,
      channel: 'telegram',
      chatId: chat.id,
      threadId: threadOf(message),
      ...writerOf(message, from),
      content: [content, enclosure?.text ?? ''].filter(Boolean).join('\n'),
      timestamp: message.date * 1_000,
      media,
      replyTo: repliedTo(message)?.message_id,
      ...(quoted && { quoted }),
      place,
      ...(author && { forwarded: true, forwardedFrom: author.author }),
      mentioned: place === 'private' || called || isNamed(message, text, entities, bot),
      ...(message.ephemeral_message_id === undefined
        ? { messageId: message.message_id }
        : { hiddenId: String(message.ephemeral_message_id) }),
    },
  };
}

/**
 * Who wrote a message. Anonymous administrators share one Telegram account (1087968824) in all groups. They are
 * identified by the id of their group, which has the group's rights and cannot be a person's, and by their title
 * there or the group's, as Telegram shows them.
 */
function writerOf(
  message: TelegramMessage,
  from: TelegramPress['from'],
): Pick<InboundMessage, 'senderId' | 'senderName' | 'fromBot' | 'language'> {
  const { chat, author_signature: title } = message;
  if (isAnonymousAdmin(message)) return { senderId: chat.id, senderName: title ?? chat.title };
  return {
    senderId: from.id,
    ...(from.is_bot && { fromBot: true }),
    senderName: nameOf(from),
    ...(from.language_code !== undefined && { language: from.language_code }),
  };
}

/** The id of the topic; in a forum, a message outside every topic is in General. Threads of plain replies are not topics. */
function threadOf(
  message: Pick<TelegramMessage, 'is_topic_message' | 'message_thread_id' | 'chat'>,
): string | undefined {
  if (message.is_topic_message === true) return message.message_thread_id;
  return message.chat.is_forum === true ? GENERAL_TOPIC : undefined;
}

/**
 * The message replied to. Telegram marks every message in a topic as a reply to the one that opened it: that does not
 * count.
 */
function repliedTo(message: TelegramMessage): TelegramMessage['reply_to_message'] {
  const { reply_to_message: answered, message_thread_id: thread } = message;
  return answered?.message_id === thread ? undefined : answered;
}

/** `/stop@this_bot` becomes `/stop`; a command for another bot keeps its name, so that it does not run here. */
function withoutBotName(
  text: string,
  entities: TelegramEntity[],
  bot: Reader,
): { content: string; called: boolean } {
  const command = entities.find((entity) => entity.type === 'bot_command' && entity.offset === 0);
  if (!command) return { content: text, called: false };
  const [name = '', addressee] = text.slice(0, command.length).split('@');
  if (addressee === undefined) {
    return { content: text, called: bot.commands.has(name.slice(1).toLowerCase()) };
  }
  if (addressee.toLowerCase() !== bot.name.toLowerCase()) return { content: text, called: false };
  return { content: name + text.slice(command.length), called: true };
}

/** Named by `@username` (or a mention of the account), or replied to. */
function isNamed(
  message: TelegramMessage,
  text: string,
  entities: TelegramEntity[],
  bot: ChannelIdentity,
): boolean {
  if (repliedTo(message)?.from?.id === bot.id) return true;
  const name = `@${bot.name.toLowerCase()}`;
  return entities.some(
    ({ type, offset, length, user }) =>
      (type === 'mention' && text.slice(offset, offset + length).toLowerCase() === name) ||
      (type === 'text_mention' && user?.id === bot.id),
  );
}
