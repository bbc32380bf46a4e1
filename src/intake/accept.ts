/** Commits a message for the agent, and sets its lane going. */
import type { Approvals } from '../contracts/approvals.ts';
import type { EventBus, MessageBus } from '../contracts/bus.ts';
import type { Ledger } from '../contracts/store/ledger.ts';
import type { Log } from '../contracts/log.ts';
import type { AskedQuestion } from '../contracts/delivery.ts';
import { addressOf, askedQuestion } from '../contracts/message.ts';
import type { InboundMessage } from '../contracts/message.ts';
import type { Receipt, ReceiveOptions } from '../contracts/receive.ts';
import { WHY_NOT } from '../contracts/sessions/tries.ts';
import { withKnownQuote } from './quotes.ts';
import { tellEffects } from './sessions/retry-effects.ts';
import { sendWaitingNotice } from './waiting-notice.ts';

export interface AcceptDeps {
  approvals: Pick<Approvals, 'pending'>;
  ledger: Ledger;
  bus: MessageBus;
  events: EventBus;
  /** Shows at a question that it waits. Never throws. */
  noteWaiting: (question: AskedQuestion) => void;
  log: Log;
}

/** Commits the message (T1), then emits its events and runs its lane. */
export async function accept(
  deps: AcceptDeps,
  message: InboundMessage,
  options: ReceiveOptions,
  isOwner: boolean,
): Promise<Receipt> {
  const accepted = await deps.ledger.accept({
    message: await withKnownQuote(deps.ledger, message),
    address: addressOf(message),
    entry: options.entry ?? 'runStream',
    model: options.model,
    profileId: options.profileId,
    mode: options.mode,
    plan: options.plan,
    options: options.options,
    ...(isOwner && { isOwner }),
    retryOf: options.retryOf,
    unlessToolsPending: options.awaitsAnswer,
    ownerTokenId: options.caller?.tokenId,
    anyOwner: options.caller?.scopes.includes('admin'),
    node: deps.bus.claimingNode('in'),
  });
  if (accepted.kind === 'foreign') return { kind: 'refused', code: 'denied' };
  if (accepted.kind === 'full') {
    return {
      kind: 'refused',
      code: 'queue_full',
      reply: `${accepted.limit} of your messages are still waiting, so this one was not accepted. Send /stop to drop them.`,
    };
  }
  if (accepted.kind === 'tools_pending') {
    const ids = accepted.toolCallIds.join(', ');
    return {
      kind: 'refused',
      code: 'tools_pending',
      reply: `This session waits for the results of the tool calls ${ids}: send them as tool messages, or stop the session.`,
    };
  }
  if (accepted.kind === 'not_retried')
    return { kind: 'refused', code: 'not_retried', reply: WHY_NOT[accepted.why] };
  const { session, turnId, laneSeq, seq } = accepted;
  const { channel, chatId } = message;
  const told = { channel, chatId, sessionKey: session, turnId, laneSeq };
  if (accepted.kind === 'duplicate') {
    deps.log.debug(told, 'message_duplicate');
    return { kind: 'duplicate', turnId, seq, ...(accepted.differs && { differs: true }) };
  }
  deps.log.debug(told, 'message_accepted');
  deps.events.emit(
    session,
    options.retryOf !== undefined
      ? { type: 'context_changed' }
      : { type: 'message_received', content: message.content, seq, senderName: message.senderName },
  );
  if (accepted.position > 0)
    deps.events.emit(session, { type: 'queue_position', position: accepted.position });
  deps.bus.runHeads(accepted);
  if (accepted.interrupts) deps.bus.notifyStop(`in:${session}`);
  const question = accepted.position > 0 ? askedQuestion(message) : undefined;
  if (question !== undefined) deps.noteWaiting(question);
  if (accepted.position > 0) await sendWaitingNotice(deps, message, session);
  const note = accepted.effects && (await tellEffects(deps, message, { turnId, effects: accepted.effects }));
  return { kind: 'accepted', turnId, seq, position: accepted.position, ...(note !== undefined && { note }) };
}
