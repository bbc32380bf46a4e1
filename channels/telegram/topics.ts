/** Topics of private chats and forum groups: one for each conversation that is started in the chat, named after the title of the conversation. */
import { toGatewayError } from '../../src/protocol/errors.ts';
import type { Log } from '../../src/protocol/log.ts';
import { addressOf, parseAddress, type Place, type SessionKey } from '../../src/protocol/message.ts';
import type { ChatSettingStore } from '../../src/protocol/channel.ts';
import { clipEnd, oneLine } from '../../src/lib/text.ts';
import type { BotApi } from './api/bot-api.ts';
import { whyNoTopic } from './api/errors.ts';
import type { TopicNews } from './receiving/inbound-kinds.ts';

/** Longest name (Bot API `createForumTopic`). */
const MAX_TOPIC_NAME = 128;

/** How long after it was opened or named a topic is named after its conversation. */
const NAMED_FOR_MS = 30 * 24 * 3_600_000;

const SETTING = 'topic';

/** Only supergroups can be forums. */
const SUPERGROUP = /^-100\d/;

export interface TopicsDeps {
  bot: Pick<BotApi, 'call'>;
  chatSettings: ChatSettingStore;
  log: Log;
}

/** The topics that this bot names. */
export class Topics {
  readonly #deps: TopicsDeps;
  /** Whether topics are enabled for the bot's private chats (`getMe`). */
  areOn = false;

  constructor(deps: TopicsDeps) {
    this.#deps = deps;
  }

  /** `createForumTopic`; undefined if the chat has no topics, `no_right` if the bot may not open any. Throws `ChannelError`. */
  async open({ channel, chatId }: Place, name: string): Promise<Place | 'no_right' | undefined> {
    const hasTopics = chatId.startsWith('-') ? SUPERGROUP.test(chatId) : this.areOn;
    if (!hasTopics) return undefined;
    const topic = await this.#deps.bot.call('createForumTopic', async (api, limit) => {
      try {
        return await api.createForumTopic(chatId, nameOf(name), {}, limit);
      } catch (error) {
        const why = whyNoTopic(error);
        if (why === undefined) throw error;
        return why;
      }
    });
    if (topic === 'no_right') return topic;
    if (topic === 'no_forum') return undefined;
    const place = { channel, chatId, threadId: String(topic.message_thread_id) };
    await this.#keep(place, 'open');
    return place;
  }

  /** Remembers whether the bot may name a person's topic. Never throws. */
  async note({ chatId, threadId, isNamed }: TopicNews): Promise<void> {
    await this.#keep({ channel: 'telegram', chatId, threadId }, isNamed ? undefined : 'open');
  }

  /** Names the topic of a conversation that now has a title, unless a person has named it. Never throws. */
  async title(session: SessionKey, title: string): Promise<void> {
    const { channel, chatId, threadId } = parseAddress(session);
    if (channel !== 'telegram' || threadId === undefined) return;
    const { bot, chatSettings, log } = this.#deps;
    const place = { channel, chatId, threadId };
    try {
      if ((await chatSettings.chatSetting(addressOf(place), SETTING)) === undefined) return;
      const topic = Number(threadId);
      await bot.call('editForumTopic', (api, limit) =>
        api.editForumTopic(chatId, topic, { name: nameOf(title) }, limit),
      );
      await this.#keep(place, 'open');
    } catch (error) {
      log.info({ err: toGatewayError(error), chatId, threadId }, 'telegram_topic_not_named');
    }
  }

  async #keep(place: Place, value: 'open' | undefined): Promise<void> {
    const { chatSettings, log } = this.#deps;
    try {
      await chatSettings.setChatSetting(addressOf(place), SETTING, value, NAMED_FOR_MS);
    } catch (error) {
      log.warn({ err: toGatewayError(error), chatId: place.chatId }, 'telegram_topic_not_noted');
    }
  }
}

function nameOf(title: string): string {
  return clipEnd(oneLine(title).toWellFormed(), MAX_TOPIC_NAME);
}
