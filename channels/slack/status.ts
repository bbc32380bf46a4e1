/**
 * "is typing…" in threads, the only places where Slack has it for apps (`assistant.threads.setStatus`). A new message of the app
 * takes it away, an edit does not, and after two minutes it is gone.
 */
import type { Log } from '../../src/contracts/log.ts';
import { addressOf } from '../../src/contracts/message.ts';
import type { Place } from '../../src/contracts/message.ts';
import { Recent } from '../../src/lib/recent.ts';
import { toChannelError } from './errors.ts';
import { targetOf } from './message-fields.ts';
import type { SlackApi } from './web-api.ts';

/** How long Slack shows it, in milliseconds; a little less, so that it is renewed in time. */
export const STATUS_MS = 110_000;
/** Threads in which it is known to be shown; in one that was forgotten Slack takes it away itself. */
export const MAX_SHOWN = 5_000;

const METHOD = 'assistant.threads.setStatus';

export class Status {
  readonly #api: Pick<SlackApi, 'call'>;
  readonly #log: Log;
  readonly #shown: Recent<true>;

  constructor({ api, log, now }: { api: Pick<SlackApi, 'call'>; log: Log; now: () => number }) {
    this.#api = api;
    this.#log = log;
    this.#shown = new Recent(STATUS_MS, MAX_SHOWN, now);
  }

  /** Shows it in a thread; elsewhere nothing is done. Throws `ChannelError`. */
  async show(place: Place): Promise<void> {
    if (place.threadId === undefined) return;
    await this.#set(place, 'is typing…');
    this.#shown.set(addressOf(place), true);
  }

  /** Slack has taken it away, with a message of the app. */
  posted(place: Place): void {
    this.#shown.delete(addressOf(place));
  }

  /** Takes it away after an edit. Never throws: it goes by itself. */
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
