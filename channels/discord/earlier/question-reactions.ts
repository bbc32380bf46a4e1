/** Reactions of the bot that show the state of a question on Discord; people see one at a time. */
import type { AskedQuestion } from '../../../src/protocol/delivery.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';
import { SingleReactions, type StateReactions } from '../../../src/protocol/channel-parts.ts';
import { isGone } from '../errors.ts';
import type { DiscordRest } from '../rest/rest.ts';
import { channelIdOf } from '../sending.ts';

/** The reactions that show the state of a question. */
const REACTIONS: StateReactions = { waiting: '⏳', working: '👀', done: '✅', failed: '❌' };

/** Creates the object that shows them; `monotonicNow` returns milliseconds of a monotonic clock. */
export function questionReactions(
  rest: Pick<DiscordRest, 'call'>,
  monotonicNow: () => number,
): SingleReactions {
  const calls = new ReactionCalls(rest);
  return new SingleReactions({
    reactions: REACTIONS,
    add: (question, emoji) => calls.call('put', question, emoji),
    takeAway: (question, emoji) => calls.takeAway(question, emoji),
    monotonicNow,
  });
}

/** The bot's reactions (`PUT` and `DELETE …/reactions/{emoji}/@me`). Throws `ChannelError`, `rejected` if the bot may not react. */
class ReactionCalls {
  readonly #rest: Pick<DiscordRest, 'call'>;

  constructor(rest: Pick<DiscordRest, 'call'>) {
    this.#rest = rest;
  }

  /** A reaction that is gone, or never existed, counts as removed. */
  async takeAway(question: AskedQuestion, emoji: string): Promise<void> {
    try {
      await this.call('delete', question, emoji);
    } catch (error) {
      if (!(error instanceof ChannelError) || error.code === 'rate_limited' || error.retryable) throw error;
    }
  }

  async call(method: 'put' | 'delete', question: AskedQuestion, emoji: string): Promise<void> {
    const { threadId, messageId } = question;
    try {
      const inside = channelIdOf(question);
      // A thread has the id of the message that started it: this message is in the thread's channel, or
      // inside the thread if the channel is a forum.
      const first = threadId === messageId ? channelIdOf({ ...question, threadId: undefined }) : inside;
      await this.#callIn(first, messageId, method, emoji).catch(async (error: unknown) => {
        if (first === inside || !isElsewhere(error)) throw error;
        await this.#callIn(inside, messageId, method, emoji);
      });
    } catch (error) {
      // A missing permission stays missing for a while: the bot leaves the chat alone.
      if (error instanceof ChannelError && error.code === 'blocked')
        throw new ChannelError('rejected', error.message, { cause: error.cause });
      throw error;
    }
  }

  async #callIn(
    channelId: string,
    messageId: string,
    method: 'put' | 'delete',
    emoji: string,
  ): Promise<void> {
    const path =
      `/channels/${channelId}/messages/${messageId}/reactions/${encodeURIComponent(emoji)}/@me` as const;
    await this.#rest.call({ method, path, bucket: `react ${channelId}` });
  }
}

function isElsewhere(error: unknown): boolean {
  return isGone(error) || (error instanceof ChannelError && error.code === 'rejected');
}
