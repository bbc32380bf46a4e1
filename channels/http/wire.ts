/** Records as the HTTP API answers with them: schemas, and what writes them; the page takes its types from here. */
import { z } from 'zod';
import type { Caller } from '../../src/protocol/access.ts';
import { FIRST_EVENT_ID } from '../../src/protocol/event.ts';
import type { AudioApi } from '../../src/protocol/file-api.ts';
import type { Attachment } from '../../src/protocol/media.ts';
import { versionOf } from '../../src/protocol/agent/plan-edits.ts';
import type { Receipt } from '../../src/protocol/receive.ts';
import type { ReportedScheduleRun, ScheduleRecord } from '../../src/protocol/schedules.ts';
import type {
  Fork,
  SessionChoices,
  SessionModel,
  WaitingQueue,
} from '../../src/protocol/sessions/conversation-api.ts';
import type { WordedUndo } from '../../src/protocol/sessions/undo.ts';
import type { FoundSession, ListedSession } from '../../src/protocol/sessions/session-list.ts';
import type { Todo } from '../../src/protocol/store/notes.ts';
import type { PlanRecord } from '../../src/protocol/agent/plan-store.ts';
import { type MessageRecord, sessionMarks, type SessionRecord } from '../../src/protocol/store/records.ts';
import type { TurnExplanation } from '../../src/protocol/store/traces.ts';
import type { ApprovalRecord, ApprovalRule } from '../../src/protocol/agent/approvals.ts';

const sessionKey = z.templateLiteral([z.string(), ':', z.string()]);
/** A moment as clients read it. */
export const moment = z.string().describe('ISO 8601');

const sessionFields = {
  key: sessionKey,
  profileId: z.string(),
  model: z.string().nullable(),
  mode: z.string(),
  queueMode: z.string(),
  title: z.string().nullable(),
  createdAt: moment,
  updatedAt: moment,
  messageCount: z.int(),
  ...sessionMarks,
  readSeq: z.int(),
};

/** A session. */
export const sessionJson = z.looseObject(sessionFields).meta({ id: 'Session' });

/** A session of a list. */
export const listedSessionJson = z
  .looseObject({
    ...sessionFields,
    preview: z.string(),
    state: z.enum(['idle', 'running', 'waiting']),
    queued: z.int(),
    unread: z.int(),
    ownerName: z.string().nullable(),
    own: z.boolean(),
  })
  .meta({ id: 'ListedSession' });

/** A stored message. */
export const messageJson = z
  .looseObject({
    seq: z.int(),
    role: z.enum(['user', 'assistant', 'system']),
    content: z.string(),
    turnId: z.string(),
    createdAt: moment,
    senderName: z.string().nullable(),
    isPlan: z.boolean(),
    isError: z.boolean(),
    leftOut: z.boolean(),
    model: z.string().nullable(),
  })
  .meta({ id: 'Message' });

/** Where `/new` began a new conversation. */
export const resetJson = z
  .object({
    after: z.int().describe('the number of the last message that the model no longer reads'),
    at: moment,
  })
  .meta({ id: 'ContextReset' });

/** What waits in a session. */
export const queueJson = z
  .looseObject({
    mode: z.string(),
    busy: z.boolean(),
    messages: z.array(
      z.looseObject({
        turnId: z.string(),
        seq: z.int().nullable(),
        content: z.string(),
        isEditable: z.boolean(),
        createdAt: moment,
      }),
    ),
  })
  .meta({ id: 'Queue' });

/** What an undo brings back and what not, each thing also in words. */
export const undoJson = z
  .looseObject({
    turnId: z.string(),
    content: z.string().describe('the question'),
    goesBack: z.array(
      z.looseObject({
        kind: z.string(),
        name: z.string(),
        how: z.enum(['restored', 'removed']),
        text: z.string().describe("in the language of the token's person"),
      }),
    ),
    stays: z.array(z.looseObject({ kind: z.string(), name: z.string(), why: z.string(), text: z.string() })),
  })
  .meta({ id: 'Undo' });

/** An accepted message. */
export const receiptJson = z
  .looseObject({ turnId: z.string(), seq: z.int(), lastEventId: z.string() })
  .meta({ id: 'Receipt' });

/** A command, which was run at once. */
export const handledJson = z
  .looseObject({ handled: z.literal(true), reply: z.string().nullable() })
  .meta({ id: 'Handled' });

/** A call that waits for a decision. */
export const approvalJson = z
  .looseObject({
    id: z.string(),
    session: sessionKey,
    turnId: z.string(),
    tool: z.string(),
    warning: z.string().nullish(),
    chatName: z.string().nullish(),
    createdAt: moment,
    expiresAt: moment,
  })
  .meta({ id: 'Approval' });

/** A schedule. */
export const scheduleJson = z
  .looseObject({
    id: z.string(),
    session: sessionKey,
    task: z.string(),
    nextAt: moment.nullable(),
    lastAt: moment.nullable(),
    createdAt: moment,
  })
  .meta({ id: 'Schedule' });

/** Every error. */
export const errorJson = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      code: z.string(),
      param: z.string().nullable(),
      problems: z
        .array(z.object({ key: z.string(), values: z.record(z.string(), z.unknown()).optional() }))
        .optional()
        .describe('what the message says of single fields, as texts for a reader of another language'),
    }),
  })
  .meta({ id: 'Error' });

/** Every error below `/api/`. */
export const ollamaErrorJson = z.object({ error: z.string() }).meta({ id: 'OllamaError' });

/** A value after JSON: dates are ISO strings. */
type Json<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Json<Item>[]
    : Value extends object
      ? { [Field in keyof Value]: Json<Value[Field]> }
      : Value;

// The records as clients read them.
export type WireSession = Json<ReturnType<typeof wireSession>>;
export type WireListed = Json<ReturnType<typeof wireListed>>;
export type WireQueue = Json<ReturnType<typeof wireQueue>>;
export type WireFork = Json<ReturnType<typeof wireFork>>;
export type WireFound = Json<ReturnType<typeof wireFound>>;
export type WireChoices = Json<ReturnType<typeof wireChoices>>;
export type WireSessionModel = Json<ReturnType<typeof wireSessionModel>>;
export type WireMessage = Json<ReturnType<typeof wireMessage>>;
export type WireReset = z.output<typeof resetJson>;
export type WireApproval = Json<ReturnType<typeof wireApproval>>;
export type WireRun = Json<ReturnType<typeof wireRun>>;
export type WireSchedule = Json<ReturnType<typeof wireSchedule>>;
export type WireWork = Json<ReturnType<typeof wireWork>>;

export type WireTrace = Json<ReturnType<typeof wireTrace>>;

export type WireFile = Json<ReturnType<typeof wireFile>>;

/** The file; `file` is its name in messages and in `/files/…`, `inText` its path in the text of its message. */
export function wireFile({ file, kind, name, mimeType, bytes, sha256, inText }: Attachment) {
  return { file, kind, name, mimeType, bytes, sha256, ...(inText !== undefined && { inText }) };
}

/** The session without the token that made it and the folder of its files. */
export function wireSession(session: SessionRecord) {
  const { ownerTokenId: _owner, folder: _folder, model, title, ...fields } = session;
  return { ...fields, model: model ?? null, title: title ?? null };
}

/** The session as lists show it; `own` says whether the caller's token made it. */
export function wireListed(session: ListedSession, { tokenId }: Caller) {
  const { ownerName, preview, state, queued, unread } = session;
  const owner = { ownerName: ownerName ?? null, own: session.ownerTokenId === tokenId };
  return { ...wireSession(session), preview, state, queued, unread, ...owner };
}

/** What waits in a session; `isEditable` for the caller's own. */
export function wireQueue({ mode, busy, messages }: WaitingQueue, { tokenId }: Caller) {
  const waiting = messages.map(({ turnId, content, createdAt, senderId, ...message }) => {
    const isEditable = message.isEditable && senderId === `token:${tokenId}`;
    const { seq = null, senderName = null } = message;
    return { turnId, seq, content, senderName, isEditable, createdAt };
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
  const text = { seq, role, content, turnId, createdAt, senderName: senderName ?? null, isPlan, isError };
  return { ...text, leftOut: leftOut ?? false, tries: tries ?? null, model: model ?? null, attachments };
}

/** What may be chosen for a session. */
export function wireChoices(
  { profiles, models, mode, model, problem }: SessionChoices,
  { canTranscribe }: Pick<AudioApi, 'canTranscribe'>,
) {
  const answers = model && { ...model, reason: model.reason ?? null, tools: model.tools ?? null };
  const listed = profiles.map((profile) => ({ ...profile, description: profile.description ?? null }));
  return {
    profiles: listed,
    models,
    mode,
    model: answers ?? null,
    problem: problem ?? null,
    /** Recordings can be transcribed. */
    transcription: canTranscribe,
  };
}

/** Who answers in a session. */
export function wireSessionModel({ reason, tools, contextUse, ...fields }: SessionModel) {
  return { ...fields, reason: reason ?? null, tools: tools ?? null, contextUse: contextUse ?? null };
}

/**
 * A request as its decider reads it, with the tool call it is about or the plan that waits for it; of a question to a
 * person, only what they are to read of the conversation that asks.
 */
export function wireApproval(record: ApprovalRecord) {
  const { id, session, turnId, toolCallId, tool, args, warning, userId, createdAt, expiresAt } = record;
  if (record.question !== undefined) {
    const { address, asker, text, userId: personId } = record.question;
    const call = { toolCallId: id, tool, args: {}, files: [], warning: '', agentId: null };
    const rest = {
      plan: null,
      mayAlways: false,
      question: { asker, text },
      chatName: null,
      userId: personId,
      createdAt,
      expiresAt,
    };
    return { id, session: address, turnId: id, ...call, ...rest };
  }
  const { files = [], agentId = null, chatName = null } = record;
  const call = { toolCallId, tool, args, files, warning, agentId };
  const mayAlways = record.rule !== undefined;
  const rest = {
    plan: record.plan ?? null,
    mayAlways,
    question: null,
    chatName,
    userId,
    createdAt,
    expiresAt,
  };
  return { id, session, turnId, ...call, ...rest };
}

/** The rule, without the digest under which it is stored. */
export function wireRule({ usedAt, createdName, ...rule }: ApprovalRule) {
  return { ...rule, createdName: createdName ?? null, usedAt: usedAt ?? null };
}

/** The schedule, with the fields that it was created with. */
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

/** The state of a turn; the prompt of its newest model call only on request. */
export function wireTrace({ prompt, reason, cost, ...fields }: TurnExplanation, withPrompt: boolean) {
  return {
    ...fields,
    reason: reason ?? null,
    cost: cost ?? null,
    ...(withPrompt && { prompt: prompt ?? null }),
  };
}

/** An undo, or the preview of one. */
export type WireUndo = Json<ReturnType<typeof wireUndo>>;

/** The same as it is sent. */
export function wireUndo({ turnId, content, goesBack, stays }: WordedUndo) {
  return {
    turnId,
    content,
    goesBack: goesBack.map(({ target: _target, ...thing }) => thing),
    stays: stays.map(({ target: _target, ...thing }) => thing),
  };
}

/** The answer to a message. */
export type WireReceipt = Json<ReturnType<typeof acceptedAt>>;

/** The ids of the accepted message and the place to follow its events from (`before`), or the reply of a command. */
export function acceptedAt(receipt: Exclude<Receipt, { kind: 'refused' }>, before: string) {
  if (receipt.kind === 'handled') return { handled: true as const, reply: receipt.reply ?? null };
  // The turn of a repeated message may be before the newest event.
  const lastEventId = receipt.kind === 'duplicate' ? FIRST_EVENT_ID : before;
  const { turnId, seq } = receipt;
  return { turnId, seq, lastEventId, note: 'note' in receipt ? receipt.note : undefined };
}
