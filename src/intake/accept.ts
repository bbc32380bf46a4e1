/** Commits a message for the agent, and starts its lane. */
import type { IntakeContext } from './context.ts';
import type { EventBus, MessageBus } from '../protocol/bus.ts';
import type { Ledger, SessionStore } from '../protocol/store/ledger.ts';
import {
  addressOf,
  answeredMessage,
  askedQuestion,
  type InboundMessage,
  type SessionKey,
  userIdOf,
} from '../protocol/message.ts';
import {
  type Receipt,
  type ReceiveOptions,
  type SendSystemMessage,
  systemInbound,
} from '../protocol/receive.ts';
import { type AcceptResult, HISTORY_ROWS } from '../protocol/store/accept.ts';
import { type ApprovalRecord, GROUP_WAIT_MS, MAX_LISTED_APPROVALS } from '../protocol/agent/approvals.ts';
import { RETRY_REFUSALS } from '../protocol/store/records.ts';
import { deliver } from './replies.ts';
import { toGatewayError } from '../protocol/errors.ts';
import type { Say } from '../protocol/texts/say.ts';

/** Author of an answer of the bot that the conversation has forgotten. */
const FORGOTTEN = 'you, before this conversation began';

/** Commits the message (T1), then emits its events and runs its lane. */
export async function accept(
  context: IntakeContext,
  inbound: InboundMessage,
  options: ReceiveOptions,
  isOwner: boolean,
): Promise<Receipt> {
  const message = await inThread(context, inbound, options);
  if (options.retryOf === undefined) await context.threads.enter(message);
  const accepted = await context.ledger.accept({
    message: await withKnownQuote(context.ledger, message),
    address: addressOf(message),
    entry: options.entry ?? 'runStream',
    model: options.model,
    profileId: options.profileId,
    mode: options.mode,
    begins: options.begins,
    plan: options.plan,
    options: options.options,
    question: options.question,
    ...(isOwner && { isOwner }),
    retryOf: options.retryOf,
    reworded: options.reworded,
    unlessToolsPending: options.awaitsAnswer,
    ownerTokenId: options.caller?.tokenId,
    anyOwner: options.caller?.scopes.includes('admin'),
    node: context.bus.claimingNode('in'),
    historyRows: HISTORY_ROWS,
  });
  const say = context.languages.say(message);
  if (accepted.kind !== 'accepted' && accepted.kind !== 'duplicate') return refusalOf(accepted, say);
  const { session, turnId, laneSeq, seq } = accepted;
  const { channel, chatId } = message;
  const fields = { channel, chatId, sessionKey: session, turnId, laneSeq };
  if (accepted.kind === 'duplicate') {
    context.log.debug(fields, 'message_duplicate');
    return { kind: 'duplicate', turnId, seq, ...(accepted.differs && { differs: true }) };
  }
  context.log.debug(fields, 'message_accepted');
  context.events.emit(
    session,
    options.retryOf !== undefined
      ? { type: 'context_changed' }
      : { type: 'message_received', content: message.content, seq, senderName: message.senderName },
  );
  if (accepted.position > 0)
    context.events.emit(session, { type: 'queue_position', position: accepted.position });
  context.bus.runHeads(accepted);
  if (accepted.interrupts) context.bus.notifyStop(`in:${session}`);
  const question = accepted.position > 0 ? askedQuestion(message) : undefined;
  if (question !== undefined) context.noteWaiting(question);
  if (accepted.position > 0 && message.onBehalfOf === undefined)
    await sendWaitingNotice(context, message, session, say);
  const note =
    accepted.effects && (await tellEffects(context, message, { turnId, effects: accepted.effects }));
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
  return { kind: 'refused', code: 'not_retried', reply: say.text(RETRY_REFUSALS[accepted.reason]) };
}

/** The message in the thread that its channel opens for it, if any; not in a chat that shares its session. */
async function inThread(
  { ledger }: IntakeContext,
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
 * The message as it may be accepted. The bot's own text is trusted like its conversation, whose sources are stored. An
 * answer from before `/new` counts as text of others, because its sources may be lost. Throws only `StoreError`.
 */
async function withKnownQuote(ledger: SessionStore, message: InboundMessage): Promise<InboundMessage> {
  const { quoted } = message;
  if (quoted?.by !== 'bot') return message;
  const record = await ledger.session(message.sessionKey ?? (await ledger.sessionOf(addressOf(message))));
  const isRemembered = record !== undefined && (quoted.sentAt ?? 0) >= record.freshAt.getTime();
  if (isRemembered) return message;
  return { ...message, quoted: { ...quoted, by: 'other', author: FORGOTTEN } };
}

/** Returns the sentence; in a chat it is also queued as a separate message, once per turn. Throws `StoreError`. */
async function tellEffects(
  context: IntakeContext,
  message: InboundMessage,
  { turnId, effects }: { turnId: string; effects: readonly string[] },
): Promise<string> {
  const say = context.languages.say(message);
  const text = say('retry.effects', { effects: effects.join(', ') });
  const { channel, chatId, threadId } = message;
  if (channel === 'http') return text;
  const notice = { channel, chatId, threadId, content: text, media: [], buttons: [] };
  await deliver(context, addressOf(message), { ref: `again:${turnId}`, message: notice });
  return text;
}

/** Tells a sender once per request what their own earlier message waits for: others go ahead of it. A failure is only logged. Never throws. */
async function sendWaitingNotice(
  context: IntakeContext,
  message: InboundMessage,
  session: SessionKey,
  say: Say,
): Promise<void> {
  try {
    const [calls, questions] = await Promise.all([
      context.approvals.pending({ session, limit: MAX_LISTED_APPROVALS }),
      context.approvals.questions({ session }),
    ]);
    const approval = [...calls, ...questions].find(({ userId }) => userId === userIdOf(message));
    if (approval === undefined) return;
    const text = waitingText(approval, message.place === 'group', say);
    context.events.emit(session, { type: 'notice', code: 'waiting_for_approval', text });
    const { channel, chatId, threadId, senderId } = message;
    const replyTo = answeredMessage(message);
    if (channel === 'http') return;
    const ref = `waiting:${approval.id}:${senderId}`;
    const notice = { channel, chatId, threadId, content: text, replyTo, media: [], buttons: [] };
    await deliver(context, addressOf(message), { ref, message: notice });
  } catch (error) {
    context.log.warn({ err: toGatewayError(error), sessionKey: session }, 'waiting_notice_failed');
  }
}

function waitingText({ tool, question }: ApprovalRecord, inGroup: boolean, say: Say): string {
  if (question !== undefined) return say('waiting.for_answer', { who: question.label });
  if (!inGroup) return say('waiting.for_approval', { tool });
  return say('waiting.for_owner', { tool, count: GROUP_WAIT_MS / 60_000 });
}

/** Makes `SendSystemMessage`. It throws only `StoreError`. */
export function createSendSystemMessage(
  ledger: Ledger,
  bus: MessageBus,
  events: EventBus,
): SendSystemMessage {
  return async (system) => {
    const { session, address, entry, content, senderName, silentToken } = system;
    const message = systemInbound(system);
    const accepted = await ledger.accept({
      message,
      address,
      entry: entry ?? 'runStream',
      silentToken,
      node: bus.claimingNode('in'),
    });
    if (accepted.kind === 'accepted') {
      if (silentToken === undefined) {
        events.emit(session, { type: 'message_received', content, seq: accepted.seq, senderName });
      }
      bus.runHeads(accepted);
    }
    return accepted;
  };
}
