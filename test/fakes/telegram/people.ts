/** What people do with the bot besides writing to it: each becomes an update as Telegram sends it. */
import { chatJson, personMessage } from './json.ts';
import { FAKE_BOT, type FakeTelegram } from './telegram.ts';

/** The bot's status in a chat (Bot API `ChatMember`); a person who blocks it makes it `kicked`. */
export type BotStatus = 'member' | 'administrator' | 'restricted' | 'left' | 'kicked';

/**
 * Someone adds, removes, promotes or blocks the bot; returns the update's id. A bot that is not a member can no longer
 * write.
 */
export function changesBot(
  fake: FakeTelegram,
  chatId: string,
  from: string,
  [before, after]: [BotStatus, BotStatus],
): number {
  const chat = fake.chats.open(chatId);
  const isOut = after === 'left' || after === 'kicked';
  const why =
    chat.type === 'private' ? 'bot was blocked by the user' : `bot was kicked from the ${chat.type} chat`;
  if (isOut) fake.closeChat(chatId, why);
  else fake.openChat(chatId);
  const user = { ...FAKE_BOT, is_bot: true, first_name: 'Parley' };
  return fake.update({
    my_chat_member: {
      chat: chatJson(chat),
      from: { id: Number(from), is_bot: false, first_name: `Person ${from}` },
      date: Math.floor(Date.now() / 1_000),
      old_chat_member: { user, status: before },
      new_chat_member: { user, status: after },
    },
  });
}

/** An administrator of a group writes in its name; returns the update's id. */
export function saysAnonymously(fake: FakeTelegram, chatId: string, text: string): number {
  const chat = fake.chats.open(chatId);
  const from = { id: 1_087_968_824, is_bot: true, first_name: 'Group', username: 'GroupAnonymousBot' };
  return fake.says(chatId, text, '1087968824', { fields: { from, sender_chat: chatJson(chat) } });
}

/** A person edits a message; returns the update's id. Telegram also reports edits that a bot cannot see. */
export function editsMessage(fake: FakeTelegram, chatId: string, messageId: number, text: string): number {
  const chat = fake.chats.open(chatId);
  const message = chat.messages.get(messageId);
  if (message === undefined || message.fromBot)
    throw new Error(`no message ${messageId} of a person in ${chatId}`);
  message.text = text;
  const edited = personMessage(chat, message, message.from ?? '', {});
  return fake.update({ edited_message: { ...edited, edit_date: Math.floor(Date.now() / 1_000) } });
}

/** A person reacts to a message: in a group a bot receives it only as an administrator (Bot API `message_reaction`). */
export function reacts(
  fake: FakeTelegram,
  chatId: string,
  from: string,
  reaction: { messageId: number; before?: string; now?: string },
): void {
  const chat = fake.chats.open(chatId);
  if (chat.type !== 'private' && chat.botIsAdmin !== true) return;
  const listOf = (emoji: string | undefined) => (emoji === undefined ? [] : [{ type: 'emoji', emoji }]);
  fake.update({
    message_reaction: {
      chat: chatJson(chat),
      message_id: reaction.messageId,
      user: { id: Number(from), is_bot: false, first_name: `Person ${from}` },
      date: Math.floor(Date.now() / 1_000),
      old_reaction: listOf(reaction.before),
      new_reaction: listOf(reaction.now),
    },
  });
}
