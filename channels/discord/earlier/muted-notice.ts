/**
 * Tells people where the bot may not write: by a reaction to the question, otherwise by a direct message to the person
 * who asked.
 */
import { z } from 'zod';
import type { Log } from '../../../src/protocol/log.ts';
import type { DiscordRest } from '../rest/rest.ts';
import { contentOfText, messageId } from '../sending.ts';
import { type ChannelLanguages, sayToPerson } from '../../../src/protocol/texts/languages.ts';

/** Maximum number of channels whose newest question is remembered; the one with the oldest question is forgotten. */
export const MAX_QUESTIONS = 1_000;

const MUTED = '🔇';

interface Question {
  messageId: string;
  senderId: string;
}

const Opened = z.object({ id: z.string() });

export class MutedNotice {
  readonly #rest: Pick<DiscordRest, 'call'>;
  readonly #log: Log;
  readonly #languages: ChannelLanguages;
  /** The newest question in each channel. */
  readonly #questions = new Map<string, Question>();

  constructor(rest: Pick<DiscordRest, 'call'>, log: Log, languages: ChannelLanguages) {
    this.#rest = rest;
    this.#log = log;
    this.#languages = languages;
  }

  /** Records a message that will be answered. */
  asked(channelId: string, question: Question): void {
    this.#questions.delete(channelId);
    this.#questions.set(channelId, question);
    const oldest = this.#questions.keys().next();
    if (this.#questions.size > MAX_QUESTIONS && oldest.done !== true) this.#questions.delete(oldest.value);
  }

  /** Tells the person who asked last in a channel that the bot may not write there. Never throws. */
  async show(channelId: string): Promise<void> {
    const question = this.#questions.get(channelId);
    if (question === undefined) return;
    try {
      await this.#react(channelId, question).catch(async () => await this.#write(channelId, question));
    } catch (error) {
      this.#log.warn({ err: error, channelId }, 'discord_muted_notice_not_shown');
    }
  }

  async #react(channelId: string, question: Question): Promise<void> {
    const reaction = `reactions/${encodeURIComponent(MUTED)}/@me`;
    const path = `/channels/${channelId}/messages/${question.messageId}/${reaction}` as const;
    await this.#rest.call({ method: 'put', path, bucket: `react ${channelId}` });
  }

  async #write(channelId: string, { senderId }: Question): Promise<void> {
    const body = { recipient_id: senderId };
    const opened = await this.#rest.call({
      method: 'post',
      path: '/users/@me/channels',
      bucket: 'open',
      body,
    });
    const { id } = Opened.parse(opened);
    const say = await sayToPerson(this.#languages, `discord:${senderId}`);
    const text = say('write.forbidden', { channel: channelId });
    const path = `/channels/${id}/messages` as const;
    messageId(
      await this.#rest.call({ method: 'post', path, bucket: `send ${id}`, body: contentOfText(text) }),
    );
  }
}
