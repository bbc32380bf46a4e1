/** T2-T5: what a turn stores while it runs; each statement locks the lane, each row is written once. */
import { FencedError } from '../../../protocol/errors.ts';
import type { Fence } from '../../../protocol/store/lanes.ts';
import type { Ledger, NotedFiles } from '../../../protocol/store/ledger.ts';
import { cleanJson } from '../../../lib/json/json.ts';
import type { JournalRow } from '../../../protocol/store/records.ts';
import type { Database, Sql } from '../../database/database.ts';
import { heldLane } from '../lane-sql.ts';
import { taintSession } from '../session-sources.ts';

export function createJournal(
  database: Database,
): Pick<Ledger, 'journalAnswer' | 'toolIntent' | 'toolResult' | 'noteFiles'> {
  const write = (fence: Fence, turnId: string, rows: JournalRow[]): Promise<void> =>
    database.run((sql) => writeRows(sql, fence, turnId, rows));
  return {
    noteFiles: (fence, turnId, files) => database.run((sql) => noteFiles(sql, fence, turnId, files)),
    journalAnswer: write,
    toolIntent: (fence, turnId, iteration, entry) => write(fence, turnId, [{ iteration, entry, tokens: 0 }]),
    toolResult: (fence, turnId, iteration, entry, tokens) =>
      write(fence, turnId, [{ iteration, entry, tokens }]),
  };
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
      on conflict (folder, path) do nothing)
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
  const [row] = await sql<{ held: boolean }[]>`
    with ${heldLane(sql, fence)},
    written as (${insertRows(sql, fence, turnId, rows, sql`held`, session)})
    ${rows.some(isProgress) ? sql`, cleared as (${clearLoneCrashes(sql, fence)})` : sql``}
    ${taintSession(sql, { session, laneSeq: sql`${fence.seq}` }, rows, sql`held`)}
    select exists (select 1 from held) as held`;
  if (row?.held !== true) throw new FencedError(fence.lane);
}

/** A result that a crash could not produce: for a call that died, an error is stored. */
function isProgress({ entry }: JournalRow): boolean {
  return entry.kind === 'tool_result' && !entry.isError;
}

/** The body of a CTE that resets the death count of a lone suspect to zero, because its work has progressed. */
function clearLoneCrashes(sql: Sql, fence: Fence) {
  return sql`
    update lane_item set lone_crashes = 0 from held
    where lane_item.lane = held.key and lane_item.seq = ${fence.seq} and lone_crashes > 0`;
}

/**
 * The body of a CTE that stores journal rows while the CTE `guard` has its one row. An existing row is left
 * unchanged.
 */
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
