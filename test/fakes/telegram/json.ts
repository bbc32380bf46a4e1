/** The JSON shapes the Bot API returns for messages. */
import type { FakeChat, FakeMessage } from './chats.ts';

/** What a person's message may have besides its text. */
export interface Saying {
  threadId?: number;
  /** Id of the message answered. */
  replyTo?: number;
  /** Further fields of the message, over the usual ones: `photo`, `via_bot`, `sender_chat`, … */
  fields?: Record<string, unknown>;
}

interface Bot {
  id: number;
  username: string;
}

/** A chat, as updates name it. */
export function chatJson(chat: FakeChat): Record<string, unknown> {
  const id = Number(chat.id);
  if (chat.type === 'private') return { id, type: chat.type, first_name: `Person ${chat.id}` };
  return { id, type: chat.type, title: `Group ${chat.id}`, ...(chat.isForum ? { is_forum: true } : {}) };
}

/** Commands and mentions as the server finds them in a text. */
function foundEntities(text: string): Record<string, unknown>[] {
  return [...text.matchAll(/(?<![\w/@])(?:\/\w{1,64}(?:@\w+)?|@\w{3,32})/g)].map((match) => ({
    type: match[0].startsWith('/') ? 'bot_command' : 'mention',
    offset: match.index,
    length: match[0].length,
  }));
}

/** A message of a person, as an update carries it. */
export function personMessage(
  chat: FakeChat,
  message: FakeMessage,
  from: string,
  { threadId, replyTo, fields }: Saying,
): Record<string, unknown> {
  const entities = foundEntities(message.text);
  const answered = replyTo === undefined ? undefined : chat.messages.get(replyTo);
  return {
    message_id: message.id,
    date: message.date,
    chat: chatJson(chat),
    from: { id: Number(from), is_bot: false, first_name: `Person ${from}`, language_code: 'en' },
    text: message.text,
    ...(entities.length > 0 ? { entities } : {}),
    ...threadJson(chat, threadId, replyTo),
    ...(answered ? { reply_to_message: { ...senderOf(answered), ...plainJson(chat, answered) } } : {}),
    ...fields,
  };
}

/**
 * A message's thread. In a supergroup, a reply outside of topics has one as well: the first message of its chain of
 * replies, without `is_topic_message` (westacks/telebot#135, tdlib/telegram-bot-api#447).
 */
function threadJson(chat: FakeChat, threadId?: number, replyTo?: number): Record<string, unknown> {
  if (threadId !== undefined) return { message_thread_id: threadId, is_topic_message: true };
  if (replyTo === undefined || chat.type !== 'supergroup') return {};
  let root = replyTo;
  for (
    let next = chat.messages.get(root)?.replyTo;
    next !== undefined;
    next = chat.messages.get(root)?.replyTo
  )
    root = next;
  return { message_thread_id: root };
}

const BOT_SENDER = { id: 987_654_321, is_bot: true, first_name: 'Parley' };

function senderOf(message: FakeMessage): Record<string, unknown> {
  const { fromBot, from = '1' } = message;
  return { from: fromBot ? BOT_SENDER : { id: Number(from), is_bot: false, first_name: `Person ${from}` } };
}

function plainJson(chat: FakeChat, message: FakeMessage): Record<string, unknown> {
  return { message_id: message.id, date: message.date, chat: chatJson(chat), text: message.text };
}

/** The bot's own message, as `sendMessage` and `editMessageText` answer it. */
export function botMessage(
  { chat, message }: { chat: FakeChat; message: FakeMessage },
  bot: Bot,
): Record<string, unknown> {
  return {
    ...plainJson(chat, message),
    from: { ...bot, is_bot: true, first_name: 'Parley' },
    ...(message.entities.length > 0 ? { entities: message.entities } : {}),
    ...threadJson(chat, message.threadId, message.replyTo),
  };
}
