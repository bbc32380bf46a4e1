/** Removes the button that asks again from an answer once a newer one in its chat has it. */
import type { Channel } from '../../protocol/channel.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import { addressOf, type Place, type SentMessage } from '../../protocol/message.ts';
import type { LaneHead } from '../../protocol/store/lanes.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Scheduler } from '../rate/scheduler.ts';

/** Most answers whose button waits to be removed. Any others keep it: pressing it says that there is a newer answer. */
export const MAX_OLD_BUTTONS = 1_000;
/** Attempts, and the pause between two in milliseconds: answers have priority. */
export const BUTTON_TRIES = 5;
const RETRY_MS = 2_000;

interface OldButton {
  channel: Channel;
  place: Place;
  message: SentMessage;
  tries: number;
}

export type OldButtons = ReturnType<typeof createOldButtons>;

/** Creates what remembers and removes them; `close` ends all waits. */
export function createOldButtons(
  schedulerOf: (channel: Channel) => Scheduler,
  ledger: Ledger,
  clock: Clock,
  log: Log,
) {
  const waits = new Set<() => void>();
  const remove = async (old: OldButton): Promise<void> => {
    const { channel, place, message } = old;
    old.tries += 1;
    let isDone = false;
    const goesOn = await schedulerOf(channel).tryOptional({ place, first: message }, async () => {
      try {
        await channel.removeButtons?.(message, place);
        isDone = true;
      } catch (error) {
        log.debug({ err: toGatewayError(error), channel: channel.name }, 'old_button_kept');
        throw error;
      }
    });
    if (isDone || !goesOn || old.tries >= BUTTON_TRIES || waits.size >= MAX_OLD_BUTTONS) return;
    const cancel = clock.after(RETRY_MS, () => {
      waits.delete(cancel);
      void remove(old);
    });
    waits.add(cancel);
  };
  return {
    /** Stores which message has the button now; the previous one loses it soon. Throws only `StoreError`. */
    async moved(channel: Channel, head: LaneHead, place: Place, message: SentMessage | undefined) {
      if (channel.removeButtons === undefined || message === undefined) return;
      const ref = `buttons:${addressOf(place)}`;
      const [previous] = await ledger.sentParts(ref);
      if (previous !== undefined && isSame(previous, message)) return;
      await ledger.noteSent(head, ref, [message]);
      if (previous !== undefined) void remove({ channel, place, message: previous, tries: 0 });
    },
    close(): void {
      for (const cancel of waits) cancel();
      waits.clear();
    },
  };
}

/** The id of a command reply is unique only together with its token. */
function isSame(one: SentMessage, other: SentMessage): boolean {
  return one.id === other.id && JSON.stringify(one.metadata) === JSON.stringify(other.metadata);
}
