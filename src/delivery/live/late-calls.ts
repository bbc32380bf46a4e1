/**
 * Calls of a process that was paused: what they put on screen may have arrived after the final text that another node
 * delivered.
 */
import type { MessageBus } from '../../protocol/bus.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { Log } from '../../protocol/log.ts';
import { type Address, parseAddress } from '../../protocol/message.ts';
import { newId } from '../../lib/ids.ts';

/** A call that took longer than this may have outlived the lease of its node, in milliseconds. */
export const LATE_CALL_MS = 8_000;

export interface LateCallDeps {
  ledger: Pick<Ledger, 'enqueue' | 'turn'>;
  bus: Pick<MessageBus, 'lease' | 'claimingNode' | 'runHeads'>;
  log: Log;
}

/** A call that has ended: how long it took, in milliseconds, and the lease of this node when it was decided on. */
export interface EndedCall {
  tookMs: number;
  lease: string | undefined;
}

/**
 * True for a call that may have arrived after another node's text. A process that was frozen between the decision and
 * the call may hold a new lease by now.
 */
export function isLate({ tookMs, lease }: EndedCall, now: string | undefined): boolean {
  return tookMs > LATE_CALL_MS || lease === undefined || lease !== now;
}

/**
 * Returns the function to call when a call of a growing reply or its plan's card has ended. If that call may have
 * arrived after the final text of its turn, the node that holds the chat delivers that text and the card once more.
 * Never throws.
 */
export function watchForLateCalls(
  deps: LateCallDeps,
  { turnId, address }: { turnId: string; address: Address },
): (call: EndedCall) => void {
  return (call) => {
    if (!isLate(call, deps.bus.lease())) return;
    showFinalAgain(deps, turnId, address).catch((error: unknown) =>
      deps.log.warn({ err: toGatewayError(error), turnId, address }, 'late_call_not_repaired'),
    );
  };
}

async function showFinalAgain(
  { ledger, bus, log }: LateCallDeps,
  turnId: string,
  address: Address,
): Promise<void> {
  const turn = await ledger.turn(turnId);
  // A turn that is not over yet will show its final text after this call.
  if (turn?.final === undefined) return;
  const message = {
    ...parseAddress(address),
    content: turn.final.content,
    turnId,
    media: [],
    buttons: [],
  };
  const again = { ref: turnId, key: `${turnId}:again:${newId()}`, message };
  bus.runHeads(await ledger.enqueue(address, again, bus.claimingNode('out')));
  log.info({ turnId, address }, 'final_text_shown_again');
}
