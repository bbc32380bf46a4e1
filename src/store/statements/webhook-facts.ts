/** What outbound webhooks read about turns and approvals. */
import type {
  ApprovalFacts,
  WebhookNote,
  WebhookStore,
  WebhookTurn,
} from '../../protocol/operator/webhooks.ts';
import { newId } from '../../lib/ids.ts';
import { cleanText } from '../../lib/text.ts';
import { type Database, type Sql, withoutNulls } from '../database/database.ts';

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
      database.row(
        (sql) => sql<ApprovalFacts[]>`
          select turn_id as "turnId", detail ->> 'tool' as tool,
            case when state <> 'pending' then state end as decision
          from approval where id = ${cleanText(approvalId)}`,
      ),
    turnTexts: (turnId) =>
      database.row(
        (sql) => sql<WebhookTurn[]>`
          select id, session,
            (select content from message m where m.session = turn.session and m.seq = turn.user_seq) as question,
            (select content from message m where m.session = turn.session and m.seq = turn.final_seq) as answer
          from turn where id = ${cleanText(turnId)}`,
      ),
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

/** Selects by the ids of turns, which begin with their time. */
async function recentFacts(sql: Sql, since: number): Promise<WebhookNote[]> {
  const rows = await sql<WebhookNote[]>`
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
    select type || ':' || coalesce("approvalId", "turnId") as id, type, session as "sessionKey", "turnId", reason, "approvalId",
      tool, decision,
      floor(extract(epoch from moment) * 1000)::float8 as at
    from facts where moment >= to_timestamp(${since}::float8 / 1000) order by moment, "turnId", type`;
  return withoutNulls(rows);
}
