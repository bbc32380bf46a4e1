/** Topics of private chats and forum groups: one for each conversation that is started in the chat, named after the title of the conversation. */
import { toGatewayError } from '../../src/protocol/errors.ts';
import type { Log } from '../../src/protocol/log.ts';
import { addressOf, parseAddress, type Place, type SessionKey } from '../../src/protocol/message.ts';
import type { ChatSettingStore } from '../../src/protocol/channel.ts';
import { clipEnd, oneLine } from '../../src/lib/text.ts';
import type { BotApi } from './bot-api.ts';
import { topicRefusal } from './errors.ts';
import type { TopicChange } from './receiving/inbound.ts';

/** Longest name (Bot API `createForumTopic`). */
const MAX_TOPIC_NAME = 128;
/** How long after it was opened or last named a topic still follows the title of its conversation. */
const NAMING_MS = 30 * 24 * 3_600_000;
const SETTING = 'topic';
/** Only supergroups can be forums. */
const SUPERGROUP = /^-100\d/;

/** The topics that this bot names. */
export class Topics {
  readonly #bot: BotApi;
  readonly #chatSettings: ChatSettingStore;
  readonly #log: Log;
  /** Whether topics are enabled for the bot's private chats (`getMe`). */
  areOn = false;

  constructor(bot: BotApi, chatSettings: ChatSettingStore, log: Log) {
    this.#bot = bot;
    this.#chatSettings = chatSettings;
    this.#log = log;
  }

  /** `createForumTopic`; undefined if the chat has no topics, `no_right` if the bot may not open any. Throws `ChannelError`. */
  async open({ channel, chatId }: Place, name: string): Promise<Place | 'no_right' | undefined> {
    const hasTopics = chatId.startsWith('-') ? SUPERGROUP.test(chatId) : this.areOn;
    if (!hasTopics) return undefined;
    const topic = await this.#bot.call('createForumTopic', async (api, limit) => {
      try {
        return await api.createForumTopic(chatId, nameOf(name), {}, limit);
      } catch (error) {
        const refusal = topicRefusal(error);
        if (refusal === undefined) throw error;
        return refusal;
      }
    });
    if (topic === 'no_right') return topic;
    if (topic === 'no_forum') return undefined;
    const place = { channel, chatId, threadId: String(topic.message_thread_id) };
    await this.#remember(place, 'open');
    return place;
  }

  /** Remembers whether the bot may name a person's topic. Never throws. */
  async note({ chatId, threadId, isNamed }: TopicChange): Promise<void> {
    await this.#remember({ channel: 'telegram', chatId, threadId }, isNamed ? undefined : 'open');
  }

  /** Names the topic of a conversation that now has a title, unless a person has named it. Never throws. */
  async title(session: SessionKey, title: string): Promise<void> {
    const { channel, chatId, threadId } = parseAddress(session);
    if (channel !== 'telegram' || threadId === undefined) return;
    const place = { channel, chatId, threadId };
    try {
      if ((await this.#chatSettings.chatSetting(addressOf(place), SETTING)) === undefined) return;
      const topic = Number(threadId);
      await this.#bot.call('editForumTopic', (api, limit) =>
        api.editForumTopic(chatId, topic, { name: nameOf(title) }, limit),
      );
      await this.#remember(place, 'open');
    } catch (error) {
      this.#log.info({ err: toGatewayError(error), chatId, threadId }, 'telegram_topic_not_named');
    }
  }

  async #remember(place: Place, value: 'open' | undefined): Promise<void> {
    try {
      await this.#chatSettings.setChatSetting(addressOf(place), SETTING, value, NAMING_MS);
    } catch (error) {
      this.#log.warn({ err: toGatewayError(error), chatId: place.chatId }, 'telegram_topic_not_noted');
    }
  }
}

function nameOf(title: string): string {
  return clipEnd(oneLine(title).toWellFormed(), MAX_TOPIC_NAME);
}
