/** The calls of live messages: counted, and repaired where they may have overwritten a final text. */
import { ChannelError, type GatewayError, toGatewayError } from '../../protocol/errors.ts';
import { type Address, parseAddress } from '../../protocol/message.ts';
import {
  type LiveCounts,
  type LivePoint,
  MAX_LIVE_EDITS,
  MAX_LIVE_POINTS,
} from '../../protocol/store/traces.ts';
import { newId } from '../../lib/ids.ts';
import type { DeliveryContext } from '../context.ts';

/** A call that took longer than this may have outlived the lease of its node, in milliseconds. */
export const LATE_CALL_MS = 8_000;

/** A call that has ended: how long it took, in milliseconds, and the lease of this node when it was decided on. */
export interface EndedCall {
  tookMs: number;
  lease: string | undefined;
}

/** What a growing message reports about its calls. */
export interface CallListeners {
  /** No one can read the reply any more; may be called more than once. */
  onBlocked: () => void;
  onCallEnded: (call: EndedCall) => void;
}

/** True if the call may have arrived after another node's text: after a freeze there may be a new lease. */
export function isLate({ tookMs, lease }: EndedCall, currentLease: string | undefined): boolean {
  return tookMs > LATE_CALL_MS || lease === undefined || lease !== currentLease;
}

/** Queues a turn's final text again for a chat, as `ref`, unless the turn still runs. Never throws. */
export async function redeliver(
  { ledger, bus, log }: DeliveryContext,
  turnId: string,
  address: Address,
  ref = turnId,
): Promise<void> {
  try {
    const turn = await ledger.turn(turnId);
    if (turn?.final === undefined) return;
    const { content } = turn.final;
    const message = { ...parseAddress(address), content, media: [], buttons: [] };
    const payload = {
      ref,
      key: `${ref}:again:${newId()}`,
      message: ref === turnId ? { ...message, turnId } : message,
    };
    bus.runHeads(await ledger.enqueue(address, payload, bus.claimingNode('out')));
    log.info({ turnId, address }, 'final_text_shown_again');
  } catch (error) {
    log.warn({ err: toGatewayError(error), turnId, address }, 'late_call_not_repaired');
  }
}

/** Counts the calls of a live message, and notes the times of the first ones. */
export class LiveCalls {
  readonly #epochMs: () => number;
  readonly #points: LivePoint[] = [];
  readonly #sums = { sent: 0, edited: 0, refused: 0, failed: 0 };

  constructor(epochMs: () => number) {
    this.#epochMs = epochMs;
  }

  get counts(): LiveCounts {
    return { ...this.#sums, points: [...this.#points] };
  }

  shown(kind: 'sent' | 'edited'): void {
    this.#note(kind);
  }

  failed(error: GatewayError): void {
    const { code, retryAfterMs } = error;
    const isRefusal = error instanceof ChannelError && code === 'rate_limited';
    this.#note(isRefusal ? 'refused' : 'failed', { code, retryAfterMs });
  }

  #note(kind: LivePoint['kind'], details: Partial<LivePoint> = {}): void {
    this.#sums[kind] += 1;
    const hasRoom =
      this.#points.length < MAX_LIVE_POINTS && (kind !== 'edited' || this.#sums.edited <= MAX_LIVE_EDITS);
    if (hasRoom) this.#points.push({ kind, ...details, atMs: this.#epochMs() });
  }
}
