/** Summaries that replace old context rows: read from the newest end, stored in one statement. */
import type {
  ContextReset,
  ContextStore,
  ContextUse,
  SummaryRange,
  UnsummarizedRow,
} from '../../protocol/store/accept.ts';
import { type ContextRecord, STEP_ITERATIONS } from '../../protocol/store/records.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';

const SUMMARIES = 'summary:';

/**
 * The `turn_id` of a session's summaries (`iteration` = the lane seq of the last turn covered) and of the marks of
 * `/new`, which belong to no turn: the unique index finds the newest one.
 */
export function summariesOf(session: string): string {
  return `${SUMMARIES}${session}`;
}

/**
 * The CTE `recap`: the newest summary before `laneSeq` since the last `/new` (`freshSeq`), with `columns` of `context c`
 * and `lane_seq`. Nothing that it covers is read again.
 */
export function recap(
  sql: Sql,
  { session, freshSeq }: { session: Fragment; freshSeq?: Fragment },
  laneSeq: Fragment,
  columns: Fragment,
): Fragment {
  return sql`recap as (
    select ${columns}, c.lane_seq from context c
    where c.turn_id = ${SUMMARIES}::text || ${session} and c.kind = 'summary' and c.iteration < ${laneSeq}
      and c.iteration > ${freshSeq ?? sql`(select fresh_seq from session where key = ${session})`}
    order by c.iteration desc limit 1)`;
}

/** Many rows of `context` in one value: a list for each column, all of the same length; null for no rows. */
export interface PackedRecords {
  seqs: number[] | null;
  turnIds: string[];
  iterations: number[];
  entries: ContextRecord['entry'][];
  tokens: number[];
}

/** Rows (a sorted query) as `PackedRecords`: an object per row would cost five times as much. */
export function packed(sql: Sql, rows: Fragment): Fragment {
  return sql`(select json_build_object('seqs', json_agg(seq), 'turnIds', json_agg("turnId"),
    'iterations', json_agg(iteration), 'entries', json_agg(entry), 'tokens', json_agg(tokens)) from (${rows}) sorted)`;
}

/** The rows of `packed`, in their order. */
export function unpacked({ seqs, turnIds, iterations, entries, tokens }: PackedRecords): ContextRecord[] {
  if (seqs === null) return [];
  const rows: ContextRecord[] = [];
  for (const [nth, entry] of entries.entries()) {
    rows.push({
      seq: seqs[nth] ?? 0,
      turnId: turnIds[nth] ?? '',
      iteration: iterations[nth] ?? 0,
      entry,
      tokens: tokens[nth] ?? 0,
    });
  }
  return rows;
}

/** By the newest turn that the model reads, whose journal has the usage and whose trace has the window. */
async function contextUse(sql: Sql, session: string): Promise<ContextUse | undefined> {
  const [row] = await sql<{ tokens: number | null; window: number | null }[]>`
    with t as (
      select id from turn where session = ${session} and state = 'done' and not left_out
        and lane_seq > (select fresh_seq from session where key = ${session}) order by lane_seq desc limit 1)
    select (select (payload -> 'usage' ->> 'promptTokens')::int + (payload -> 'usage' ->> 'completionTokens')::int
        from context where turn_id = t.id and kind = 'assistant' and iteration < ${STEP_ITERATIONS}
        order by seq desc limit 1) as tokens,
      (select (attempts -> -1 -> 'prompt' ->> 'contextWindow')::int from turn_trace where turn_id = t.id) as window
    from t`;
  const { tokens, window } = row ?? {};
  return typeof tokens === 'number' && typeof window === 'number' ? { tokens, window } : undefined;
}

/** The `ContextStore` over a database. */
export function createContexts(database: Database): ContextStore {
  return {
    use: (session) => database.run((sql) => contextUse(sql, cleanText(session))),
    resets: (session, span) => database.run((sql) => resets(sql, cleanText(session), span)),
    unsummarized: (session, limit) => database.run((sql) => unsummarized(sql, cleanText(session), limit)),
    summarize: (session, range) => database.run((sql) => summarize(sql, session, range)),
  };
}

/**
 * Shows people where `/new` began a new conversation, after the turn at `tail`. A repeat without a message in between
 * moves the mark. No model reads it, hence `summarized_by` 0.
 */
export async function markReset(sql: Sql, session: string, tail: number): Promise<void> {
  await sql`
    insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens, summarized_by)
    select key, ${tail}, ${summariesOf(session)}, ${tail}, 'reset', 0,
      jsonb_build_object('after', message_seq, 'at', now()), 0, 0
    from session where key = ${session} and message_seq > 0
    on conflict (turn_id, iteration, kind, part) do update set payload = excluded.payload`;
}

async function resets(
  sql: Sql,
  session: string,
  { from, before }: { from: number; before?: number | undefined },
): Promise<ContextReset[]> {
  const rows = await sql<{ after: number; at: string }[]>`
    select (payload -> 'after')::int as after, payload ->> 'at' as at from context
    where turn_id = ${summariesOf(session)} and kind = 'reset' and (payload -> 'after')::int >= ${from}
      and (payload -> 'after')::int < ${before ?? null}::int is not false
    order by iteration`;
  return rows.map(({ after, at }) => ({ after, at: new Date(at) }));
}

async function unsummarized(sql: Sql, session: string, limit: number): Promise<UnsummarizedRow[]> {
  const entry = sql`c.seq::float8 as seq, c.turn_id as "turnId", c.iteration, c.payload as entry, c.tokens`;
  const lane = sql`(select head from lane where key = ${`in:${session}`})`;
  const rows = await sql<UnsummarizedRow[]>`
    with ${recap(sql, { session: sql`${session}` }, sql`${lane} + 1`, entry)},
    newest as (
      select ${entry}, c.lane_seq from context c
      where c.session = ${session} and c.lane_seq <= ${lane}
        and c.lane_seq > (select fresh_seq from session where key = ${session})
        and c.lane_seq > coalesce((select lane_seq from recap), 0)
        and c.summarized_by is null and c.kind <> 'tool_intent' and c.kind <> 'plan_fact'
        and c.iteration < ${STEP_ITERATIONS}
      order by c.lane_seq desc, c.seq desc limit ${limit})
    select seq, "turnId", iteration, entry, tokens, lane_seq as "laneSeq" from newest
    union all select seq, "turnId", iteration, entry, tokens, lane_seq from recap
    order by "laneSeq", seq`;
  return [...rows];
}

/** Locks the lane against `/new` and deletion, which lock it first. A running turn is not blocked. */
async function summarize(sql: Sql, session: SessionKey, range: SummaryRange): Promise<boolean> {
  const { from, upTo, rows, summary, tokens } = range;
  const key = cleanText(session);
  const payload = cleanJson(summary);
  // The index of unsummarized rows finds them; their seqs alone would require a scan of the whole table.
  const inReach = (table: Fragment): Fragment => sql`
    ${table}.session = ${key} and ${table}.lane_seq between ${from} and ${upTo}
      and ${table}.summarized_by is null and ${table}.kind <> 'tool_intent'`;
  const [row] = await sql<{ done: boolean }[]>`
    with live as (select key from lane where key = ${`in:${key}`} and head >= ${upTo} for key share),
    held as (
      select c.seq from live, context c
      where c.seq in ${sql([...rows])} and ${inReach(sql`c`)}
      for update of c),
    made as (
      insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
      select ${key}, ${upTo}, ${summariesOf(key)}, ${upTo}, 'summary', 0, ${payload}::jsonb, ${tokens}
      where (select count(*) from held) = ${rows.length}
      on conflict (turn_id, iteration, kind, part) do nothing returning seq),
    covered as (
      update context set summarized_by = made.seq from made, held
      where context.seq = held.seq and ${inReach(sql`context`)})
    select exists (select 1 from made) or exists (
      -- A commit whose answer was lost.
      select 1 from context
      where turn_id = ${summariesOf(key)} and iteration = ${upTo} and payload = ${payload}::jsonb) as done`;
  return row?.done === true;
}
