/** T2-T5: what a turn stores while it runs; each statement locks the lane, each row is written once. */
import { FencedError } from '../../protocol/errors.ts';
import type { Fence } from '../../protocol/store/lanes.ts';
import type { Ledger, NotedFiles } from '../../protocol/store/ledger.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { type ContextRecord, type JournalRow, sourcesOfEntry } from '../../protocol/store/records.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';
import { notedCall, notedFiles } from '../statements/effects.ts';
import { heldLane } from './lane-sql.ts';
import type { SessionKey } from '../../protocol/message.ts';
import {
  MAX_SOURCE_HOSTS,
  mergeSources,
  OTHER_HOSTS,
  OTHER_SERVERS,
  type Source,
} from '../../protocol/agent/risk.ts';
import { lockLane } from './stop.ts';
import {
  type JournalPage,
  MAX_WORK_FACTS,
  MAX_WORK_ROWS,
  MAX_WORK_TOKENS,
  type WorkApproval,
  type WorkFact,
  type WorkStore,
} from '../../protocol/sessions/turn-work.ts';
import { MAX_LISTED_APPROVALS } from '../../protocol/agent/approvals.ts';

/** The functions of `Ledger` for what a running turn stores. */
export function createJournal(database: Database) {
  const write = (fence: Fence, turnId: string, rows: JournalRow[]): Promise<void> =>
    database.run((sql) => writeRows(sql, fence, turnId, rows));
  return {
    noteFiles: (fence, turnId, files) => database.run((sql) => noteFiles(sql, fence, turnId, files)),
    journalAnswer: write,
    toolIntent: (fence, turnId, iteration, entry, note) =>
      write(fence, turnId, [{ iteration, entry, tokens: 0, note }]),
    toolResult: (fence, turnId, iteration, entry, tokens, note) =>
      write(fence, turnId, [{ iteration, entry, tokens, note }]),
  } satisfies Partial<Ledger>;
}

/** The row of a message keeps its text; only its files are added. */
async function noteFiles(sql: Sql, fence: Fence, turnId: string, files: NotedFiles): Promise<void> {
  const { folder, userId, attachments } = files;
  const [row] = await sql<{ held: boolean }[]>`
    with ${heldLane(sql, fence)},
    shown as (
      update message set attachments = ${cleanJson(attachments)}::jsonb from held
      where session = ${sessionOfLane(fence)} and turn_id = ${turnId} and role = 'user'),
    kept as (
      insert into kept_file (folder, path, user_id, bytes)
      select ${folder}, f.file, ${userId}, f.bytes
      from held, jsonb_to_recordset(${cleanJson(attachments)}::jsonb) as f(file text, bytes bigint)
      on conflict (folder, path) do nothing returning path)
    ${notedFiles(sql, { session: sessionOfLane(fence), turnId }, attachments)}
    select exists (select 1 from held) as held`;
  if (row?.held !== true) throw new FencedError(fence.lane);
}

/** Stores journal rows under `session`, which for a turn is the one of its lane. */
export async function writeRows(
  sql: Sql,
  fence: Fence,
  turnId: string,
  rows: JournalRow[],
  session: string = sessionOfLane(fence),
): Promise<void> {
  // A crash could not produce these results: for a call that died, an error is stored.
  const hasProgress = rows.some(({ entry }) => entry.kind === 'tool_result' && !entry.isError);
  const note = rows.find((row) => row.note !== undefined)?.note;
  const [row] = await sql<{ held: boolean }[]>`
    with ${heldLane(sql, fence)},
    written as (${insertRows(sql, fence, turnId, rows, sql`held`, session)})
    ${notedCall(sql, note, sql`held`)}
    ${hasProgress ? sql`, cleared as (${clearLoneCrashes(sql, fence)})` : sql``}
    ${taintSession(sql, { session, laneSeq: sql`${fence.seq}` }, rows, sql`held`)}
    select exists (select 1 from held) as held`;
  if (row?.held !== true) throw new FencedError(fence.lane);
}

/** The body of a CTE that resets the death count of a lone suspect to zero, because its work has progressed. */
function clearLoneCrashes(sql: Sql, fence: Fence) {
  return sql`
    update lane_item set lone_crashes = 0 from held
    where lane_item.lane = held.key and lane_item.seq = ${fence.seq} and lone_crashes > 0`;
}

/** The body of a CTE that stores journal rows if the CTE `guard` has its one row. Existing rows stay unchanged. */
export function insertRows(
  sql: Sql,
  fence: Fence,
  turnId: string,
  rows: JournalRow[],
  guard: ReturnType<Sql>,
  session: string = sessionOfLane(fence),
) {
  return insertEntries(
    sql,
    sql`(select ${session} as session, ${fence.seq}::int as seq, ${turnId} as turn_id,
      ${cleanJson(journalRecords(rows))}::jsonb as entries from ${guard}) t`,
  );
}

/** The body of a CTE that stores the journal rows of turns: a FROM item `t` with their `entries`. An existing row is left unchanged. */
export function insertEntries(sql: Sql, turns: ReturnType<Sql>) {
  return sql`
    insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
    select t.session, t.seq, t.turn_id, r.iteration, r.kind, r.part, r.payload, r.tokens
    from ${turns}, jsonb_to_recordset(t.entries)
      as r(nth int, iteration int, kind text, part int, payload jsonb, tokens int)
    order by t.turn_id, r.nth
    on conflict (turn_id, iteration, kind, part) do nothing`;
}

/** Journal rows as `insertEntries` reads them. */
export function journalRecords(rows: readonly JournalRow[]) {
  return rows.map(({ iteration, entry, tokens }, nth) => ({
    nth,
    iteration,
    kind: entry.kind,
    part: partOf(entry),
    payload: entry,
    tokens,
  }));
}

/** The number of a row within its kind and iteration. */
function partOf(entry: JournalRow['entry']): number {
  if (entry.kind === 'user') return entry.laneSeq ?? 0;
  return 'callIndex' in entry ? entry.callIndex : 'part' in entry ? entry.part : 0;
}

/** The session whose turns an `in:` lane orders. */
export function sessionOfLane(fence: Fence): string {
  return fence.lane.slice(fence.lane.indexOf(':') + 1);
}

/** The sources of all rows. */
export function sourcesOfRows(rows: readonly JournalRow[]): readonly Source[] {
  return rows.reduce<readonly Source[]>((all, { entry }) => mergeSources(all, sourcesOfEntry(entry)), []);
}

/**
 * The new value of `session.sources` after rows of the turn at `laneSeq`; unchanged if `/new` came in the meantime.
 * Beyond `MAX_SOURCE_HOSTS` hosts or MCP servers the known ones stay, as in `mergeSources`.
 */
export function mergedSources(sql: Sql, laneSeq: Fragment, rows: readonly JournalRow[]): Fragment {
  const sources = sourcesOfRows(rows);
  if (sources.length === 0) return sql`session.sources`;
  const more = sql`${cleanJson(sources)}::jsonb`;
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

interface PageRow {
  rows: ContextRecord[];
  approvals: WorkApproval[];
  facts: WorkFact[];
  cut: string[];
}

/** The `WorkStore` over a database. */
export function createJournals(database: Database): WorkStore {
  return { journals: (ids) => database.run((sql) => journals(sql, ids)) };
}

async function journals(sql: Sql, ids: readonly string[]): Promise<JournalPage> {
  if (ids.length === 0) return { rows: [], approvals: [], facts: [], cut: new Set() };
  const turnIds = sql`select jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb)`;
  const [row] = await sql<PageRow[]>`
    with newest as (
      select c.seq, c.turn_id, c.iteration, c.tokens from context c
      where c.turn_id in (${turnIds}) and c.kind in ('assistant', 'tool_result', 'agent_result')
      order by c.seq desc limit ${MAX_WORK_ROWS + 1}),
    counted as (
      select *, row_number() over newer as place, sum(tokens) over newer as total from newest
      window newer as (order by seq desc rows unbounded preceding)),
    fitting as (
      select * from counted where place <= ${MAX_WORK_ROWS} and total <= ${MAX_WORK_TOKENS})
    select
      (select coalesce(jsonb_agg(jsonb_build_object('seq', c.seq, 'turnId', c.turn_id, 'iteration', c.iteration,
          'entry', c.payload, 'tokens', c.tokens) order by c.seq), '[]')
        from fitting join context c on c.seq = fitting.seq) as rows,
      (select coalesce(jsonb_agg(distinct turn_id), '[]')
        from counted where place > ${MAX_WORK_ROWS} or total > ${MAX_WORK_TOKENS}) as cut,
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'turnId', turn_id, 'toolCallId', detail ->> 'toolCallId',
          'agentId', detail ->> 'agentId', 'warning', detail ->> 'warning', 'state', state,
          'decidedBy', decided_by, 'decidedName', decided_name, 'decidedAt', decided_at, 'reason', reason) order by created_at), '[]')
        from (select * from approval where turn_id in (${turnIds}) and detail -> 'plan' is null and not detail ? 'question'
          order by created_at desc limit ${MAX_LISTED_APPROVALS}) asked) as approvals,
      (select coalesce(jsonb_agg(jsonb_build_object('turnId', turn_id, 'fact', payload -> 'fact') order by seq), '[]')
        from (select c.seq, c.turn_id, c.payload from context c
          where c.turn_id in (${turnIds}) and c.kind = 'plan_fact'
            and c.payload -> 'fact' ->> 'type' in ('started', 'step_began', 'corrected', 'edited')
          order by c.seq desc limit ${MAX_WORK_FACTS}) newest) as facts`;
  const { rows, approvals, facts, cut: cutIds } = row ?? { rows: [], approvals: [], facts: [], cut: [] };
  return { rows, approvals, facts, cut: new Set(cutIds) };
}
