/** Converts Telegram's updates to `InboundMessage`s; ignores everything that no person wrote to the bot. Pure. */
import { toAct } from '../../../src/protocol/channel-parts.ts';
import type { ChannelIdentity } from '../../../src/protocol/channel.ts';
import type { InboundMessage, MembershipChange, SentMessage } from '../../../src/protocol/message.ts';
import type { BusinessMessage } from '../business.ts';
import { guestMessage, inlineMessage } from '../elsewhere.ts';
import { enclosureOf, mediaOf, nameOf, quotedOf } from './content.ts';
import { withoutBotName, withoutMention } from './bot-name.ts';
import { markedText } from './marked-text.ts';
import {
  GENERAL_TOPIC,
  type TelegramDraftStop,
  type TelegramEntity,
  type TelegramMembership,
  type TelegramMessage,
  type TelegramPress,
  type TelegramReaction,
  type TelegramUpdate,
  updateSchema,
} from './update.ts';

/** Telegram's own account that forwards a linked channel's posts into its group. */
const LINKED_CHANNEL_ID = '777000';
/** The reaction that stops the answer below which it appears. */
const STOP_REACTION = '👎';

/** The content of an update: a message, a button press to acknowledge, a moved chat, or nothing, with the reason for the log. */
export type Inbound =
  | MessageInbound
  /** Without a message if the update lacks the button or its place: the press is then only acknowledged. */
  | { kind: 'button'; callbackId: string; message?: InboundMessage }
  /** The bot was added to a chat, or can no longer write there. */
  | { kind: 'membership'; change: MembershipChange }
  /** A group has become a supergroup, which has a different id. */
  | { kind: 'moved'; from: string; to: string }
  | { kind: 'topic'; topic: TopicChange }
  /** A message in a chat of a connected account; the rest is as if it stood in a private chat of the bot. */
  | ({ kind: 'business'; received: MessageInbound } & Pick<BusinessMessage, 'connectionId' | 'contactId'>)
  | { kind: 'business_deleted'; connectionId: string; messageIds: string[] }
  | { kind: 'connection'; connection: NonNullable<TelegramUpdate['business_connection']> }
  /** Someone types a question in another chat; `message` is what they would ask. */
  | { kind: 'inline'; queryId: string; message: InboundMessage }
  | Ignored;

/** `album` is the same for all parts of an album, and only for those; the rest identifies the parts of a long text. */
export interface MessageInbound {
  kind: 'message';
  message: InboundMessage;
  album?: string;
  textLength: number;
  isCommand: boolean;
}

export interface Ignored {
  kind: 'ignored';
  reason: string;
  /** Set if a person wrote it: that person is waiting for an answer that will not come. */
  from?: { chatId: string; threadId: string | undefined; senderId: string } | undefined;
}

/** A topic of a private chat that a person has opened or named. */
export interface TopicChange {
  chatId: string;
  threadId: string;
  /** The person has chosen its name. */
  isNamed: boolean;
}

/** The bot that reads updates, and its commands: a group's command without a bot's name is meant for it. */
export interface Reader extends ChannelIdentity {
  commands: ReadonlySet<string>;
}

/** Reads one element of `getUpdates`, which may be any value. Never throws. */
export function toInbound(update: unknown, bot: Reader): Inbound {
  const parsed = updateSchema.safeParse(update);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return ignored(`malformed at ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
  }
  const {
    message: newMessage,
    edited_message: edited,
    guest_message: guest,
    update_id: updateId,
  } = parsed.data;
  const id = `${bot.id}:${updateId}`;
  const message = newMessage ?? edited ?? guest;
  if (message === undefined) return fromBusiness(id, parsed.data, bot) ?? fromOther(id, parsed.data, bot);
  return fromMessage(id, message, { isEdit: edited !== undefined, guest }, bot);
}

/** A message of a person, a group's new id, or a topic. */
function fromMessage(
  id: string,
  message: TelegramMessage,
  { isEdit: edited, guest }: { isEdit: boolean; guest?: TelegramUpdate['guest_message'] },
  bot: Reader,
): Exclude<Inbound, { kind: 'business' }> {
  const service = edited ? undefined : fromService(message, bot.id);
  if (service !== undefined) return service;
  const reason = reasonToIgnore(message, bot.id);
  const { chat, from } = message;
  const author = from?.id === bot.id || edited ? undefined : message;
  if (from === undefined || reason !== undefined) return ignored(reason ?? 'without a sender', author);
  const media = mediaOf(message);
  const text = message.text ?? message.caption ?? '';
  const enclosure = enclosureOf(message);
  if (text === '' && media.length === 0 && !enclosure) return ignored('without text or file', message);
  const entities = message.entities ?? message.caption_entities ?? [];
  const place = chat.type === 'private' ? 'private' : 'group';
  const { content, isCalled } = withoutBotName(markedText(text, entities), entities, bot);
  const isCommand = bot.commands.has(commandOf(content));
  if (edited && (isCommand || (message.text ?? message.caption) === undefined))
    return ignored('an edit of no question');
  if (guest && isCommand) return ignored('a command to a guest');
  const origin = message.forward_origin ?? (enclosure?.by && { author: enclosure.by });
  const { ephemeral_message_id: hiddenId, media_group_id: album } = message;
  return {
    kind: 'message',
    ...(album !== undefined && { album: `${chat.id} ${from.id} ${album}` }),
    textLength: text.length,
    isCommand,
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
      quoted: quotedOf(repliedTo(message), message.quote, message.external_reply, bot.id, from.id),
      place,
      ...(origin && { forwarded: true, forwardedFrom: origin.author }),
      mentioned: place === 'private' || isCalled || isNamed(message, text, entities, bot),
      ...(hiddenId === undefined ? { messageId: message.message_id } : { hiddenId: String(hiddenId) }),
      isEdit: edited || undefined,
      ...(guest && elsewhere(`guest${chat.id}`, from.id, guestMessage(guest.guest_query_id))),
    },
  };
}

/** What happens in connected accounts, except for what was sent in their owners' name; undefined for other updates. */
function fromBusiness(id: string, update: TelegramUpdate, bot: Reader): Inbound | undefined {
  const {
    business_connection: connection,
    business_message: first,
    edited_business_message: edited,
  } = update;
  if (connection !== undefined) return { kind: 'connection', connection };
  const { business_connection_id: gone, message_ids: messageIds } = update.deleted_business_messages ?? {};
  if (gone !== undefined && messageIds !== undefined)
    return { kind: 'business_deleted', connectionId: gone, messageIds };
  const message = first ?? edited;
  if (message === undefined) return undefined;
  const { business_connection_id: connectionId, chat, from } = message;
  if (connectionId === undefined || chat.type !== 'private') return ignored('in no chat of an account');
  const isAutomatic = message.sender_business_bot !== undefined || message.is_from_offline === true;
  if (isAutomatic || from?.is_bot === true) return ignored('written by no person, in a chat of an account');
  const received = fromMessage(id, message, { isEdit: edited !== undefined }, bot);
  if (received.kind !== 'message') return ignored('no question, in a chat of an account');
  return { kind: 'business', connectionId, contactId: chat.id, received };
}

/** The name of the command with which a text begins, in lower case; '' without one. */
function commandOf(content: string): string {
  return /^\/([a-z0-9_]+)(?:\s|$)/i.exec(content)?.[1]?.toLowerCase() ?? '';
}

/** What a question in a chat where the bot is no member has in place of that: the asker's private chat, and a thread of its own. */
function elsewhere(threadId: string, senderId: string, placeholder: SentMessage) {
  const outside = { place: 'group', isGuest: true, mentioned: true } as const;
  return { chatId: senderId, threadId, ...outside, messageId: undefined, replyTo: undefined, placeholder };
}

/** A question of inline mode; every one has a conversation of its own, because Telegram does not name the chat. */
function fromInline(
  id: string,
  { from, query: content }: { from: TelegramPress['from']; query: string },
  placeholder: SentMessage,
  bot: Reader,
): InboundMessage {
  const [, updateId] = id.split(':');
  return {
    id,
    channel: 'telegram',
    senderId: from.id,
    senderName: nameOf(from),
    language: from.language_code,
    content: withoutMention(content, [], bot),
    timestamp: 0,
    media: [],
    ...elsewhere(`inline${updateId}`, from.id, placeholder),
  };
}

/** `author`: the message of a person who waits for an answer. */
function ignored(reason: string, author?: TelegramMessage): Ignored {
  const from = author && {
    chatId: author.chat.id,
    threadId: threadOf(author),
    senderId: author.from?.id ?? '',
  };
  return { kind: 'ignored', reason, from };
}

function fromOther(id: string, update: TelegramUpdate, bot: Reader): Inbound {
  const { callback_query: press, my_chat_member: membership, message_reaction: reaction } = update;
  if (press) return fromPress(id, press, bot);
  if (membership) return fromMembership(id, membership, bot);
  const { inline_query: typed, chosen_inline_result: chosen } = update;
  if (typed)
    return { kind: 'inline', queryId: typed.id, message: fromInline(id, typed, inlineMessage(''), bot) };
  if (chosen) {
    const { inline_message_id: inlineId, query } = chosen;
    if (inlineId === undefined) return ignored('an inline result without a message');
    const asked = fromInline(id, chosen, inlineMessage(inlineId), bot);
    if (asked.content.startsWith('/')) return ignored('an inline result that is no question');
    return { kind: 'message', textLength: query.length, isCommand: false, message: asked };
  }
  if (update.stopped_message_generation) return fromDraftStop(id, update.stopped_message_generation);
  return reaction ? fromReaction(id, reaction) : ignored('of a kind that is not answered');
}

/** A message of Telegram itself: the group has a new id, or a topic was opened or named. Undefined for any other. */
function fromService(
  message: TelegramMessage,
  botId: string,
): Extract<Inbound, { kind: 'moved' | 'topic' }> | undefined {
  const { chat, from, migrate_to_chat_id: newId, migrate_from_chat_id: oldId } = message;
  if (newId !== undefined) return { kind: 'moved', from: chat.id, to: newId };
  if (oldId !== undefined) return { kind: 'moved', from: oldId, to: chat.id };
  const { message_thread_id: threadId, forum_topic_created: created, forum_topic_edited: edited } = message;
  if (chat.type !== 'private' || threadId === undefined || from?.id === botId) return undefined;
  const topic = { chatId: chat.id, threadId };
  if (created) return { kind: 'topic', topic: { ...topic, isNamed: created.is_name_implicit !== true } };
  return edited?.name === undefined ? undefined : { kind: 'topic', topic: { ...topic, isNamed: true } };
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
function reasonToIgnore(message: TelegramMessage, botId: string): string | undefined {
  if (!message.from) return 'a channel post or without a sender';
  if (message.sender_chat && !isAnonymousAdmin(message)) return 'written in the name of another chat';
  if (message.from.id === botId) return 'written by this bot';
  if (message.via_bot) return 'written through an inline bot';
  if (message.from.id === LINKED_CHANNEL_ID || message.is_automatic_forward === true)
    return 'a linked channel post';
  if (message.chat.type === 'channel') return 'a channel post';
  return undefined;
}

/** What people do other than writing, as a message without text. Telegram gives no time for it, and nothing uses one. */
function actIn(chat: TelegramMessage['chat'], id: string, senderId: string): InboundMessage {
  const place = chat.type === 'private' ? 'private' : 'group';
  return toAct({ id, channel: 'telegram', chatId: chat.id, senderId, timestamp: 0, place });
}

/** Converts a button press to a message without text; its chat is that of the message with the button. */
function fromPress(id: string, press: TelegramPress, bot: Reader): Inbound {
  const { id: callbackId, from, data, message } = press;
  if (data === undefined || message === undefined || from.is_bot) return { kind: 'button', callbackId };
  return {
    kind: 'button',
    callbackId,
    message: {
      ...actIn(message.chat, id, from.id),
      threadId: threadOf(message),
      senderName: nameOf(from),
      language: from.language_code,
      button: data,
      // A forged press could name any message; only the bot's own messages may be changed.
      ...(message.from?.id === bot.id && { buttonUnder: { id: message.message_id } }),
    },
  };
}

/** `kicked` also stands for a bot that a person has blocked. */
function fromMembership(id: string, membership: TelegramMembership, bot: Reader): Inbound {
  const { chat, from, old_chat_member: former, new_chat_member: current } = membership;
  if (chat.type === 'channel') return ignored('about a channel');
  if (isMember(former) === isMember(current)) return ignored('another right of the bot');
  return {
    kind: 'membership',
    change: {
      id,
      channel: 'telegram',
      chatId: chat.id,
      place: chat.type === 'private' ? 'private' : 'group',
      change: isMember(current) ? 'joined' : 'left',
      byId: from.id,
      language: from.language_code,
      readsAll: bot.readsAll === true,
    },
  };
}

function isMember({ status, is_member: stays }: TelegramMembership['old_chat_member']): boolean {
  return status === 'restricted' ? stays === true : status !== 'left' && status !== 'kicked';
}

/** A person reacts, in a topic that Telegram does not name; only what runs now stops. A chat's reactions have no author. */
function fromReaction(id: string, reaction: TelegramReaction): Inbound {
  const { chat, user, message_id: stops, old_reaction: former, new_reaction: current } = reaction;
  const isStop = current.some(isStopReaction) && !former.some(isStopReaction);
  if (!isStop || user === undefined || user.is_bot) return ignored('a reaction that asks nothing');
  const message = { ...actIn(chat, id, user.id), senderName: nameOf(user), stops };
  return { kind: 'message', textLength: 0, isCommand: false, message };
}

function isStopReaction({ emoji }: TelegramReaction['new_reaction'][number]): boolean {
  return emoji === STOP_REACTION;
}

/** The button below a draft, only in private chats: treated as if the person had written `/stop`. It stops only what is running now. */
function fromDraftStop(id: string, { chat, message_thread_id: threadId }: TelegramDraftStop): Inbound {
  if (chat.type !== 'private') return ignored('a draft outside of a private chat');
  const message = { ...actIn(chat, id, chat.id), threadId, content: '/stop' };
  return { kind: 'message', textLength: 0, isCommand: true, message };
}

/**
 * Who wrote a message. Anonymous administrators share one Telegram account (1087968824) in all groups. They are
 * identified by the id of their group, which has the group's rights and cannot be a person's, and by their title
 * there or the group's, as Telegram shows them.
 */
function writerOf(message: TelegramMessage, from: TelegramPress['from']) {
  const { chat, author_signature: title } = message;
  if (isAnonymousAdmin(message))
    return { senderId: chat.id, senderName: title ?? chat.title, chatName: chat.title };
  return {
    senderId: from.id,
    ...(from.is_bot && { fromBot: true as const }),
    senderName: nameOf(from),
    ...(chat.title !== undefined && { chatName: chat.title }),
    language: from.language_code,
  };
}

/** The id of the topic; in a forum, a message outside every topic is in General. Threads of plain replies are not topics. */
function threadOf(message: NonNullable<TelegramPress['message']>): string | undefined {
  if (message.is_topic_message === true) return message.message_thread_id;
  return message.chat.is_forum === true ? GENERAL_TOPIC : undefined;
}

/**
 * The message replied to; in a topic every message replies to the one that opened it, which does not count. In a
 * supergroup without topics, a reply also has a thread: that of the first message in its chain of replies.
 */
function repliedTo(message: TelegramMessage): TelegramMessage['reply_to_message'] {
  const { reply_to_message: target, message_thread_id: thread, is_topic_message: isInTopic } = message;
  const opensTopic = isInTopic === true && target?.message_id === thread;
  return opensTopic || target?.forum_topic_created !== undefined ? undefined : target;
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
