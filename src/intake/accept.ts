/** Commits a message for the agent, and starts its lane. */
import type { Approvals } from '../contracts/tools/approvals.ts';
import type { EventBus, MessageBus } from '../contracts/bus.ts';
import type { Ledger } from '../contracts/store/ledger.ts';
import type { Log } from '../contracts/log.ts';
import type { AskedQuestion } from '../contracts/delivery.ts';
import { addressOf, askedQuestion, type InboundMessage, userIdOf } from '../contracts/message.ts';
import type { Receipt, ReceiveOptions } from '../contracts/receive.ts';
import { type AcceptResult, HISTORY_ROWS } from '../contracts/store/accept.ts';
import { WHY_NOT } from '../contracts/sessions/tries.ts';
import type { CheckTokenBudget } from './limits/token-budget.ts';
import { withKnownQuote } from './quotes.ts';
import { refuseByRule } from './refused.ts';
import { tellEffects } from './sessions/retry-effects.ts';
import { sendWaitingNotice } from './waiting-notice.ts';
import type { Say } from '../contracts/texts/say.ts';
import type { Languages } from '../contracts/texts/languages.ts';

export interface AcceptDeps {
  approvals: Pick<Approvals, 'pending'>;
  ledger: Ledger;
  bus: MessageBus;
  events: EventBus;
  languages: Pick<Languages, 'say'>;
  checkTokenBudget: CheckTokenBudget;
  /** Marks a question as waiting. Never throws. */
  noteWaiting: (question: AskedQuestion) => void;
  log: Log;
}

/** Commits the message (T1) if its sender has tokens left, then emits its events and runs its lane. */
export async function accept(
  deps: AcceptDeps,
  asked: InboundMessage,
  options: ReceiveOptions,
  isOwner: boolean,
): Promise<Receipt> {
  const check = () => deps.checkTokenBudget(userIdOf(asked));
  const refusal = isOwner ? undefined : await refuseByRule(deps.languages.say(asked), check);
  if (refusal !== undefined) return refusal;
  const message = await inThread(deps, asked, options);
  const accepted = await deps.ledger.accept({
    message: await withKnownQuote(deps.ledger, message),
    address: addressOf(message),
    entry: options.entry ?? 'runStream',
    model: options.model,
    profileId: options.profileId,
    mode: options.mode,
    begins: options.begins,
    plan: options.plan,
    options: options.options,
    ...(isOwner && { isOwner }),
    retryOf: options.retryOf,
    unlessToolsPending: options.awaitsAnswer,
    ownerTokenId: options.caller?.tokenId,
    anyOwner: options.caller?.scopes.includes('admin'),
    node: deps.bus.claimingNode('in'),
    historyRows: HISTORY_ROWS,
  });
  const say = deps.languages.say(message);
  if (accepted.kind !== 'accepted' && accepted.kind !== 'duplicate') return refusalOf(accepted, say);
  const { session, turnId, laneSeq, seq } = accepted;
  const { channel, chatId } = message;
  const fields = { channel, chatId, sessionKey: session, turnId, laneSeq };
  if (accepted.kind === 'duplicate') {
    deps.log.debug(fields, 'message_duplicate');
    return { kind: 'duplicate', turnId, seq, ...(accepted.differs && { differs: true }) };
  }
  deps.log.debug(fields, 'message_accepted');
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
  if (accepted.position > 0) await sendWaitingNotice(deps, message, session, say);
  const note = accepted.effects && (await tellEffects(deps, message, { turnId, effects: accepted.effects }));
  return { kind: 'accepted', turnId, seq, position: accepted.position, ...(note !== undefined && { note }) };
}

type NotAccepted = Exclude<AcceptResult, { kind: 'accepted' | 'duplicate' }>;

function refusalOf(accepted: NotAccepted, say: Say): Receipt {
  if (accepted.kind === 'foreign') return { kind: 'refused', code: 'denied' };
  if (accepted.kind === 'full') {
    const reply = say('refused.queue_full', { count: accepted.limit });
    return { kind: 'refused', code: 'queue_full', reply };
  }
  if (accepted.kind === 'tools_pending') {
    const reply = say('refused.tools_pending', { ids: accepted.toolCallIds.join(', ') });
    return { kind: 'refused', code: 'tools_pending', reply };
  }
  return { kind: 'refused', code: 'not_retried', reply: say.text(WHY_NOT[accepted.why]) };
}

/**
 * The message in the thread that its channel opens for it, if any; a message in a chat that shares its session stays
 * there.
 */
async function inThread(
  { ledger }: Pick<AcceptDeps, 'ledger'>,
  message: InboundMessage,
  { openThread }: ReceiveOptions,
): Promise<InboundMessage> {
  if (openThread === undefined) return message;
  const address = addressOf(message);
  if ((await ledger.sessionOf(address)) !== address) return message;
  const threadId = await openThread();
  return threadId === undefined ? message : { ...message, threadId };
}
