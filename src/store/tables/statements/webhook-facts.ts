/** What outbound webhooks read about turns and approvals. */
import type { ApprovalFacts, WebhookNote, WebhookStore } from '../../../protocol/operator/webhooks.ts';
import { newId } from '../../../lib/ids.ts';
import { cleanText } from '../../../lib/text.ts';
import type { Database, Sql } from '../../database/database.ts';

/** Number of newest turns that are examined after a crash. */
const MAX_TURNS = 5_000;
/** How long a turn may wait for a person before its next fact, in milliseconds. */
const LONGEST_MS = 24 * 60 * 60_000;

/** The `WebhookStore` over a database. */
export function createWebhookFacts(database: Database): WebhookStore {
  return {
    recentFacts: (since) => database.run((sql) => recentFacts(sql, since)),
    turnOfMessage: (session, seq) =>
      database.run(async (sql) => {
        const [row] = await sql<{ turnId: string }[]>`
          select turn_id as "turnId" from message where session = ${cleanText(session)} and seq = ${seq}`;
        return row?.turnId;
      }),
    approvalFacts: (approvalId) =>
      database.run(async (sql) => {
        const [row] = await sql<{ turnId: string; tool: string | null; state: string }[]>`
          select turn_id as "turnId", detail ->> 'tool' as tool, state from approval where id = ${cleanText(approvalId)}`;
        return row && toApproval(row);
      }),
    turnTexts: (turnId) =>
      database.run(async (sql) => {
        const [row] = await sql<
          { id: string; session: string; question: string | null; answer: string | null }[]
        >`
          select id, session,
            (select content from message m where m.session = turn.session and m.seq = turn.user_seq) as question,
            (select content from message m where m.session = turn.session and m.seq = turn.final_seq) as answer
          from turn where id = ${cleanText(turnId)}`;
        return row && { ...row, question: row.question ?? undefined, answer: row.answer ?? undefined };
      }),
    headError: (lane) =>
      database.run(async (sql) => {
        const [row] = await sql<{ error: string | null }[]>`
          select error from lane join lane_item on lane_item.lane = lane.key and seq = head + 1 where key = ${lane}`;
        return row?.error ?? undefined;
      }),
    laneState: (lane) =>
      database.run(async (sql) => {
        const [row] = await sql<{ waiting: number; tail: number; first: number | null }[]>`
          select tail - head as waiting, tail,
            (select (payload ->> 'at')::float8 from lane_item where lane = ${lane} and seq = 1) as first
          from lane where key = ${lane}`;
        return { waiting: row?.waiting ?? 0, isNew: (row?.tail ?? 0) === 0, since: row?.first ?? undefined };
      }),
  };
}

function toApproval({
  turnId,
  tool,
  state,
}: {
  turnId: string;
  tool: string | null;
  state: string;
}): ApprovalFacts {
  const decision = state === 'approved' || state === 'denied' ? state : undefined;
  return { turnId, tool: tool ?? undefined, decision };
}

interface FactRow {
  turnId: string;
  session: string;
  type: WebhookNote['type'];
  at: number;
  reason: string | null;
  approvalId: string | null;
  tool: string | null;
  decision: 'approved' | 'denied' | null;
}

/** Selects by the ids of turns, which begin with their time. */
async function recentFacts(sql: Sql, since: number): Promise<WebhookNote[]> {
  const rows = await sql<FactRow[]>`
    with recent as (
      select id, session, state, reason, created_at, ended_at from turn
      where id >= ${newId(Math.max(0, since - LONGEST_MS)).slice(0, 13)} order by id desc limit ${MAX_TURNS}),
    asked as (
      select approval.id, turn_id, recent.session, detail ->> 'tool' as tool, approval.state, approval.created_at, decided_at
      from recent join approval on approval.turn_id = recent.id),
    facts as (
      select id as "turnId", session, 'message_received' as type, created_at as moment, null as reason,
        null as "approvalId", null as tool, null as decision from recent
      union all select id, session, 'turn_ended', ended_at, reason, null, null, null from recent where state = 'done'
      union all select turn_id, session, 'approval_needed', created_at, null, id, tool, null from asked
      union all select turn_id, session, 'approval_decided', coalesce(decided_at, created_at), null, id, tool, state
        from asked where state <> 'pending')
    select "turnId", session, type, reason, "approvalId", tool, decision,
      floor(extract(epoch from moment) * 1000)::float8 as at
    from facts where moment >= to_timestamp(${since}::float8 / 1000) order by moment, "turnId", type`;
  return rows.map(({ turnId, session, type, at, reason, approvalId, tool, decision }) => ({
    id: `${type}:${approvalId ?? turnId}`,
    type,
    sessionKey: session,
    turnId,
    at,
    ...(reason !== null && { reason }),
    ...(approvalId !== null && { approvalId }),
    ...(tool !== null && { tool }),
    ...(decision !== null && { decision }),
  }));
}
