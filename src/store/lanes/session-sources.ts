/** The sources of what a session has read: merged into its row by the statement that stores the rows, and cleared by an owner. */
import type postgres from 'postgres';
import type { SessionKey } from '../../protocol/message.ts';
import { type JournalRow, sourcesOfEntry } from '../../protocol/store/records.ts';
import {
  MAX_SOURCE_HOSTS,
  mergeSources,
  OTHER_HOSTS,
  OTHER_SERVERS,
  type Source,
} from '../../protocol/agent/risk.ts';
import { cleanJson } from '../../lib/json/json.ts';
import type { Sql } from '../database/database.ts';
import { lockLane } from './stop.ts';

type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** The sources of all rows. */
export function sourcesOfRows(rows: readonly JournalRow[]): readonly Source[] {
  return rows.reduce<readonly Source[]>((all, { entry }) => mergeSources(all, sourcesOfEntry(entry)), []);
}

/**
 * The new value of `session.sources` after rows of the turn at `laneSeq`: unchanged if they bring nothing new, or if
 * `/new` came in the meantime. Of more than `MAX_SOURCE_HOSTS` hosts, or MCP servers, the known ones stay, as in
 * `mergeSources`.
 */
export function mergedSources(sql: Sql, laneSeq: Fragment, rows: readonly JournalRow[]): Fragment {
  const found = sourcesOfRows(rows);
  if (found.length === 0) return sql`session.sources`;
  const more = sql`${cleanJson(found)}::jsonb`;
  return sql`case when session.sources @> ${more} or session.fresh_seq >= ${laneSeq} then session.sources else (
    select jsonb_agg(distinct case when others is not null and nth > ${MAX_SOURCE_HOSTS} then others else source end)
    from (
      select source, others, row_number() over (partition by others order by session.sources ? source desc) as nth
      from (
        select distinct source, case
          when source like 'web:%' and source <> ${OTHER_HOSTS} then ${OTHER_HOSTS}::text
          when source like 'mcp:%' and source <> ${OTHER_SERVERS} then ${OTHER_SERVERS}::text end as others
        from jsonb_array_elements_text(session.sources || ${more}) source) found) ranked) end`;
}

/** The CTE `tainted`, with a leading comma: adds the sources of the rows to their session while `guard` has a row. Empty if they have none. */
export function taintSession(
  sql: Sql,
  { session, laneSeq }: { session: string; laneSeq: Fragment },
  rows: readonly JournalRow[],
  guard: Fragment,
): Fragment {
  if (sourcesOfRows(rows).length === 0) return sql``;
  return sql`,
    tainted as (
      update session set sources = ${mergedSources(sql, laneSeq, rows)} from ${guard} where session.key = ${session})`;
}

/** `SessionStore.trustSession`: also trusts the session's notes. */
export async function trustSession(sql: Sql, session: SessionKey): Promise<readonly Source[] | undefined> {
  const lane = await lockLane(sql, `in:${session}`);
  if (lane !== undefined && lane.tail > lane.head) return undefined;
  const [row] = await sql<{ sources: Source[] }[]>`
    select sources from session where key = ${session} for update`;
  await sql`update session set sources = '[]' where key = ${session}`;
  await sql`update scratchpad set sources = '[]' where session = ${session}`;
  await sql`
    update todo set items = (select coalesce(jsonb_agg(item - 'sources'), '[]') from jsonb_array_elements(items) item)
    where session = ${session}`;
  await sql`update plan set doc = doc - 'sources' where session = ${session} and doc ? 'sources'`;
  return row?.sources ?? [];
}
