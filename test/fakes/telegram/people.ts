/** What people do with the bot besides writing to it: each becomes an update as Telegram sends it. */
import { chatJson } from './json.ts';
import type { FakeTelegram } from './telegram.ts';
import { FAKE_BOT } from './telegram.ts';

/** The bot's status in a chat (Bot API `ChatMember`); a person who blocks it makes it `kicked`. */
export type BotStatus = 'member' | 'administrator' | 'restricted' | 'left' | 'kicked';

/** Somebody adds, removes, promotes or blocks the bot; gives the update's id. A bot that is no member can no longer write. */
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

/** An administrator of a group writes in its name; gives the update's id. */
export function saysAnonymously(fake: FakeTelegram, chatId: string, text: string): number {
  const chat = fake.chats.open(chatId);
  const from = { id: 1_087_968_824, is_bot: true, first_name: 'Group', username: 'GroupAnonymousBot' };
  return fake.says(chatId, text, '1087968824', { fields: { from, sender_chat: chatJson(chat) } });
}
