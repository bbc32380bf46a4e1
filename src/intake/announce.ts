/** The house's own way in: messages that no person wrote (a subagent's result, a schedule, a heartbeat) start turns, too. */
import type { Carrier, EventBus } from '../bus.ts';
import type { Ledger } from '../ledger.ts';
import { systemInbound } from '../receive.ts';
import type { Announce } from '../receive.ts';

export interface AnnounceDeps {
  ledger: Pick<Ledger, 'accept'>;
  bus: Carrier;
  events: Pick<EventBus, 'emit'>;
}

/** Makes `announce`. It throws only `StoreError`. */
export function createAnnounce(deps: AnnounceDeps): Announce {
  return async (system) => {
    const { session, address, entry, content, senderName, quietToken } = system;
    const message = systemInbound(system);
    const accepted = await deps.ledger.accept({
      message,
      address,
      entry: entry ?? 'runStream',
      quietToken,
      node: deps.bus.claimant('in'),
    });
    if (accepted.kind === 'accepted') {
      if (quietToken === undefined) {
        deps.events.emit(session, { type: 'message_received', content, seq: accepted.seq, senderName });
      }
      deps.bus.run(accepted);
    }
    return accepted;
  };
}
