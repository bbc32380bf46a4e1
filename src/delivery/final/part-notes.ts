/** Records the messages that show a delivery: in memory from the platform's answer on, until the store has them. */
import type { MessageBus } from '../../contracts/bus.ts';
import { FencedError, toGatewayError } from '../../contracts/errors.ts';
import type { Ledger, NotedParts } from '../../contracts/store/ledger.ts';
import type { Log } from '../../contracts/log.ts';
import { addressOf, removalOf } from '../../contracts/message.ts';
import type { Place, SentMessage } from '../../contracts/message.ts';

/**
 * Maximum number of deliveries whose notes are remembered; the oldest is forgotten, and its messages may then be sent
 * once more.
 */
export const MAX_UNSTORED = 500;

/** Stores ids of a delivery. Throws only `StoreError`. */
type Store = (ref: string, sent: SentMessage[]) => Promise<NotedParts>;

export interface PartNotesDeps {
  ledger: Pick<Ledger, 'enqueue'>;
  bus: Pick<MessageBus, 'claimingNode' | 'runHeads'>;
  log: Log;
}

/**
 * While the database is unavailable, the lane of a turn may be lost and claimed again by this process: the messages
 * that the turn has already sent are known here, and its next attempt continues in them.
 */
export class PartNotes {
  readonly #deps: PartNotesDeps;
  readonly #unstored = new Map<string, SentMessage[]>();

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
    const { held, copies } = await store(ref, sent);
    if (this.#unstored.get(ref) === sent) this.#unstored.delete(ref);
    if (copies.length > 0) await this.#remove(place, ref, copies);
    if (!held) throw new FencedError(ref);
  }

  async #remove(place: Place, ref: string, copies: SentMessage[]): Promise<void> {
    const { ledger, bus, log } = this.#deps;
    const { channel, chatId } = place;
    const messageIds = copies.map(({ id }) => id);
    try {
      const removal = removalOf(ref, place, copies);
      bus.runHeads(await ledger.enqueue(addressOf(place), removal, bus.claimingNode('out')));
      log.info({ channel, chatId, ref, messageIds }, 'copies_removed');
    } catch (error) {
      log.warn({ err: toGatewayError(error), channel, chatId, ref, messageIds }, 'copies_not_removed');
    }
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
