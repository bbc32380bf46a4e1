/**
 * "is typing…" in threads, the only places where Slack supports it for apps (`assistant.threads.setStatus`), in the
 * language of the person who wrote there last. A new message of the app clears it, an edit does not, and after two
 * minutes it disappears.
 */
import type { Log } from '../../src/protocol/log.ts';
import { addressOf, type InboundMessage, type Place } from '../../src/protocol/message.ts';
import { type ChannelLanguages, sayToPerson } from '../../src/protocol/texts/languages.ts';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import { codeOf, toChannelError } from './errors.ts';
import { targetOf } from './sending.ts';
import type { SlackApi } from './web-api.ts';
import type { AskedQuestion } from '../../src/protocol/delivery.ts';
import { SingleReactions, type StateReactions } from '../../src/protocol/channel-parts.ts';

/** How long Slack shows it, in milliseconds; slightly less, so that it is renewed in time. */
export const STATUS_MS = 110_000;
/** Maximum number of threads in which it is known to be shown; in a forgotten one Slack clears it itself. */
export const MAX_SHOWN = 5_000;
/** How long the last author in a thread is remembered, in milliseconds. */
const WRITER_MS = 3_600_000;
const METHOD = 'assistant.threads.setStatus';

export class Status {
  readonly #api: SlackApi;
  readonly #log: Log;
  readonly #shown: TtlCache<true>;
  /** The last person who wrote in a thread, with the language that Slack reports. */
  readonly #writers: TtlCache<{ senderId: string; language: string | undefined }>;
  readonly #languages: ChannelLanguages;

  constructor(api: SlackApi, log: Log, epochNow: () => number, languages: ChannelLanguages) {
    this.#languages = languages;
    this.#api = api;
    this.#log = log;
    this.#shown = new TtlCache(STATUS_MS, MAX_SHOWN, epochNow);
    this.#writers = new TtlCache(WRITER_MS, MAX_SHOWN, epochNow);
  }

  /** Records that someone has written in a thread. */
  noteWriter(message: InboundMessage): void {
    const { senderId, language } = message;
    if (message.threadId !== undefined) this.#writers.set(addressOf(message), { senderId, language });
  }

  /** Shows it in a thread; elsewhere does nothing. Throws `ChannelError`. */
  async show(place: Place): Promise<void> {
    if (place.threadId === undefined) return;
    const writer = this.#writers.get(addressOf(place));
    const say = await sayToPerson(this.#languages, `slack:${writer?.senderId ?? ''}`, writer?.language);
    await this.#set(place, say('typing.status'));
    this.#shown.set(addressOf(place), true);
  }

  /** Records that a message of the app has cleared it. */
  posted(place: Place): void {
    this.#shown.delete(addressOf(place));
  }

  /** Clears it after an edit. Never throws: it disappears on its own. */
  async edited(place: Place): Promise<void> {
    const address = addressOf(place);
    if (this.#shown.get(address) === undefined) return;
    this.#shown.delete(address);
    try {
      await this.#set(place, '');
    } catch (error) {
      this.#log.debug({ err: toChannelError(error), chatId: place.chatId }, 'slack_status_stays');
    }
  }

  async #set(place: Place, status: string): Promise<void> {
    const { channel, thread_ts } = targetOf(place);
    await this.#api.call(METHOD, { channel_id: channel, thread_ts, status });
  }
}

/** The reactions that show the state of a question: ⏳, 👀, ✅ and ❌. */
const REACTIONS: StateReactions = {
  waiting: 'hourglass_flowing_sand',
  working: 'eyes',
  done: 'white_check_mark',
  failed: 'x',
};

/** Creates the object that shows them (`reactions.add`, `reactions.remove`); `monotonicNow`: milliseconds of a monotonic clock. */
export function questionReactions(api: SlackApi, monotonicNow: () => number): SingleReactions {
  /** `isDone`: the refusal that means that there is nothing left to do. Throws `ChannelError`. */
  const change = async (method: string, question: AskedQuestion, name: string, isDone: string) => {
    const { channel } = targetOf(question);
    try {
      await api.call(method, { channel, timestamp: question.messageId, name });
    } catch (error) {
      const code = codeOf(error);
      // A question that its author has deleted no longer needs a reaction.
      if (code !== isDone && code !== 'message_not_found') throw error;
    }
  };
  return new SingleReactions({
    reactions: REACTIONS,
    add: (question, name) => change('reactions.add', question, name, 'already_reacted'),
    takeAway: (question, name) => change('reactions.remove', question, name, 'no_reaction'),
    monotonicNow,
  });
}
