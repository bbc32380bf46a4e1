/** Ends of turns that other nodes ran, read from the database when nothing more comes from there. */
import { toGatewayError } from '../protocol/errors.ts';
import { TURN_END_REASONS, type TurnEndReason } from '../protocol/event.ts';
import type { Log } from '../protocol/log.ts';
import type { TurnStatus } from '../protocol/sessions/session-list.ts';
import type { TurnRing } from './turn-ring.ts';

/** Turns of other nodes that one look reads; the others wait for the next. */
export const MAX_LOOKED_AT = 200;

/** What the database says of turns. Throws `StoreError`. */
export interface StoredTurns {
  unfinishedTurns(turnIds: readonly string[]): Promise<ReadonlySet<string>>;
  turn(turnId: string): Promise<TurnStatus | undefined>;
}

/** Called with a turn that has ended, and its text, if it has one. */
type OnEnd = (ring: TurnRing, text: string | undefined, reason: TurnEndReason) => void;

/** Looks for the ends of turns that were silent from one look to the next. */
export class StoredEnds {
  readonly #turns: StoredTurns;
  readonly #log: Log;
  readonly #onEnd: OnEnd;
  /** Where each turn was at the last look. */
  #seqs = new Map<TurnRing, number>();
  /** How often each was read without an end: those that wait for a person must not keep the others from their turn. */
  readonly #reads = new WeakMap<TurnRing, number>();
  #isLooking = false;

  constructor(turns: StoredTurns, log: Log, onEnd: OnEnd) {
    this.#turns = turns;
    this.#log = log;
    this.#onEnd = onEnd;
  }

  /**
   * Looks in the background, one look at a time; `open` are the turns of other nodes whose ends are not known here. Those
   * that were not silent are looked at only if `isResumed`: their last events may have been lost with the connection.
   */
  look(open: readonly TurnRing[], isResumed: boolean): void {
    const silent = open.filter((ring) => isResumed || this.#seqs.get(ring) === ring.lastSeq);
    this.#seqs = new Map(open.map((ring) => [ring, ring.lastSeq]));
    if (silent.length === 0 || this.#isLooking) return;
    this.#isLooking = true;
    this.#read(silent)
      .catch((error: unknown) => this.#log.warn({ err: toGatewayError(error) }, 'stored_ends_unread'))
      .finally(() => (this.#isLooking = false));
  }

  async #read(silent: readonly TurnRing[]): Promise<void> {
    const unfinished = await this.#turns.unfinishedTurns(silent.map(({ turnId }) => turnId));
    const readsOf = (ring: TurnRing): number => this.#reads.get(ring) ?? 0;
    const others = silent.filter(({ turnId }) => !unfinished.has(turnId));
    const leastRead = others.toSorted((one, other) => readsOf(one) - readsOf(other));
    for (const ring of leastRead.slice(0, MAX_LOOKED_AT)) {
      this.#reads.set(ring, readsOf(ring) + 1);
      const stored = await this.#turns.turn(ring.turnId);
      if (stored?.state !== 'done') continue;
      const reason = TURN_END_REASONS.find((one) => one === stored.reason) ?? 'failed';
      this.#onEnd(ring, stored.final?.content, reason);
    }
  }
}
