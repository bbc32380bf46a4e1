/** T2-T5: what a turn stores while it runs; each statement locks the lane, each row is written once. */
import { FencedError } from '../../contracts/errors.ts';
import type { Fence } from '../../contracts/lanes.ts';
import type { Ledger } from '../../contracts/ledger.ts';
import { cleanJson } from '../../lib/json.ts';
import type { JournalRow } from '../../contracts/records.ts';
import type { Database, Sql } from '../database/database.ts';
import { heldLane } from './lane-sql.ts';

export function createJournal(
  database: Database,
): Pick<Ledger, 'journalAnswer' | 'toolIntent' | 'toolResult' | 'notePlaceholder' | 'noteSent'> {
  const write = (fence: Fence, turnId: string, rows: JournalRow[]): Promise<void> =>
    database.run((sql) => writeRows(sql, fence, turnId, rows));
  const note: Ledger['noteSent'] = (fence, ref, sent) =>
    database.run(async (sql) => {
      const [row] = await sql<{ held: boolean }[]>`
        with ${heldLane(sql, fence)},
        noted as (${noteParts(sql, ref, sent, sql`held`)})
        select exists (select 1 from held) as held`;
      if (row?.held !== true) throw new FencedError(fence.lane);
    });
  return {
    journalAnswer: write,
    toolIntent: (fence, turnId, iteration, entry) => write(fence, turnId, [{ iteration, entry, tokens: 0 }]),
    toolResult: (fence, turnId, iteration, entry, tokens) =>
      write(fence, turnId, [{ iteration, entry, tokens }]),
    notePlaceholder: note,
    noteSent: note,
  };
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
    select exists (select 1 from held) as held`;
  if (row?.held !== true) throw new FencedError(fence.lane);
}

/** The body of a CTE that stores journal rows while the CTE `guard` has its one row. An existing row stays as it is. */
export function insertRows(
  sql: Sql,
  fence: Fence,
  turnId: string,
  rows: JournalRow[],
  guard: ReturnType<Sql>,
  session: string = sessionOfLane(fence),
) {
  const records = rows.map(({ iteration, entry, tokens }, nth) => ({
    nth,
    iteration,
    kind: entry.kind,
    part: partOf(entry),
    payload: entry,
    tokens,
  }));
  return sql`
    insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
    select ${session}, ${fence.seq}, ${turnId}, r.iteration, r.kind, r.part, r.payload, r.tokens
    from ${guard}, jsonb_to_recordset(${cleanJson(records)}::jsonb)
      as r(nth int, iteration int, kind text, part int, payload jsonb, tokens int)
    order by r.nth
    on conflict (turn_id, iteration, kind, part) do nothing`;
}

/** The number of a row within its kind and iteration. */
function partOf(entry: JournalRow['entry']): number {
  if (entry.kind === 'user') return entry.laneSeq ?? 0;
  return 'callIndex' in entry ? entry.callIndex : 'part' in entry ? entry.part : 0;
}

/** The body of a CTE that stores the platform ids known for `ref`. */
export function noteParts(sql: Sql, ref: string, parts: unknown[], guard: ReturnType<Sql>) {
  return sql`
    insert into delivery (ref, parts) select ${ref}, ${cleanJson(parts)}::jsonb from ${guard}
    on conflict (ref) do update set parts = excluded.parts, updated_at = now()`;
}

/** The session whose turns an `in:` lane orders. */
export function sessionOfLane(fence: Fence): string {
  return fence.lane.slice(fence.lane.indexOf(':') + 1);
}
