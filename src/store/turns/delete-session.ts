/** Deletes a session with everything that belongs to it. */
import type { SessionKey } from '../../protocol/message.ts';
import { agentPrefix } from '../../protocol/agent/subagents.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';
import { asSessionKey } from '../tables/sessions.ts';
import { summariesOf } from '../lanes/contexts.ts';
import { dueNow } from '../lanes/lane-sql.ts';
import { lockLane } from '../lanes/stop.ts';
import { deleteSubagents } from '../lanes/subagents.ts';
import { closeCards } from './close-cards.ts';
import { settleGone } from '../statements/budgets.ts';
import { removeSources } from '../statements/knowledge.ts';
import type { RetentionStore } from '../../protocol/operator/backup.ts';

/** `Ledger.deleteSession`. */
export function deleteSession(database: Database, key: SessionKey): Promise<boolean> {
  return database.transaction(async (sql, attempt) => {
    await lockLane(sql, `in:${cleanText(key)}`);
    return await deleteRows(sql, cleanText(key), attempt);
  });
}

/** `RetentionStore.deleteIdle`: writers wait for the lock of the lane, and everything written before the lock is seen. */
function deleteIdleSession(database: Database, key: SessionKey, days: number): Promise<boolean> {
  return database.transaction(async (sql, attempt) => {
    await lockLane(sql, `in:${cleanText(key)}`);
    const idle =
      await sql`select from session s where key = ${cleanText(key)} and ${unusedFor(sql, days)} for update`;
    return idle.length > 0 && (await deleteRows(sql, cleanText(key), attempt));
  });
}

/** The condition that no one has used a session `s` for this many days, and that it may be deleted. */
function unusedFor(sql: Sql, days: number) {
  return sql`s.updated_at < now() - ${days}::float8 * interval '1 day' and not s.pinned
    and not exists (select from lane where lane.key = 'in:' || s.key and lane.tail <> lane.head)
    and not exists (select from schedule where schedule.session = s.key and next_at is not null)
    and not exists (select from knowledge_source where scope = 'chat/' || s.key)`;
}

/**
 * Deletes everything except the lane's own row: its epoch must never be reused, or a running turn could write into a new
 * session of the same name. The lane is locked.
 */
async function deleteRows(sql: Sql, key: string, attempt: number): Promise<boolean> {
  const lane = `in:${key}`;
  await closeCards(sql, asSessionKey(key));
  await sql`
    update lane set head = tail, stop_seq = tail, owner = null, epoch = epoch + 1, suspect_group = 0, ${dueNow(sql)} where key = ${lane}`;
  await deleteSubagents(sql, asSessionKey(key));
  const turns = sql`select id from turn where session = ${key}`;
  await sql`${settleGone(sql, sql`h.holder in (${turns}) or starts_with(h.holder, ${agentPrefix(asSessionKey(key))})`)}`;
  await sql`delete from delivery where ref in (${turns})
    or ref in (select 'plan:' || id from plan where session = ${key})
    or ref in (select t.id || '@' || s.address from turn t, surface s where t.session = ${key} and s.session = ${key})`;
  await sql`delete from approval where turn_id in (${turns})`;
  await sql`delete from turn_trace where turn_id in (${turns})`;
  await sql`delete from eval_result where turn_id in (${turns} union select turn_id from eval_case where session = ${key})`;
  await sql`delete from eval_case where session = ${key}`;
  await sql`
    delete from refusal where address = ${key} or address in (select key from address where session = ${key})`;
  await sql`delete from context where turn_id in (${turns}) or turn_id = ${summariesOf(key)}`;
  await sql`delete from lane_item where lane = ${lane}`;
  await sql`delete from message where session = ${key}`;
  for (const table of [
    'plan',
    'todo',
    'scratchpad',
    'schedule',
    'schedule_run',
    'observed',
    'approval_rule',
    'turn_effect',
    'knowledge_citation',
  ]) {
    await sql`delete from ${sql(table)} where session = ${key}`;
  }
  await removeSources(
    sql,
    sql`scope in (select 'chat/' || ${key}::text union select 'chat/' || key from address where session = ${key})`,
  );
  await sql`delete from turn where session = ${key}`;
  await sql`delete from surface where session = ${key}`;
  await sql`delete from link where session = ${key}`;
  await sql`delete from address where session = ${key}`;
  const rows = await sql`
    with gone as (delete from session where key = ${key} returning key, folder),
    files as (delete from session_file where folder in (select folder from gone)),
    versions as (delete from session_folder where folder in (select folder from gone)),
    kept as (delete from kept_file where folder in (select folder from gone)),
    noted as (insert into removed_folder (folder) select folder from gone on conflict do nothing)
    select key from gone`;
  // On a repeat, the previous attempt may have deleted it.
  return rows.length > 0 || attempt > 0;
}

/** The `RetentionStore` over a database. */
export function createRetentionStore(database: Database): RetentionStore {
  return {
    idleSessions: (days, limit) =>
      database.run(async (sql) => {
        const rows = await sql<{ key: string }[]>`
          select s.key from session s where ${unusedFor(sql, days)}
          order by s.updated_at, s.key limit ${limit}`;
        return rows.map(({ key }) => asSessionKey(key));
      }),
    deleteIdle: (key, days) => deleteIdleSession(database, key, days),
    purgeTurns: (days, limit) =>
      database.run(async (sql) => {
        const [row] = await sql<{ purged: number }[]>`
          with old as (
            select t.id, t.session from turn t join session s on s.key = t.session and not s.pinned
            where t.state = 'done' and t.ended_at < now() - ${days}::float8 * interval '1 day'
              and not exists (select from plan where plan.turn_id = t.id)
            order by t.ended_at limit ${limit}),
          messages as (delete from message m using old where m.session = old.session and m.turn_id = old.id),
          known as (delete from context where turn_id in (select id from old)),
          asked as (delete from approval where turn_id in (select id from old)),
          cited as (delete from knowledge_citation where turn_id in (select id from old)),
          traced as (delete from turn_trace where turn_id in (select id from old)),
          ran as (
            delete from schedule_run where id in (
              select id from schedule_run where at < now() - ${days}::float8 * interval '1 day' order by at limit ${limit})),
          effects as (delete from turn_effect where turn_id in (select id from old)),
          shown as (delete from delivery where ref in (select id from old)),
          gone as (delete from turn where id in (select id from old) returning id)
          select count(*)::int as purged from gone`;
        return row?.purged ?? 0;
      }),
  };
}
