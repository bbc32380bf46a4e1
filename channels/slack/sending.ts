/** Sends, edits and deletes messages: one message per nonce, even after one of Slack's answers was lost or a process died. */
import { channelUnavailable } from '../../src/protocol/errors.ts';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Log } from '../../src/protocol/log.ts';
import { addressOf, type Place, type SentMessage } from '../../src/protocol/message.ts';
import { Recent } from '../../src/lib/recent.ts';
import { codeOf, isAnswerLost, toChannelError, toEditError } from './errors.ts';
import { type Fields, targetOf } from './message-fields.ts';
import type { SlackApi } from './web-api.ts';

/** How long a nonce is remembered, in milliseconds, and how many. */
const NONCE_MS = 3_600_000;
export const MAX_NONCES = 5_000;
/**
 * A place into which this process has sent within this time is its own: no other process can have sent there in the
 * meantime, because a lane changes hands only after its owner was silent for 10 s. Elsewhere, the newest messages are
 * searched first.
 */
const FAMILIAR_MS = 60_000;
const MAX_FAMILIAR = 5_000;
/** The newest messages that are searched for a nonce. */
const LOOKED_THROUGH = 100;
const MAX_PAGES = 5;

/** The type of the metadata that a message of an answer carries ("Message metadata"). */
const EVENT_TYPE = 'parley_part';

const Posted = z.object({ ts: z.string() });
const Page = z.object({
  messages: z.array(
    z.object({
      ts: z.string(),
      metadata: z
        .object({ event_type: z.string(), event_payload: z.object({ nonce: z.string() }) })
        .optional()
        .catch(undefined),
    }),
  ),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional().catch(undefined),
});

export interface SendingParts {
  api: Pick<SlackApi, 'call'>;
  log: Log;
  epochNow: () => number;
}

export class Sending {
  readonly #api: Pick<SlackApi, 'call'>;
  readonly #log: Log;
  readonly #epochNow: () => number;
  /** Messages by nonce; `lost` if the answer to the send was lost. */
  readonly #known: Recent<string>;
  readonly #familiar: Recent<true>;

  constructor({ api, log, epochNow }: SendingParts) {
    this.#api = api;
    this.#log = log;
    this.#epochNow = epochNow;
    this.#known = new Recent(NONCE_MS, MAX_NONCES, epochNow);
    this.#familiar = new Recent(FAMILIAR_MS, MAX_FAMILIAR, epochNow);
  }

  /**
   * Posts a message (`chat.postMessage`), or applies its text to the message that an earlier attempt with this nonce
   * has posted. Throws `ChannelError`.
   */
  async post(place: Place, fields: Fields, nonce: string): Promise<SentMessage> {
    const target = targetOf(place);
    const key = nonceOf(place, nonce);
    const earlier = await this.#earlier(place, key);
    if (earlier !== undefined) {
      await this.#update(place, earlier, fields);
      this.#known.set(key, earlier);
      return { id: earlier };
    }
    const metadata = { event_type: EVENT_TYPE, event_payload: { nonce: key } };
    try {
      const limit = `chat.postMessage ${target.channel}`;
      const answer = await this.#api.call('chat.postMessage', { ...target, ...fields, metadata }, limit);
      const { data } = Posted.safeParse(answer);
      if (data === undefined) throw channelUnavailable('Slack gave an answer that is not a message.');
      this.#known.set(key, data.ts);
      this.#familiar.set(addressOf(place), true);
      return { id: data.ts };
    } catch (error) {
      if (!isAnswerLost(error)) throw error;
      this.#known.set(key, LOST);
      return await this.#afterLoss(place, key, toChannelError(error));
    }
  }

  /** Replaces a message (`chat.update`). Throws `ChannelError('message_gone')` also for one that may not be changed. */
  async edit(sent: SentMessage, place: Place, fields: Fields): Promise<void> {
    this.#familiar.set(addressOf(place), true);
    try {
      await this.#update(place, sent.id, fields);
    } catch (error) {
      throw toEditError(error);
    }
  }

  /** Deletes a message (`chat.delete`); a message that is already gone is not an error. */
  async delete({ id }: SentMessage, place: Place): Promise<void> {
    const { channel } = targetOf(place);
    try {
      await this.#api.call('chat.delete', { channel, ts: id });
    } catch (error) {
      if (codeOf(error) !== 'message_not_found') throw error;
    }
  }

  /** Shows a text to only one person (`chat.postEphemeral`). */
  async sendEphemeral(place: Place, user: string, fields: Fields): Promise<void> {
    await this.#api.call('chat.postEphemeral', { ...targetOf(place), user, ...fields });
  }

  async #update(place: Place, ts: string, fields: Fields): Promise<void> {
    const { channel } = targetOf(place);
    await this.#api.call('chat.update', { channel, ts, text: fields.text, blocks: fields.blocks });
  }

  /** The message that was posted with this nonce before; undefined if there is none. */
  async #earlier(place: Place, key: string): Promise<string | undefined> {
    const known = this.#known.get(key);
    if (known !== undefined && known !== LOST) return known;
    if (known === undefined && this.#familiar.get(addressOf(place)) === true) return undefined;
    try {
      const found = await this.#find(place, key);
      if (found === undefined) this.#known.delete(key);
      return found;
    } catch (error) {
      const failure = toChannelError(error);
      // Only after a lost answer is there likely to be one: all other sends need not wait for a Slack limit.
      if (known === LOST || failure.code === 'unavailable' || failure.code === 'unauthorized') throw failure;
      this.#log.debug({ err: failure, chatId: place.chatId }, 'slack_nonce_not_looked_up');
      return undefined;
    }
  }

  async #afterLoss(place: Place, key: string, loss: Error): Promise<SentMessage> {
    const found = await this.#find(place, key).catch((error: unknown) => {
      this.#log.warn({ err: toChannelError(error), chatId: place.chatId }, 'slack_nonce_not_looked_up');
      return undefined;
    });
    // It may still be in flight: the next attempt looks again before it sends.
    if (found === undefined) throw loss;
    this.#known.set(key, found);
    return { id: found };
  }

  /** Searches the newest messages of a channel (`conversations.history`) or thread (`conversations.replies`). */
  async #find(place: Place, key: string): Promise<string | undefined> {
    const { channel, thread_ts: ts } = targetOf(place);
    const oldest = ((this.#epochNow() - NONCE_MS) / 1_000).toFixed(6);
    const range = { channel, oldest, limit: LOOKED_THROUGH, include_all_metadata: true };
    let cursor: string | undefined;
    // A channel is read starting at its newest message, a thread at its oldest.
    for (let page = 0; page < (ts === undefined ? 1 : MAX_PAGES); page += 1) {
      const answer =
        ts === undefined
          ? await this.#api.call('conversations.history', range)
          : await this.#api.call('conversations.replies', { ...range, ts, ...(cursor && { cursor }) });
      const { messages = [], response_metadata: more } = Page.safeParse(answer).data ?? {};
      const found = messages.find(({ metadata }) => metadata?.event_payload.nonce === key);
      if (found !== undefined) return found.ts;
      cursor = more?.next_cursor;
      if (cursor === undefined || cursor === '') return undefined;
    }
    return undefined;
  }
}

const LOST = 'lost';

/** The same for every attempt, in every process. */
function nonceOf(place: Place, nonce: string): string {
  return createHash('sha256')
    .update(`${addressOf(place)}\n${nonce}`)
    .digest('base64url')
    .slice(0, 32);
}
