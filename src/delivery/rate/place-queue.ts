/** The calls waiting for one place: finals in order, and edits that show the newest state when their turn comes. */
import type { GatewayError } from '../../protocol/errors.ts';
import type { CallKind, PlaceLimit } from './place-limit.ts';

/** Something on screen that can update itself. */
export interface LiveEdit {
  /** Monotonic time at which it last changed on screen; undefined while none of it is on screen. */
  readonly shownAt: number | undefined;
  /**
   * Makes at most one call that shows the newest state: `nothing` if none was needed, `more` if there is more to
   * show. Throws only `ChannelError('rate_limited')`: it is called again after the pause.
   */
  show(): Promise<'nothing' | 'shown' | 'more'>;
}

/** A call that must happen. */
export interface Final {
  order: number;
  waitedMs: number;
  signal: AbortSignal;
  call(): Promise<void>;
  fail(error: GatewayError): void;
}

/** The next call of a place; of two of the same kind the one with the lower `rank` goes first. */
export type Offer = { queue: PlaceQueue; kind: CallKind; rank: number } & (
  | { final: Final; edit: undefined }
  | { final: undefined; edit: LiveEdit }
);

const URGENCY: Record<CallKind, number> = { final: 0, first: 1, edit: 2 };

export class PlaceQueue {
  readonly limit: PlaceLimit;
  /** A call is in flight: a place has one at a time. */
  busy = false;
  finals: Final[] = [];
  /** Requested edits, with the order of the requests. */
  readonly edits = new Map<LiveEdit, number>();

  constructor(limit: PlaceLimit) {
    this.limit = limit;
  }

  get isEmpty(): boolean {
    return this.finals.length === 0 && this.edits.size === 0;
  }

  /** The next call here; undefined if nothing is waiting, or while a call is in flight. */
  get offer(): Offer | undefined {
    if (this.busy) return undefined;
    const [final] = this.finals;
    if (final !== undefined) return { queue: this, kind: 'final', rank: final.order, final, edit: undefined };
    let next: Offer | undefined;
    for (const [edit, order] of this.edits) {
      const kind = edit.shownAt === undefined ? 'first' : 'edit';
      // The oldest screen first; first messages in the order of their requests.
      const rank = edit.shownAt ?? order;
      const offer: Offer = { queue: this, kind, rank, final: undefined, edit };
      if (next === undefined || isBefore(offer, next)) next = offer;
    }
    return next;
  }
}

/** True if `a` goes before `b`. */
export function isBefore(a: Offer, b: Offer): boolean {
  return a.kind === b.kind ? a.rank < b.rank : URGENCY[a.kind] < URGENCY[b.kind];
}
