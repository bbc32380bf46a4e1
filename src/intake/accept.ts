/** Commits a message for the agent, and starts its lane. */
import type { Approvals } from '../protocol/agent/approvals.ts';
import type { EventBus, LaneRunner, MessageBus } from '../protocol/bus.ts';
import type { Ledger, SessionStore } from '../protocol/store/ledger.ts';
import type { Log } from '../protocol/log.ts';
import type { AskedQuestion } from '../protocol/delivery.ts';
import {
  addressOf,
  answeredMessage,
  askedQuestion,
  type InboundMessage,
  type SessionKey,
  userIdOf,
} from '../protocol/message.ts';
import type { Receipt, ReceiveOptions } from '../protocol/receive.ts';
import { type AcceptResult, HISTORY_ROWS } from '../protocol/store/accept.ts';
import { WHY_NOT } from '../protocol/store/records.ts';
import type { CheckTokenBudget } from './limits/token-budget.ts';
import { refuseByRule } from './refused.ts';
import type { Languages } from '../protocol/texts/languages.ts';
import { toGatewayError } from '../protocol/errors.ts';
import type { Say } from '../protocol/texts/say.ts';

/*** Notice for users who write while a turn waits for an approval. */
interface WaitingNoticeDeps {
  approvals: Pick<Approvals, 'pending'>;
  ledger: Pick<Ledger, 'enqueue'>;
  bus: LaneRunner;
  events: Pick<EventBus, 'emit'>;
  log: Log;
}

/** Author of an answer of the bot that the conversation has forgotten. */
const FORGOTTEN = 'you, before this conversation began';

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

/**
 * The message as it may be accepted. The bot's own text is trusted like the conversation it comes from, whose sources
 * are kept. An answer from before `/new` may repeat text of others that is no longer on record: it is quoted as theirs.
 * Throws only `StoreError`.
 */
async function withKnownQuote(
  ledger: Pick<SessionStore, 'session' | 'sessionOf'>,
  message: InboundMessage,
): Promise<InboundMessage> {
  const { quoted } = message;
  if (quoted?.by !== 'bot') return message;
  const record = await ledger.session(message.sessionKey ?? (await ledger.sessionOf(addressOf(message))));
  const isRemembered = record !== undefined && (quoted.sentAt ?? 0) >= record.freshAt.getTime();
  if (isRemembered) return message;
  return { ...message, quoted: { ...quoted, by: 'other', author: FORGOTTEN } };
}

/** Returns the sentence; in a chat it is also queued as a separate message, once per turn. Throws `StoreError`. */
async function tellEffects(
  deps: { ledger: Pick<Ledger, 'enqueue'>; bus: LaneRunner; languages: Pick<Languages, 'say'> },
  message: InboundMessage,
  { turnId, effects }: { turnId: string; effects: readonly string[] },
): Promise<string> {
  const say = deps.languages.say(message);
  const text = say('retry.effects', { effects: effects.join(', ') });
  const { channel, chatId, threadId } = message;
  if (channel === 'http') return text;
  const notice = { channel, chatId, threadId, content: text, media: [], buttons: [] };
  const step = await deps.ledger.enqueue(
    addressOf(message),
    { ref: `again:${turnId}`, message: notice },
    deps.bus.claimingNode('out'),
  );
  deps.bus.runHeads(step);
  return text;
}

/**
 * Notifies each sender once per request about what the turn waits for. The message is already committed, so a failure
 * is only logged. Never throws.
 */
async function sendWaitingNotice(
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
