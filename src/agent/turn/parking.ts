/** Parked turns: released until a human decides; the decision is announced when they continue. */
import { randomBytes } from 'node:crypto';
import {
  approvalOutcome,
  type ApprovalRecord,
  approvalRef,
  type ApprovalSubject,
  howDecided,
  MAX_ALSO_ASKED,
} from '../../protocol/agent/approvals.ts';
import type { LaneOutcome, TurnEmitter } from '../../protocol/bus.ts';
import { addressOf, type DeliveryPayload } from '../../protocol/message.ts';
import type { EventBody } from '../../protocol/event.ts';
import type { ApprovalWait } from '../tools/approval-gate.ts';
import type { CallerWait } from '../tools/caller-calls.ts';
import {
  answeredFor,
  decidedFor,
  isOverHttp,
  personQuestionFor,
  questionFor,
  waitsFor,
} from './approval-question.ts';
import type { AgentShared } from '../deps.ts';
import { recipientOf } from '../../protocol/texts/languages.ts';
import type { Turn } from './turn-state.ts';

/**
 * Parks the turn until someone decides. Journal, question and release of the head are one commit. The id has 128 random
 * bits, because anyone who knows it can press the button. Throws `StoreError`.
 */
export async function parkTurn(
  shared: AgentShared,
  turn: Turn,
  emitter: TurnEmitter,
  { subject }: ApprovalWait,
): Promise<LaneOutcome> {
  const {
    stores: { lanes },
    limits,
  } = shared;
  const id = randomBytes(16).toString('base64url');
  if (subject.question !== undefined) return await parkForPerson(shared, turn, emitter, id, subject);
  const { budget } = subject;
  if (budget !== undefined) return await parkForBudget(shared, turn, emitter, id, { ...subject, budget });
  const expiresInMs = limits.approvalMs;
  const questions = inEachChat(id, subject, turn, (request) =>
    questionFor(id, request, expiresInMs, turn.say),
  );
  await lanes.park(turn.fence, { id, turnId: turn.turnId, detail: subject, expiresInMs, questions });
  const { toolCallId, warning, agentId, plan } = subject;
  const call = plan === undefined ? { toolCallId } : {};
  emitter.emit(
    { type: 'approval_needed', approvalId: id, ...call, warningMessage: warning },
    agentId === undefined ? undefined : { agentId },
  );
  turn.log.info({ approvalId: id, tool: subject.tool, callKey: subject.callKey }, 'approval_needed');
  return { kind: 'parked' };
}

/**
 * Parks the turn until an owner adds to a budget. An owner's own private chat is asked itself; for all others, up to
 * `MAX_ALSO_ASKED` private chats of owners are asked at once, and the chat learns that its answer waits. If another turn
 * has asked about the same budget, its answer decides this one, too.
 */
async function parkForBudget(
  shared: AgentShared,
  turn: Turn,
  emitter: TurnEmitter,
  id: string,
  subject: ApprovalSubject & { budget: NonNullable<ApprovalSubject['budget']> },
): Promise<LaneOutcome> {
  const { stores, limits, chats } = shared;
  const expiresInMs = limits.approvalMs;
  const { key } = subject.budget;
  const pending = await stores.approvals.pendingBudgets(key);
  const isOwners = turn.isOwner === true && turn.askedIn === 'private';
  const isAsked = pending.some(({ budget }) => budget?.asks !== 'elsewhere');
  const asks = isAsked ? 'elsewhere' : isOwners ? 'here' : 'owners';
  const owners = asks === 'owners' ? await shared.ownerChats() : [];
  const alsoAsked = owners.filter((chat) => chat !== turn.address).slice(0, MAX_ALSO_ASKED);
  const detail = { ...subject, budget: { ...subject.budget, asks }, alsoAsked } as const;
  const questions = await Promise.all(
    alsoAsked.map(async (address) => {
      const say = chats.languages.say(recipientOf(address, await chats.languages.languageOf(address)));
      const question = questionFor(id, { ...detail, address }, expiresInMs, say);
      return question === undefined ? [] : [{ ...question, ref: approvalRef(id, address) }];
    }),
  );
  const ask = asks === 'here' ? questionFor : waitsFor;
  const delivery = ask(id, detail, expiresInMs, turn.say);
  await stores.lanes.park(turn.fence, {
    id,
    turnId: turn.turnId,
    detail,
    expiresInMs,
    questions: [...(delivery === undefined ? [] : [delivery]), ...questions.flat()],
  });
  shared.background.sweepSoon();
  emitter.emit({ type: 'approval_needed', approvalId: id, warningMessage: subject.warning });
  turn.log.info({ approvalId: id, budget: key }, 'budget_used_up');
  return { kind: 'parked' };
}

/** Parks the turn until another person answers: the question goes to their chat, in their language. */
async function parkForPerson(
  { stores: { lanes }, limits: { answerMs: expiresInMs }, chats: { languages, events } }: AgentShared,
  turn: Turn,
  emitter: TurnEmitter,
  id: string,
  subject: ApprovalSubject,
): Promise<LaneOutcome> {
  const { question } = subject;
  const language = await languages.languageOf(question?.userId ?? '');
  const say = languages.say(recipientOf(question?.address ?? '', language));
  const detail = { ...subject, language };
  const questions = personQuestionFor(id, detail, expiresInMs, say);
  await lanes.park(turn.fence, { id, turnId: turn.turnId, detail, expiresInMs, questions });
  const text = turn.say('ask.waits', {
    who: question?.label ?? '',
    count: Math.round(expiresInMs / 60_000),
  });
  emitter.emit({ type: 'notice', code: 'person_asked', text });
  if (question !== undefined && isOverHttp(question))
    events.emit(question.address, { type: 'approval_needed', approvalId: id });
  turn.log.info({ approvalId: id, callKey: subject.callKey }, 'person_asked');
  return { kind: 'parked' };
}

/** Parks the turn until its caller sends the results of its tools. Throws `StoreError`. */
export async function parkForCaller(
  { stores: { lanes }, limits }: AgentShared,
  turn: Turn,
  emitter: TurnEmitter,
  { calls }: CallerWait,
): Promise<LaneOutcome> {
  await lanes.parkForCaller(turn.fence, { turnId: turn.turnId, expiresInMs: limits.approvalMs });
  emitter.emit({ type: 'tool_results_needed', calls });
  turn.log.info({ calls: calls.length }, 'tool_results_needed');
  return { kind: 'parked' };
}

/**
 * Announces the decision that the turn waited for, or its expiry: in the message that asked for it, and as an event.
 * Idempotent, so it may be repeated after a crash. Throws `StoreError`.
 */
export async function announceDecision(shared: AgentShared, turn: Turn, emitter: TurnEmitter): Promise<void> {
  const [newest] = turn.approvals;
  if (newest === undefined || isAnswered(turn, newest.callKey)) return;
  const { id, decision, decidedBy } = newest;
  turn.log.info({ approvalId: id, decision, decidedBy }, 'approval_decided');
  const record = await shared.stores.approvals.approval(id);
  if (record?.question !== undefined) {
    const say = shared.chats.languages.say(recipientOf(record.question.address, record.language));
    for (const delivery of answeredFor(record, say))
      await shared.stores.ledger.enqueue(addressOf(delivery.message), delivery);
    if (isOverHttp(record.question))
      shared.chats.events.emit(record.question.address, {
        type: 'approval_decided',
        approvalId: id,
        decision,
        how: howDecided(decidedBy),
      });
    return;
  }
  shared.traces.decided(approvalOutcome(decision, decidedBy));
  emitter.emit(
    {
      type: 'approval_decided',
      approvalId: id,
      decision,
      ...decidedCall(record),
      how: howDecided(decidedBy),
    },
    record?.agentId === undefined ? undefined : { agentId: record.agentId },
  );
  if (record === undefined) return;
  for (const delivery of inEachChat(id, record, turn, (request) =>
    decidedFor(
      request,
      shared.chats.languages.say(recipientOf(request.address, request.language)),
      shared.environmentNote.channelLabel,
    ),
  ))
    await shared.stores.ledger.enqueue(addressOf(delivery.message), delivery);
}

/**
 * What is shown of a request in the chat that asked, if it is private in the other private chats of the session, and in
 * those of owners who were asked later.
 */
function inEachChat<Asked extends ApprovalSubject>(
  id: string,
  request: Asked,
  { surfaces, askedIn }: Turn,
  deliveryFor: (asked: Asked) => DeliveryPayload | undefined,
): DeliveryPayload[] {
  const others = surfaces
    .filter(({ place }) => askedIn === 'private' && place === 'private')
    .map(({ address }) => address);
  const elsewhere = new Set([...others, ...(request.alsoAsked ?? [])]);
  const delivery = deliveryFor(request);
  return [
    ...(delivery === undefined ? [] : [delivery]),
    ...[...elsewhere].flatMap((address) => {
      const copy = deliveryFor({ ...request, address });
      if (copy === undefined) return [];
      const ref = approvalRef(id, address);
      const decision = copy.key === undefined ? {} : { key: `${ref}:decided` };
      return [{ ...copy, ref, ...decision }];
    }),
  ];
}

/** The decided call, with who decided it and when. */
function decidedCall(
  record: ApprovalRecord | undefined,
): Pick<
  Extract<EventBody, { type: 'approval_decided' }>,
  'toolCallId' | 'by' | 'decidedAt' | 'reason' | 'args'
> {
  if (record === undefined || record.plan !== undefined || record.budget !== undefined) return {};
  const { toolCallId, decidedName, decidedAt, reason, changed } = record;
  return {
    toolCallId,
    ...(decidedName !== undefined && { by: decidedName }),
    ...(decidedAt !== undefined && { decidedAt: decidedAt.toISOString() }),
    ...(reason !== undefined && { reason }),
    ...(changed !== undefined && { args: changed }),
  };
}

/** True when the call has a result: its decision was announced before it ran. */
function isAnswered(turn: Turn, callKey: string): boolean {
  const [place, iteration, callIndex] = /\.(\d+)\.(\d+)$/.exec(callKey) ?? [];
  // A subagent's call has its result in another journal.
  if (callKey.replace(/^ask:/, '') !== `${turn.turnId}${place}`) return false;
  return turn.rows.result(Number(iteration), Number(callIndex)) !== undefined;
}
