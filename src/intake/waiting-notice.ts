/** Notice for users who write while a turn waits for an approval. */
import type { Approvals } from '../contracts/tools/approvals.ts';
import type { LaneRunner, EventBus } from '../contracts/bus.ts';
import { toGatewayError } from '../contracts/errors.ts';
import type { Ledger } from '../contracts/store/ledger.ts';
import type { Log } from '../contracts/log.ts';
import { addressOf, answeredMessage, type InboundMessage, type SessionKey } from '../contracts/message.ts';
import type { Say } from '../contracts/texts/say.ts';

export interface WaitingNoticeDeps {
  approvals: Pick<Approvals, 'pending'>;
  ledger: Pick<Ledger, 'enqueue'>;
  bus: LaneRunner;
  events: Pick<EventBus, 'emit'>;
  log: Log;
}

/**
 * Notifies each sender once per request about what the turn waits for. The message is already committed, so a failure
 * is only logged. Never throws.
 */
export async function sendWaitingNotice(
  deps: WaitingNoticeDeps,
  message: InboundMessage,
  session: SessionKey,
  say: Say,
): Promise<void> {
  try {
    const [waiting] = await deps.approvals.pending({ session, limit: 1 });
    if (waiting === undefined) return;
    const text = say('waiting.for_approval', { tool: waiting.tool });
    deps.events.emit(session, { type: 'notice', code: 'waiting_for_approval', text });
    const { channel, chatId, threadId, senderId } = message;
    const replyTo = answeredMessage(message);
    if (channel === 'http') return;
    const ref = `waiting:${waiting.id}:${senderId}`;
    const notice = { channel, chatId, threadId, content: text, replyTo, media: [], buttons: [] };
    const step = await deps.ledger.enqueue(
      addressOf(message),
      { ref, message: notice },
      deps.bus.claimingNode('out'),
    );
    deps.bus.runHeads(step);
  } catch (error) {
    deps.log.warn({ err: toGatewayError(error), sessionKey: session }, 'waiting_notice_failed');
  }
}
