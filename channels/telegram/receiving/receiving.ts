/** Receives from `start` to `stop`: updates, what the bot is allowed to read, and titles for the topics of chats. */
import type { ChannelAccess } from '../../../src/protocol/access.ts';
import type { ChannelHealth, GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { Receive } from '../../../src/protocol/receive.ts';
import { textRef } from '../../../src/protocol/texts/say.ts';
import type { TelegramLostSends } from '../api/lost-sends.ts';
import { groupsThatNeedAll } from '../privacy.ts';
import type { Topics } from '../topics.ts';
import { Poller, type PollerParts } from './polling.ts';

export interface ReceivingParts extends Pick<
  PollerParts,
  'bot' | 'introduction' | 'languages' | 'log' | 'timing'
> {
  gateway: Pick<GatewayApi, 'commands' | 'chatMoved' | 'membershipChanged' | 'noteRefusal' | 'subscribe'>;
  /** Where updates come from, made anew for each start. */
  makeSource: () => PollerParts['source'];
  lostSends: Pick<TelegramLostSends, 'note'>;
  topics: Topics;
  access: () => ChannelAccess | undefined;
}

/** The receiving half of the channel. */
export class Receiving {
  readonly #parts: ReceivingParts;
  #unsubscribe = (): void => undefined;
  #health: ChannelHealth = { state: 'off' };
  #poller: Poller | undefined;
  #readsAll = true;

  constructor(parts: ReceivingParts) {
    this.#parts = parts;
  }

  get health(): ChannelHealth {
    return { ...this.#health, ...(!this.#readsAll && noticeOf(this.#parts.access())) };
  }

  /** Stops first what runs. Never rejects. */
  async start(receive: Receive): Promise<void> {
    await this.stop();
    this.#health = { state: 'starting' };
    const { makeSource, gateway, lostSends, topics, bot, introduction, languages, log, timing } = this.#parts;
    const starting = new Poller({
      bot,
      source: makeSource(),
      receive: (message) => {
        if (message.messageId !== undefined) lostSends.note(message.chatId, message.messageId);
        return receive(message);
      },
      introduction,
      languages,
      commands: gateway.commands,
      chatMoved: gateway.chatMoved,
      membershipChanged: gateway.membershipChanged,
      noteRefusal: gateway.noteRefusal,
      noteTopic: (topic) => topics.note(topic),
      identified: (identity) => {
        this.#readsAll = identity.readsAll === true;
        topics.areOn = identity.privateThreads === true;
      },
      log,
      timing,
      setHealth: (next) => {
        if (this.#poller === starting) this.#health = next;
      },
    });
    this.#poller = starting;
    this.#unsubscribe = gateway.subscribe({}, (event) => {
      if (event.type === 'session_titled' && event.title !== null)
        void topics.title(event.sessionKey, event.title);
    });
    starting.start();
  }

  /** Never rejects; calling it twice is fine. */
  async stop(): Promise<void> {
    const ending = this.#poller;
    this.#poller = undefined;
    this.#unsubscribe();
    await ending?.stop();
    if (!this.#poller) this.#health = { state: 'off' };
  }
}

/** Reported while privacy mode hides messages from the bot that the group settings require. */
function noticeOf(access: ChannelAccess | undefined): Pick<ChannelHealth, 'notice'> {
  const needing = groupsThatNeedAll(access);
  if (needing.length === 0) return {};
  return {
    notice: textRef('privacy.on', { network: 'Telegram', count: needing.length }),
  };
}
