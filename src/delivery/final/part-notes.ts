/** Records the messages that show a delivery: in memory from the platform's answer on, until the store has them. */
import type { MessageBus } from '../../protocol/bus.ts';
import { FencedError, isRetryable, toGatewayError } from '../../protocol/errors.ts';
import type { Ledger, NotedParts } from '../../protocol/store/ledger.ts';
import type { Log } from '../../protocol/log.ts';
import { addressOf, type Place, removalOf, type SentMessage } from '../../protocol/message.ts';
import type { Clock } from '../../lib/clock.ts';
import { createHash } from 'node:crypto';

/** Most deliveries whose notes are remembered; messages of a forgotten one may be sent again. */
export const MAX_UNSTORED = 500;

/** Pause before a note that the database did not take is tried again, in milliseconds. */
export const NOTE_AGAIN_MS = 5_000;

/** Records all messages that show `ref`. Throws `StoreError`; `FencedError` if nothing more may be shown. */
export type NoteParts = (ref: string, messages: SentMessage[]) => Promise<void>;

type Store = (ref: string, messages: SentMessage[]) => Promise<NotedParts>;

/**
 * Remembers the messages that a turn sent while the database was unavailable: its next attempt in this process
 * continues in them. A note is retried until it is stored; by then another node may show the turn, and only this one
 * can remove the messages.
 */
export class PartNotes {
  readonly #ledger: Ledger;
  readonly #bus: MessageBus;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #unstored = new Map<string, SentMessage[]>();
  /** Cancels the next try, for each delivery that has one. */
  readonly #tries = new Map<string, () => void>();
  /** Tries in progress: a later note of the same delivery follows them, and is not overwritten by an earlier one. */
  readonly #running = new Map<string, Promise<void>>();
  #isClosed = false;

  constructor(ledger: Ledger, bus: MessageBus, clock: Clock, log: Log) {
    this.#ledger = ledger;
    this.#bus = bus;
    this.#clock = clock;
    this.#log = log;
  }

  /** The messages that show `ref`: the stored ones, or what this process has sent beyond them. */
  latest(ref: string, storedMessages: SentMessage[]): SentMessage[] {
    const messages = this.#unstored.get(ref);
    const continues =
      messages !== undefined && storedMessages.every(({ id }, index) => messages[index]?.id === id);
    return continues ? [...messages] : storedMessages;
  }

  /**
   * Stores the messages that show `ref`. Those that are not among them, because another owner of the lane shows it, are
   * deleted. Throws `StoreError`; `FencedError` if nothing more may be shown.
   */
  async save(place: Place, ref: string, messages: SentMessage[], store: Store): Promise<void> {
    this.#unstored.delete(ref);
    this.#unstored.set(ref, messages);
    const oldest = this.#unstored.keys().next().value;
    if (this.#unstored.size > MAX_UNSTORED && oldest !== undefined) this.#unstored.delete(oldest);
    await this.#running.get(ref);
    await this.#settle(place, ref, messages, store);
  }

  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#tries.values()) cancel();
    this.#tries.clear();
  }

  async #settle(place: Place, ref: string, messages: SentMessage[], store: Store): Promise<void> {
    try {
      const { held: isOwner, copies } = await store(ref, messages);
      if (copies.length > 0) await this.#remove(place, ref, copies);
      if (this.#unstored.get(ref) === messages) this.#unstored.delete(ref);
      if (!isOwner) throw new FencedError(ref);
    } catch (error) {
      // A later note of the same delivery includes this one, which is then not tried again.
      if (isRetryable(error)) this.#tryLater(ref, messages, () => this.#settle(place, ref, messages, store));
      throw error;
    }
  }

  #tryLater(ref: string, messages: SentMessage[], settle: () => Promise<void>): void {
    if (this.#isClosed) return;
    this.#tries.get(ref)?.();
    const retry = (): void => {
      this.#tries.delete(ref);
      if (this.#unstored.get(ref) !== messages) return;
      const running = settle()
        .catch((error: unknown) => {
          if (!(error instanceof FencedError))
            this.#log.warn({ err: toGatewayError(error), ref }, 'note_not_stored');
        })
        .finally(() => this.#running.delete(ref));
      this.#running.set(ref, running);
    };
    this.#tries.set(ref, this.#clock.after(NOTE_AGAIN_MS, retry));
  }

  async #remove(place: Place, ref: string, copies: SentMessage[]): Promise<void> {
    const { channel, chatId } = place;
    const removal = removalOf(ref, place, copies);
    this.#bus.runHeads(await this.#ledger.enqueue(addressOf(place), removal, this.#bus.claimingNode('out')));
    this.#log.info({ channel, chatId, ref, messageIds: copies.map(({ id }) => id) }, 'copies_removed');
  }
}

/** 24 characters for part `index` of the delivery `ref`: the same for every attempt (Discord allows 25). */
export function nonceOf(ref: string, index: number): string {
  return createHash('sha256').update(`${ref}${index}`).digest('base64url').slice(0, 24);
}
