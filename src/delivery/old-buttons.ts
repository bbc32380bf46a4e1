/** Removes the button that asks again from an answer once a newer one in its chat has it. */
import type { Channel } from '../protocol/channel.ts';
import { toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import { addressOf, type Place, type SentMessage } from '../protocol/message.ts';
import type { LaneHead } from '../protocol/store/lanes.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type { Clock } from '../lib/clock.ts';
import type { Scheduler } from './rate/scheduler.ts';

/**
 * Maximum number of answers whose button waits to be removed; those beyond keep it: a press there says that there is
 * a newer answer.
 */
export const MAX_OLD_BUTTONS = 1_000;
/** Attempts, and the pause between two in milliseconds: answers have priority. */
export const BUTTON_TRIES = 5;
const RETRY_MS = 2_000;

export interface OldButtonsDeps {
  schedulerOf(channel: Channel): Pick<Scheduler, 'tryOptional'>;
  ledger: Pick<Ledger, 'sentParts' | 'noteSent'>;
  clock: Clock;
  log: Log;
}

interface Old {
  channel: Channel;
  place: Place;
  sent: SentMessage;
  tries: number;
}

export class OldButtons {
  readonly #deps: OldButtonsDeps;
  readonly #waits = new Set<() => void>();

  constructor(deps: OldButtonsDeps) {
    this.#deps = deps;
  }

  /**
   * Records the message that has the button now in the store, so that a restarted process and other nodes know it;
   * the previous one loses it soon. Throws only `StoreError`.
   */
  async moved(channel: Channel, head: LaneHead, place: Place, sent: SentMessage | undefined): Promise<void> {
    if (channel.removeButtons === undefined || sent === undefined) return;
    const ref = `buttons:${addressOf(place)}`;
    const [before] = await this.#deps.ledger.sentParts(ref);
    if (before !== undefined && isSame(before, sent)) return;
    await this.#deps.ledger.noteSent(head, ref, [sent]);
    if (before !== undefined) void this.#remove({ channel, place, sent: before, tries: 0 });
  }

  /** Ends all waits. */
  close(): void {
    for (const cancel of this.#waits) cancel();
    this.#waits.clear();
  }

  async #remove(old: Old): Promise<void> {
    const { channel, place, sent } = old;
    old.tries += 1;
    let isDone = false;
    const goesOn = await this.#deps.schedulerOf(channel).tryOptional({ place, first: sent }, async () => {
      try {
        await channel.removeButtons?.(sent, place);
        isDone = true;
      } catch (error) {
        this.#deps.log.debug({ err: toGatewayError(error), channel: channel.name }, 'old_button_kept');
        throw error;
      }
    });
    if (isDone || !goesOn || old.tries >= BUTTON_TRIES || this.#waits.size >= MAX_OLD_BUTTONS) return;
    const cancel = this.#deps.clock.after(RETRY_MS, () => {
      this.#waits.delete(cancel);
      void this.#remove(old);
    });
    this.#waits.add(cancel);
  }
}

/** The id of a command reply is unique only together with its token. */
function isSame(one: SentMessage, other: SentMessage): boolean {
  return one.id === other.id && JSON.stringify(one.metadata) === JSON.stringify(other.metadata);
}
