/** System messages: turns that no person started (a subagent's result, a schedule, a heartbeat). */
import type { LaneRunner, EventBus } from '../protocol/bus.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import { type SendSystemMessage, systemInbound } from '../protocol/receive.ts';

export interface SystemMessageDeps {
  ledger: Pick<Ledger, 'accept'>;
  bus: LaneRunner;
  events: Pick<EventBus, 'emit'>;
}

/** Makes `SendSystemMessage`. It throws only `StoreError`. */
export function createSendSystemMessage(deps: SystemMessageDeps): SendSystemMessage {
  return async (system) => {
    const { session, address, entry, content, senderName, silentToken } = system;
    const message = systemInbound(system);
    const accepted = await deps.ledger.accept({
      message,
      address,
      entry: entry ?? 'runStream',
      silentToken,
      node: deps.bus.claimingNode('in'),
    });
    if (accepted.kind === 'accepted') {
      if (silentToken === undefined) {
        deps.events.emit(session, { type: 'message_received', content, seq: accepted.seq, senderName });
      }
      deps.bus.runHeads(accepted);
    }
    return accepted;
  };
}
