/** Records as the HTTP API answers with them; missing values are null. The page takes its types from here. */
import type { Caller } from '../../src/protocol/access.ts';
import type { ApprovalRecord, ApprovalRule } from '../../src/protocol/agent/approvals.ts';
import type { Attachment } from '../../src/protocol/media.ts';
import type { Todo } from '../../src/protocol/store/notes.ts';
import type { TurnExplanation } from '../../src/protocol/store/traces.ts';
import type { PlanRecord } from '../../src/protocol/agent/plan-store.ts';
import { FIRST_EVENT_ID } from '../../src/protocol/event.ts';
import { versionOf } from '../../src/protocol/agent/plan-edits.ts';
import type { Receipt } from '../../src/protocol/receive.ts';
import type { MessageRecord, SessionRecord } from '../../src/protocol/store/records.ts';
import type {
  Fork,
  SessionChoices,
  SessionModel,
  WaitingQueue,
} from '../../src/protocol/sessions/conversation-api.ts';
import type { FoundSession, ListedSession } from '../../src/protocol/sessions/session-list.ts';
import type { ScheduleRecord, ReportedScheduleRun } from '../../src/protocol/schedules.ts';

/** A value after JSON: dates are ISO strings. */
type Json<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Json<Item>[]
    : Value extends object
      ? { [Field in keyof Value]: Json<Value[Field]> }
      : Value;

/** A session as clients read it. */
export type WireSession = Json<ReturnType<typeof wireSession>>;
/** A session as lists show it to clients. */
export type WireListed = Json<ReturnType<typeof wireListed>>;
/** What waits, as clients read it. */
export type WireQueue = Json<ReturnType<typeof wireQueue>>;
/** A fork as clients read it. */
export type WireFork = Json<ReturnType<typeof wireFork>>;
/** A session that was found, as clients read it. */
export type WireFound = Json<ReturnType<typeof wireFound>>;
/** What may be chosen for a session, as clients read it. */
export type WireChoices = Json<ReturnType<typeof wireChoices>>;
/** Who answers in a session, as clients read it. */
export type WireSessionModel = Json<ReturnType<typeof wireSessionModel>>;
/** A stored message as clients read it. */
export type WireMessage = Json<ReturnType<typeof wireMessage>>;
/** Where `/new` began a new conversation, as clients read it: behind the message with the number `after`. */
export interface WireReset {
  after: number;
  at: string;
}
/** A pending approval as clients read it. */
export type WireApproval = Json<ReturnType<typeof wireApproval>>;
/** A run of a schedule as clients read it. */
export type WireRun = Json<ReturnType<typeof wireRun>>;
/** A schedule as clients read it. */
export type WireSchedule = Json<ReturnType<typeof wireSchedule>>;
/** The newest plan of a session and its todo list, as clients read them. */
export type WireWork = Json<ReturnType<typeof wireWork>>;

/** What became of a turn, as clients read it. */
export type WireTrace = Json<ReturnType<typeof wireTrace>>;

/** A stored file as clients read it. */
export type WireFile = Json<ReturnType<typeof wireFile>>;

/**
 * The file; `file` is its name in messages and in `/files/…`, `inText` the path with which the text of its message
 * shows it.
 */
export function wireFile({ file, kind, name, mimeType, bytes, sha256, inText }: Attachment) {
  return { file, kind, name, mimeType, bytes, sha256, ...(inText !== undefined && { inText }) };
}

/** The session without the token that made it and the folder of its files. */
export function wireSession(session: SessionRecord) {
  const { ownerTokenId: _owner, folder: _folder, model, title, ...seen } = session;
  return { ...seen, model: model ?? null, title: title ?? null };
}

/** The session as lists show it; `own` says whether the caller's token made it. */
export function wireListed(session: ListedSession, { tokenId }: Caller) {
  const { ownerName, preview, state, queued, unread } = session;
  const own = session.ownerTokenId === tokenId;
  return { ...wireSession(session), preview, state, queued, unread, ownerName: ownerName ?? null, own };
}

/** What waits in a session; `isEditable` for the caller's own. */
export function wireQueue({ mode, busy, messages }: WaitingQueue, { tokenId }: Caller) {
  const waiting = messages.map(({ turnId, seq, content, senderName, senderId, isEditable, createdAt }) => {
    const own = isEditable && senderId === `token:${tokenId}`;
    return { turnId, seq: seq ?? null, content, senderName: senderName ?? null, isEditable: own, createdAt };
  });
  return { mode, busy, messages: waiting };
}

/** The session that a fork made, and how much of its source it has. */
export function wireFork({ session, messages, leftBehind }: Fork) {
  return { ...wireSession(session), messages, leftBehind };
}

/** A session that was found, with the message that matches. */
export function wireFound({ key, title, ownerName, updatedAt, match }: FoundSession) {
  return { key, title, ownerName: ownerName ?? null, updatedAt, match: match ?? null };
}

/** The message as people see it, with its files; `leftOut` if the model no longer reads it. */
export function wireMessage(message: MessageRecord) {
  const { seq, role, content, turnId, createdAt, senderName, isPlan, isError, leftOut, tries, model } =
    message;
  const attachments = (message.attachments ?? []).map(wireFile);
  return {
    seq,
    role,
    content,
    turnId,
    createdAt,
    senderName: senderName ?? null,
    isPlan,
    isError,
    leftOut: leftOut ?? false,
    tries: tries ?? null,
    model: model ?? null,
    attachments,
  };
}

/** What may be chosen for a session. */
export function wireChoices({ profiles, models, mode, model, problem }: SessionChoices) {
  const answers = model && { ...model, reason: model.reason ?? null, tools: model.tools ?? null };
  const listed = profiles.map((profile) => ({ ...profile, description: profile.description ?? null }));
  return { profiles: listed, models, mode, model: answers ?? null, problem: problem ?? null };
}

/** Who answers in a session. */
export function wireSessionModel({ reason, tools, ...named }: SessionModel) {
  return { ...named, reason: reason ?? null, tools: tools ?? null };
}

/** The approval with the tool call it is about, or with the plan that waits for it. */
export function wireApproval(record: ApprovalRecord) {
  const { id, session, turnId, toolCallId, tool, args, warning, userId, createdAt, expiresAt } = record;
  const { files = [], agentId = null } = record;
  const call = { toolCallId, tool, args, files, warning, agentId };
  return {
    id,
    session,
    turnId,
    ...call,
    plan: record.plan ?? null,
    mayAlways: record.rule !== undefined,
    userId,
    createdAt,
    expiresAt,
  };
}

/** The rule, without the digest it is found by. */
export function wireRule({ usedAt, createdName, ...rule }: ApprovalRule) {
  return { ...rule, createdName: createdName ?? null, usedAt: usedAt ?? null };
}

/** The schedule, its timing with the fields it was created with. */
export function wireSchedule(schedule: ScheduleRecord) {
  const { id, session, address, task, timing, nextAt, lastAt, createdAt } = schedule;
  return { id, session, address, task, timing, nextAt: nextAt ?? null, lastAt: lastAt ?? null, createdAt };
}

/** A run of a schedule; `result` says in a few words how it ended. */
export function wireRun({ dueAt, at, outcome, result, turnId, turn }: ReportedScheduleRun) {
  const endedAt = turn?.endedAt ?? null;
  return { dueAt, at, outcome, result, turnId: turn === undefined ? null : (turnId ?? null), endedAt };
}

/** The newest plan with its turn, and the todo list. */
export function wireWork({ newest, todos }: { newest: PlanRecord | undefined; todos: Todo[] }) {
  const items = todos.map(({ text, status, validation }) => ({
    text,
    status,
    ...(validation !== undefined && { validation }),
  }));
  return { plan: newest?.plan ?? null, turnId: newest?.turnId ?? null, todos: items };
}

/** A plan, its version and the turn it belongs to. */
export function wirePlan({ plan, session, turnId, createdAt, updatedAt }: PlanRecord) {
  return { plan: { ...plan, version: versionOf(plan) }, session, turnId, createdAt, updatedAt };
}

/** What became of a turn; the prompt of its newest model call only if it is requested. */
export function wireTrace({ prompt, reason, cost, ...shown }: TurnExplanation, withPrompt: boolean) {
  return {
    ...shown,
    reason: reason ?? null,
    cost: cost ?? null,
    ...(withPrompt && { prompt: prompt ?? null }),
  };
}

/** As `wireReceipt`, with `before` = the place of the newest event before the message was accepted. */
export function acceptedAt(receipt: Exclude<Receipt, { kind: 'refused' }>, before: string) {
  // The turn of a repeated message may be before the newest event.
  return wireReceipt(receipt, receipt.kind === 'duplicate' ? FIRST_EVENT_ID : before);
}

/**
 * The ids of the accepted message and the place from which its events can be followed, or the reply of a command, which
 * runs at once.
 */
function wireReceipt(receipt: Exclude<Receipt, { kind: 'refused' }>, lastEventId: string) {
  if (receipt.kind === 'handled') return { handled: true as const, reply: receipt.reply ?? null };
  const note = 'note' in receipt && receipt.note !== undefined ? { note: receipt.note } : {};
  return { turnId: receipt.turnId, seq: receipt.seq, lastEventId, ...note };
}
