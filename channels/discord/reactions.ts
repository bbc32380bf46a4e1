/** Reactions of the bot: the state of a question, and the notice that the bot may not write in a channel. */
import { Routes } from 'discord.js';
import { z } from 'zod';
import type { AskedQuestion } from '../../src/protocol/delivery.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { Log } from '../../src/protocol/log.ts';
import { SingleReactions, STATE_EMOJIS, unlessForbidden } from '../../src/protocol/channel-parts.ts';
import { type ChannelLanguages, sayToPerson } from '../../src/protocol/texts/languages.ts';
import { Recent } from '../../src/lib/recent.ts';
import { isGone } from './errors.ts';
import type { DiscordRest } from './rest.ts';
import { channelIdOf, contentOfText, messageId } from './sending.ts';

/** Shows the state of a question by a reaction; people see one at a time. `monotonicNow`: milliseconds. */
export function questionReactions(rest: DiscordRest, monotonicNow: () => number): SingleReactions {
  return new SingleReactions({
    reactions: STATE_EMOJIS,
    add: (question, emoji) => unlessForbidden(react(rest, 'put', question, emoji)),
    takeAway: async (question, emoji) => {
      try {
        await unlessForbidden(react(rest, 'delete', question, emoji));
      } catch (error) {
        // A reaction that is gone, or never existed, counts as removed.
        if (!(error instanceof ChannelError) || error.code === 'rate_limited' || error.retryable) throw error;
      }
    },
    monotonicNow,
  });
}

/** Adds or removes a reaction of the bot. Throws `ChannelError`. */
async function react(
  rest: DiscordRest,
  method: 'put' | 'delete',
  question: AskedQuestion,
  emoji: string,
): Promise<void> {
  const { threadId, messageId: id } = question;
  const call = async (channelId: string): Promise<void> => {
    const path = Routes.channelMessageOwnReaction(channelId, id, emoji);
    await rest.call({ method, path, bucket: `react ${channelId}` });
  };
  const inside = channelIdOf(question);
  // A thread has the id of the message that started it: this message is in the thread's channel, or inside the
  // thread if the channel is a forum.
  const first = threadId === id ? channelIdOf({ ...question, threadId: undefined }) : inside;
  await call(first).catch(async (error: unknown) => {
    if (first === inside || !isElsewhere(error)) throw error;
    await call(inside);
  });
}

function isElsewhere(error: unknown): boolean {
  return isGone(error) || (error instanceof ChannelError && error.code === 'rejected');
}

/** Maximum number of channels whose newest question is remembered; the one with the oldest question is forgotten. */
export const MAX_QUESTIONS = 1_000;

const MUTED = '🔇';

interface Question {
  messageId: string;
  senderId: string;
}

const DirectChannel = z.object({ id: z.string() });

/** Tells people where the bot may not write: by a reaction to the question, otherwise by a direct message. */
export class MutedNotice {
  readonly #rest: DiscordRest;
  readonly #log: Log;
  readonly #languages: ChannelLanguages;
  readonly #questions = new Recent<Question>(Number.POSITIVE_INFINITY, MAX_QUESTIONS, () => 0);

  constructor(rest: DiscordRest, log: Log, languages: ChannelLanguages) {
    this.#rest = rest;
    this.#log = log;
    this.#languages = languages;
  }

  /** Records a message that will be answered. */
  remember(channelId: string, question: Question): void {
    this.#questions.set(channelId, question);
  }

  /** Tells the person who asked last in a channel that the bot may not write there. Never throws. */
  async show(channelId: string): Promise<void> {
    const question = this.#questions.get(channelId);
    if (question === undefined) return;
    const path = Routes.channelMessageOwnReaction(channelId, question.messageId, MUTED);
    try {
      await this.#rest
        .call({ method: 'put', path, bucket: `react ${channelId}` })
        .catch(async () => await this.#write(channelId, question.senderId));
    } catch (error) {
      this.#log.warn({ err: error, channelId }, 'discord_muted_notice_not_shown');
    }
  }

  async #write(channelId: string, userId: string): Promise<void> {
    const recipient = { recipient_id: userId };
    const opening = { method: 'post', path: Routes.userChannels(), bucket: 'open', body: recipient } as const;
    const { id } = DirectChannel.parse(await this.#rest.call(opening));
    const say = await sayToPerson(this.#languages, `discord:${userId}`);
    const body = contentOfText(say('write.forbidden', { channel: channelId }));
    const path = Routes.channelMessages(id);
    messageId(await this.#rest.call({ method: 'post', path, bucket: `send ${id}`, body }));
  }
}
