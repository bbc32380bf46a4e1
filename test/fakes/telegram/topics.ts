/** Topics of chats, opened and named by the bot and by people (Bot API `createForumTopic`, `editForumTopic`, bot forums). */
import type { FakeChat, FakeChats } from './chats.ts';
import { chatJson } from './json.ts';
import { badRequest, forbidden, type Params, textOf } from './refusal.ts';
import type { FakeTelegram } from './telegram.ts';

const MAX_NAME = 128;

export class FakeTopics {
  /** @BotFather's switch "Threaded Mode". */
  inPrivate = false;
  /** Names by chat and topic, separated by a blank. */
  readonly names = new Map<string, string>();
  readonly #chats: FakeChats;
  #count = 700;

  constructor(chats: FakeChats) {
    this.#chats = chats;
  }

  /** What `getMe` reports about it. */
  ofBot(): Params {
    return { has_topics_enabled: this.inPrivate, allows_users_to_create_topics: this.inPrivate };
  }

  /** Adds a topic; returns its id. */
  add(chat: FakeChat, name: string): number {
    this.#count += 1;
    chat.topics.add(this.#count);
    this.names.set(`${chat.id} ${this.#count}`, name);
    return this.#count;
  }

  /** Answers the calls about topics; undefined for any other. Throws the server's refusals. */
  call(method: string, params: Params): unknown {
    switch (method) {
      case 'createForumTopic': {
        const name = readName(params, 1);
        const threadId = this.add(this.#forum(params), name);
        return { message_thread_id: threadId, name, icon_color: 7_322_096 };
      }
      case 'editForumTopic': {
        const chat = this.#forum(params);
        const key = `${chat.id} ${textOf(params['message_thread_id'])}`;
        if (!chat.topics.has(Number(params['message_thread_id']))) throw badRequest('TOPIC_ID_INVALID');
        const name = readName(params, 0);
        if (name === this.names.get(key)) throw badRequest('TOPIC_NOT_MODIFIED');
        if (name !== '') this.names.set(key, name);
        return true;
      }
      default:
        return undefined;
    }
  }

  /** A chat in which the bot may manage topics. */
  #forum(params: Params): FakeChat {
    const chat = this.#chats.find(params['chat_id']);
    if (chat.closed !== undefined) throw forbidden(chat.closed);
    const isForum = chat.type === 'private' ? this.inPrivate : chat.isForum;
    if (!isForum) throw badRequest('the chat is not a forum');
    if (chat.type !== 'private' && chat.botIsAdmin !== true)
      throw badRequest('not enough rights to manage topics');
    return chat;
  }
}

function readName(params: Params, least: number): string {
  const name = textOf(params['name']);
  if (Array.from(name).length < least || Array.from(name).length > MAX_NAME)
    throw badRequest('TOPIC_TITLE_INVALID');
  return name;
}

/** A person opens a topic in the private chat with the bot, usually without a name; returns its id. */
export function opensTopic(fake: FakeTelegram, chatId: string, name?: string): number {
  const chat = fake.chats.open(chatId);
  const threadId = fake.topics.add(chat, name ?? 'hello');
  const created = {
    name: name ?? 'hello',
    icon_color: 7_322_096,
    ...(name === undefined && { is_name_implicit: true }),
  };
  serviceMessage(fake, chat, threadId, { forum_topic_created: created });
  return threadId;
}

/** A person names a topic of the private chat with the bot. */
export function namesTopic(fake: FakeTelegram, chatId: string, threadId: number, name: string): void {
  const chat = fake.chats.open(chatId);
  fake.topics.names.set(`${chatId} ${threadId}`, name);
  serviceMessage(fake, chat, threadId, { forum_topic_edited: { name } });
}

function serviceMessage(fake: FakeTelegram, chat: FakeChat, threadId: number, fields: Params): void {
  const place = { message_thread_id: threadId, is_topic_message: true };
  const from = { id: Number(chat.id), is_bot: false, first_name: `Person ${chat.id}` };
  const { id, date } = fake.chats.post(chat, '', { from: chat.id, threadId });
  fake.update({ message: { message_id: id, date, chat: chatJson(chat), from, ...place, ...fields } });
}
