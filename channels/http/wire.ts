/** Records as the HTTP API answers with them: what is not there is null. The page takes its types from here. */
import type { ApprovalRecord } from '../../src/contracts/approvals.ts';
import type { MessageRecord, SessionRecord } from '../../src/contracts/records.ts';
import type { ScheduleRecord } from '../../src/contracts/schedules.ts';

/** A value after its way through JSON: dates are ISO strings. */
type Json<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Json<Item>[]
    : Value extends object
      ? { [Field in keyof Value]: Json<Value[Field]> }
      : Value;

/** A session as clients read it. */
export type WireSession = Json<ReturnType<typeof wireSession>>;
/** A stored message as clients read it. */
export type WireMessage = Json<ReturnType<typeof wireMessage>>;
/** A pending approval as clients read it. */
export type WireApproval = Json<ReturnType<typeof wireApproval>>;
/** A schedule as clients read it. */
export type WireSchedule = Json<ReturnType<typeof wireSchedule>>;

/** The session without the token that made it. */
export function wireSession(session: SessionRecord) {
  const { ownerTokenId: _, model, ...seen } = session;
  return { ...seen, model: model ?? null };
}

/** The message as people see it. */
export function wireMessage(message: MessageRecord) {
  const { seq, role, content, turnId, createdAt, senderName, isPlan, isError } = message;
  return { seq, role, content, turnId, createdAt, senderName: senderName ?? null, isPlan, isError };
}

/** The question with the call it is about, or with the plan that waits. */
export function wireApproval(record: ApprovalRecord) {
  const { id, session, turnId, toolCallId, tool, args, warning, userId, createdAt, expiresAt } = record;
  const call = { toolCallId, tool, args, warning, agentId: record.agentId ?? null };
  return { id, session, turnId, ...call, plan: record.plan ?? null, userId, createdAt, expiresAt };
}

/** The schedule; of its timing, the fields it was made with. */
export function wireSchedule(schedule: ScheduleRecord) {
  const { id, session, address, task, timing, nextAt, lastAt, createdAt } = schedule;
  return { id, session, address, task, timing, nextAt: nextAt ?? null, lastAt: lastAt ?? null, createdAt };
}
