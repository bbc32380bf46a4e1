/** Shows "typing…" while a turn is running and its reply does not grow. */
import type { Channel } from '../../protocol/channel.ts';
import { isClosedChat } from '../../protocol/errors.ts';
import type { Place } from '../../protocol/message.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Scheduler } from '../rate/scheduler.ts';

/** How long one turn may show typing, in milliseconds. */
export const TYPING_TTL_MS = 600_000;

/** Typing is renewed after this fraction of the time that one call lasts. */
const REFRESH = 0.8;

export class Typing {
  readonly #channel: Channel;
  readonly #place: Place;
  readonly #clock: Clock;
  readonly #scheduler: Scheduler;
  readonly #onBlocked: () => void;
  readonly #until: number;
  #cancel: (() => void) | undefined;
  #ended = false;
  #inFlight: Promise<void> = Promise.resolve();
  /** Monotonic time at which the screen last changed: a growing text needs no "typing…". */
  #shownAt = Number.NEGATIVE_INFINITY;

  /** `onBlocked` is called when no one can read the reply. */
  constructor(channel: Channel, place: Place, clock: Clock, scheduler: Scheduler, onBlocked: () => void) {
    this.#onBlocked = onBlocked;
    this.#channel = channel;
    this.#place = place;
    this.#clock = clock;
    this.#scheduler = scheduler;
    this.#until = clock.monotonicMs() + TYPING_TTL_MS;
    this.#tick();
  }

  /** Records that the reply has just grown on screen. */
  noteShown(): void {
    this.#shownAt = this.#clock.monotonicMs();
  }

  /** Makes no further call; resolves when the one in flight is over. Never throws. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#cancel?.();
    await this.#inFlight;
  }

  #tick(): void {
    const { capabilities } = this.#channel;
    const now = this.#clock.monotonicMs();
    if (this.#ended || !capabilities.typing || capabilities.typingMs <= 0 || now >= this.#until) return;
    const everyMs = capabilities.typingMs * REFRESH;
    if (now - this.#shownAt >= everyMs) this.#inFlight = this.#call();
    this.#cancel = this.#clock.after(everyMs, () => this.#tick());
  }

  async #call(): Promise<void> {
    const works = await this.#scheduler.tryOptional({ place: this.#place }, async () => {
      try {
        await this.#channel.typing?.(this.#place);
      } catch (error) {
        if (isClosedChat(error)) this.#onBlocked();
        throw error;
      }
    });
    if (!works) this.#ended = true;
  }
}
