/** Signs at questions on Discord: reactions of the bot, of which people see one at a time. */
import type { QuestionState } from '../../../src/contracts/channel.ts';
import type { AskedQuestion } from '../../../src/contracts/delivery.ts';
import { ChannelError } from '../../../src/contracts/errors.ts';
import { Recent } from '../../../src/lib/recent.ts';
import { isGone } from '../errors.ts';
import type { DiscordRest } from '../rest/rest.ts';
import { channelIdOf } from '../sending.ts';

/** Questions whose sign is remembered, and for how long in milliseconds. */
export const MAX_SIGNS = 5_000;
const REMEMBERED_MS = 6 * 3_600_000;

/** The reactions that tell what becomes of a question. */
const SIGNS: Record<QuestionState, string | undefined> = {
  waiting: '⏳',
  working: '👀',
  done: '✅',
  failed: '❌',
  none: undefined,
};

export class QuestionSigns {
  readonly #rest: Pick<DiscordRest, 'call'>;
  /** The reactions of the bot at a question, as far as this process knows. */
  readonly #shown: Recent<readonly string[]>;

  constructor(rest: Pick<DiscordRest, 'call'>, now: () => number) {
    this.#rest = rest;
    this.#shown = new Recent(REMEMBERED_MS, MAX_SIGNS, now);
  }

  /** A question has arrived here: nobody has shown a sign at it yet. */
  arrived(messageId: string): void {
    if (this.#shown.get(messageId) === undefined) this.#shown.set(messageId, []);
  }

  /**
   * Shows a state in place of the one before (`PUT` and `DELETE …/reactions/{emoji}/@me`). Throws `ChannelError('rejected')`
   * where the bot may not react.
   */
  async show(question: AskedQuestion, state: QuestionState): Promise<void> {
    const { messageId } = question;
    const sign = SIGNS[state];
    // Another node may have shown the signs before: those that may be there are taken away with the last one.
    const before = this.#shown.get(messageId) ?? (isLast(state) ? [SIGNS.waiting, SIGNS.working] : []);
    const old = before.filter((one) => one !== undefined && one !== sign);
    if (sign !== undefined && !before.includes(sign)) await this.#call('put', question, sign);
    const known = this.#shown.get(messageId) !== undefined || isLast(state);
    if (known) this.#shown.set(messageId, [...old, ...(sign === undefined ? [] : [sign])].filter(isSign));
    for (const one of old.filter(isSign)) {
      await this.#takeAway(question, one);
      const left = this.#shown.get(messageId);
      if (left !== undefined)
        this.#shown.set(
          messageId,
          left.filter((other) => other !== one),
        );
    }
  }

  /** A reaction that is gone, or never was, is what was asked for. */
  async #takeAway(question: AskedQuestion, sign: string): Promise<void> {
    try {
      await this.#call('delete', question, sign);
    } catch (error) {
      if (!(error instanceof ChannelError) || error.code === 'rate_limited' || error.retryable) throw error;
    }
  }

  async #call(method: 'put' | 'delete', question: AskedQuestion, sign: string): Promise<void> {
    const { threadId, messageId } = question;
    try {
      const inside = channelIdOf(question);
      // A thread has the id of the message it was opened with: that is in its channel, or inside where that is a forum.
      const first = threadId === messageId ? channelIdOf({ ...question, threadId: undefined }) : inside;
      await this.#callIn(first, messageId, method, sign).catch(async (error: unknown) => {
        if (first === inside || !isElsewhere(error)) throw error;
        await this.#callIn(inside, messageId, method, sign);
      });
    } catch (error) {
      // A permission that is missing stays so for a while: the chat is left alone.
      if (error instanceof ChannelError && error.code === 'blocked')
        throw new ChannelError('rejected', error.message, { cause: error.cause });
      throw error;
    }
  }

  async #callIn(channelId: string, messageId: string, method: 'put' | 'delete', sign: string): Promise<void> {
    const path =
      `/channels/${channelId}/messages/${messageId}/reactions/${encodeURIComponent(sign)}/@me` as const;
    await this.#rest.call({ method, path, bucket: `react ${channelId}` });
  }
}

function isElsewhere(error: unknown): boolean {
  return isGone(error) || (error instanceof ChannelError && error.code === 'rejected');
}

function isLast(state: QuestionState): boolean {
  return state === 'done' || state === 'failed' || state === 'none';
}

function isSign(sign: string | undefined): sign is string {
  return sign !== undefined;
}
