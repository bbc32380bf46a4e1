/** Records the messages that show a delivery: in memory from the platform's answer on, until the store has them. */
import type { MessageBus } from '../../protocol/bus.ts';
import { FencedError, isRetryable, toGatewayError } from '../../protocol/errors.ts';
import type { Ledger, NotedParts } from '../../protocol/store/ledger.ts';
import type { Log } from '../../protocol/log.ts';
import { addressOf, type Place, removalOf, type SentMessage } from '../../protocol/message.ts';
import type { Clock } from '../../lib/clock.ts';

/**
 * Maximum number of deliveries whose notes are remembered; the oldest is forgotten, and its messages may then be sent
 * once more.
 */
export const MAX_UNSTORED = 500;

/** Pause before a note that the database did not take is tried again, in milliseconds. */
export const NOTE_AGAIN_MS = 5_000;

/** Stores ids of a delivery. Throws only `StoreError`. */
type Store = (ref: string, sent: SentMessage[]) => Promise<NotedParts>;

export interface PartNotesDeps {
  ledger: Pick<Ledger, 'enqueue'>;
  bus: Pick<MessageBus, 'claimingNode' | 'runHeads'>;
  clock: Pick<Clock, 'after'>;
  log: Log;
}

/** What is on screen, and how it is stored. */
interface Note {
  place: Place;
  ref: string;
  sent: SentMessage[];
  store: Store;
}

/**
 * While the database is unavailable, the lane of a turn may be lost and claimed again by this process: the messages
 * that the turn has already sent are known here, and its next attempt continues in them. A note that could not be stored
 * is tried again until it is: by then another node may show the turn, and no one else would remove the messages.
 */
export class PartNotes {
  readonly #deps: PartNotesDeps;
  readonly #unstored = new Map<string, SentMessage[]>();
  /** Cancels the next try, for each delivery that has one. */
  readonly #tries = new Map<string, () => void>();
  /** Tries in progress: a later note of the same delivery follows them, and is not overwritten by an earlier one. */
  readonly #running = new Map<string, Promise<void>>();
  #closed = false;

  constructor(deps: PartNotesDeps) {
    this.#deps = deps;
  }

  /** The messages that show `ref`: those that are `stored`, or what this process has sent beyond them. */
  known(ref: string, stored: SentMessage[]): SentMessage[] {
    const sent = this.#unstored.get(ref);
    const continues = sent !== undefined && stored.every(({ id }, index) => sent[index]?.id === id);
    return continues ? [...sent] : stored;
  }

  /**
   * Records all messages that show `ref`. Messages that are not part of it, because another owner of the lane shows
   * it by now or has begun to, are deleted. Throws `StoreError`; `FencedError` if nothing more may be shown.
   */
  async save(place: Place, ref: string, sent: SentMessage[], store: Store): Promise<void> {
    this.#unstored.delete(ref);
    this.#unstored.set(ref, sent);
    const oldest = this.#unstored.keys().next().value;
    if (this.#unstored.size > MAX_UNSTORED && oldest !== undefined) this.#unstored.delete(oldest);
    const running = this.#running.get(ref);
    if (running !== undefined) await running;
    await this.#settle({ place, ref, sent, store });
  }

  /** Ends the waits for further tries. */
  close(): void {
    this.#closed = true;
    for (const cancel of this.#tries.values()) cancel();
    this.#tries.clear();
  }

  async #settle(note: Note): Promise<void> {
    const { place, ref, sent, store } = note;
    try {
      const { held, copies } = await store(ref, sent);
      if (copies.length > 0) await this.#remove(place, ref, copies);
      if (this.#unstored.get(ref) === sent) this.#unstored.delete(ref);
      if (!held) throw new FencedError(ref);
    } catch (error) {
      if (isRetryable(error)) this.#tryLater(note);
      throw error;
    }
  }

  /** A later note of the same delivery includes this one, which is then not tried again. */
  #tryLater(note: Note): void {
    const { ref, sent } = note;
    const { clock, log } = this.#deps;
    if (this.#closed) return;
    this.#tries.get(ref)?.();
    const again = (): void => {
      this.#tries.delete(ref);
      if (this.#unstored.get(ref) !== sent) return;
      const running = this.#settle(note)
        .catch((error: unknown) => {
          if (!(error instanceof FencedError))
            log.warn({ err: toGatewayError(error), ref }, 'note_not_stored');
        })
        .finally(() => this.#running.delete(ref));
      this.#running.set(ref, running);
    };
    this.#tries.set(ref, clock.after(NOTE_AGAIN_MS, again));
  }

  async #remove(place: Place, ref: string, copies: SentMessage[]): Promise<void> {
    const { ledger, bus, log } = this.#deps;
    const { channel, chatId } = place;
    const removal = removalOf(ref, place, copies);
    bus.runHeads(await ledger.enqueue(addressOf(place), removal, bus.claimingNode('out')));
    log.info({ channel, chatId, ref, messageIds: copies.map(({ id }) => id) }, 'copies_removed');
  }
}

/** Stores what only this process knew; if that fails, the next note includes it, too. Never throws. */
export async function storeLate(
  note: (ref: string, sent: SentMessage[]) => Promise<void>,
  turnId: string,
  sent: SentMessage[],
  log: Log,
): Promise<void> {
  await note(turnId, sent).catch((error: unknown) => {
    log.warn({ err: toGatewayError(error), turnId }, 'late_note_failed');
  });
}
