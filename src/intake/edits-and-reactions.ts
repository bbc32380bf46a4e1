/** What people do to earlier messages: edit and delete questions, react to answers, and press the buttons below them. */
import type { IntakeContext } from './context.ts';
import type { Verdict } from '../protocol/access.ts';
import {
  addressOf,
  answeredMessage,
  type InboundMessage,
  type SessionKey,
  userIdOf,
} from '../protocol/message.ts';
import type { PressAnswer, PressHandler, Receipt } from '../protocol/receive.ts';
import { editObserved } from './group-talk.ts';
import { deliver } from './replies.ts';
import { describeStop, stopSession } from './sessions.ts';
import type { NoteDeleted } from '../protocol/store/group-chats.ts';
import { agentLane, agentPrefix } from '../protocol/agent/subagents.ts';
import { agentCardRef, readAgentButton, readTurnButton } from '../protocol/delivery.ts';
import type { Say } from '../protocol/texts/say.ts';

const VALUE = /^again:([\w-]{1,64})$/;

/** True for an edit and for a reaction. */
export function isEditOrReaction({ stops, isEdit }: InboundMessage): boolean {
  return stops !== undefined || isEdit === true;
}

/** Acts on one of them, silently for senders without access. Throws only `StoreError`. */
export async function handleEditOrReaction(
  context: IntakeContext,
  message: InboundMessage,
  verdict: Verdict,
): Promise<Receipt> {
  const isObserved = verdict.kind === 'observe' || (verdict.kind === 'allow' && message.place === 'group');
  if (isObserved && message.isEdit === true) await editObserved(context, message);
  if (verdict.kind !== 'allow' || message.fromBot === true) return { kind: 'refused', code: 'denied' };
  if (message.stops !== undefined) return await stopAnswer(context, message, message.stops);
  return await editQuestion(context, message, await context.ledger.sessionOf(addressOf(message)));
}

/** Stops the answer as `/stop` does; a reaction to anything else changes nothing. Throws only `StoreError`. */
async function stopAnswer(context: IntakeContext, message: InboundMessage, answer: string): Promise<Receipt> {
  const session = await context.store.questions.sessionShowing(message, answer);
  if (session === undefined) return { kind: 'handled' };
  await stopSession(context, session, false);
  context.log.info({ address: addressOf(message), sessionKey: session }, 'answer_stopped_by_reaction');
  return { kind: 'handled' };
}

/** Applies an edit; its effect is committed when it resolves. Throws only `StoreError`. */
async function editQuestion(
  context: IntakeContext,
  message: InboundMessage,
  session: SessionKey,
): Promise<Receipt> {
  const { messageId, senderId, content, channel, chatId, threadId } = message;
  if (messageId === undefined || content.trim() === '') return { kind: 'handled' };
  const outcome = await context.store.questions.editQuestion(session, { messageId, senderId, content });
  if (outcome.kind !== 'kept' || message.onBehalfOf !== undefined) return { kind: 'handled' };
  // The offer, once for each question.
  const say = context.languages.say(message);
  const buttons = [{ label: say('edited.again'), value: `again:${outcome.turnId}` }];
  const replyTo = answeredMessage(message);
  const offer = { channel, chatId, threadId, content: say('edited.offer'), replyTo, media: [], buttons };
  await deliver(context, addressOf(message), { ref: `edited:${outcome.turnId}`, message: offer });
  return { kind: 'handled' };
}

/** Makes the handler of "ask again": the newest text is asked, each version once, if its author or an owner presses. */
export function createAskAgain({ store: { questions } }: IntakeContext): PressHandler {
  return async ({ value, address, userId, owner, say }) => {
    const turnId = VALUE.exec(value)?.[1];
    if (turnId === undefined) return undefined;
    const edited = await questions.editedQuestion(turnId);
    if (edited === undefined) return { reply: say('edited.forgotten') };
    const [channel = ''] = address.split(':');
    if (!owner && userId !== userIdOf({ channel, senderId: edited.senderId }))
      return { reply: say('edited.foreign') };
    const { content, edits } = edited;
    return {
      reply: say('answer.asked_again'),
      forwarded: { id: `again:${turnId}:${edits}`, content, options: {} },
    };
  };
}

/** Makes the handler: what the page does when a person drops a waiting message there. A turn that has begun goes on. */
export function createNoteDeleted(context: IntakeContext): NoteDeleted {
  const { bus, events, log } = context;
  const { questions, groupChats, waiting: waitingStore } = context.store;
  return async (deleted) => {
    await groupChats.removeObserved(deleted, deleted.messageIds);
    for (const { session, turnId } of await questions.unansweredQuestions(deleted)) {
      if ((await waitingStore.dropWaiting(session, turnId)) === 'begun') continue;
      log.info({ sessionKey: session, turnId }, 'message_deleted');
      events.emit(session, { type: 'queue_changed' });
      bus.sweepSoon();
    }
  };
}

/** Makes the handler: `/stop` and `/retry`, but only for the answer that has the button. */
export function createAnswerButtons(context: IntakeContext): PressHandler {
  return async ({ value, address, say }) => {
    const button = readTurnButton(value);
    if (button === undefined) return undefined;
    const { action, turnId } = button;
    const [turn, session] = await Promise.all([
      context.ledger.turn(turnId),
      context.ledger.sessionOf(address),
    ]);
    if (turn === undefined) return { reply: say('answer.forgotten') };
    if (turn.session !== session) return { reply: say('button.elsewhere') };
    if (action === 'again') return await askAgain(context, session, turnId, say);
    if (turn.state === 'done') return { reply: say('answer.ended') };
    return { reply: describeStop(await stopSession(context, session, false), say, 'answer.ended') };
  };
}

/** Makes the handler of the button under the card of a background subagent. */
export function createAgentButtons(context: IntakeContext): PressHandler {
  return async ({ value, address, say }) => {
    const agentId = readAgentButton(value);
    if (agentId === undefined) return undefined;
    const session = await context.ledger.sessionOf(address);
    if (!agentId.startsWith(agentPrefix(session))) return { reply: say('button.elsewhere') };
    const isStopped = await context.store.subagents.stop({ agentId, session });
    context.bus.notifyStop(agentLane(agentId));
    context.bus.sweepSoon();
    // A lost send may have left a second copy of the card.
    return {
      reply: say(isStopped ? 'agent.stop_requested' : 'agent.over'),
      shownBy: agentCardRef(agentId),
    };
  };
}

async function askAgain(
  { store }: IntakeContext,
  session: SessionKey,
  turnId: string,
  say: Say,
): Promise<PressAnswer> {
  const last = await store.tries.lastQuestion(session);
  if (last?.turnId !== turnId) return { reply: say('answer.not_newest') };
  // Two presses under one answer ask once.
  const id = `turn-again:${turnId}`;
  const forwarded = { id, content: last.content, options: { retryOf: turnId } };
  return { reply: say('answer.asked_again'), forwarded };
}
