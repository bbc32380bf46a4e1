/** What replays read and evaluations keep: turns as they were, marked turns, and what an evaluation has done so far. */
import {
  type EvalCase,
  type EvalItem,
  type EvalMark,
  MAX_CASES,
  MAX_EVAL_SETS,
  type ReplayStore,
  type TurnRecord,
} from '../../protocol/agent/replays.ts';
import { HISTORY_ROWS } from '../../protocol/store/accept.ts';
import { STEP_ITERATIONS } from '../../protocol/store/records.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';
import { packed, type PackedRecords, summariesOf, unpacked } from '../lanes/contexts.ts';

/** The length of a question in lists, in characters. */
const QUESTION_CHARS = 300;

/** The `ReplayStore` over a database. */
export function createReplayStore(database: Database): ReplayStore {
  return {
    turnRecord: (turnId) => database.run((sql) => turnRecord(sql, cleanText(turnId))),
    keepTools: (key, tools) =>
      database.write(
        (sql) => sql`
          insert into tool_list (key, tools) values (${key}, ${cleanJson(tools)}::jsonb)
          on conflict (key) do update set used_at = now()`,
      ),
    ...createMarks(database),
    evalItems: async (run) => {
      const rows = await database.rows(
        (sql) => sql<{ result: EvalItem }[]>`select result from eval_result where run = ${run} order by at`,
      );
      return rows.map(({ result }) => result);
    },
    keepEvalItem: (run, item) =>
      database.write(
        (sql) => sql`
          insert into eval_result (run, turn_id, model, result)
          values (${run}, ${item.report.turnId}, ${cleanText(item.model)}, ${cleanJson(item)}::jsonb)
          on conflict (run, turn_id, model) do update set result = excluded.result, at = now()`,
      ),
    endEval: (run) => database.write((sql) => sql`delete from eval_result where run = ${run}`),
  };
}

/** Marked turns. */
function createMarks(database: Database): Pick<ReplayStore, 'mark' | 'unmark' | 'marks' | 'evalCase'> {
  return {
    mark: (set, record, checks) =>
      database.transaction(async (sql) => {
        // One mark at a time: the limits hold for all nodes.
        await sql`lock table eval_case in share row exclusive mode`;
        const [row] = await sql<{ full: boolean }[]>`
          select not exists (select from eval_case where name = ${set} and turn_id = ${record.turnId})
            and ((select count(*) from eval_case where name = ${set}) >= ${MAX_CASES}
              or (select count(distinct name) from eval_case where name <> ${set}) >= ${MAX_EVAL_SETS}) as full`;
        if (row?.full !== false) return 'full';
        await sql`
          insert into eval_case (name, turn_id, session, record, checks)
          values (${set}, ${record.turnId}, ${record.session}, ${cleanJson(record)}::jsonb, ${cleanJson(checks)}::jsonb)
          on conflict (name, turn_id) do update set checks = excluded.checks`;
        // What was found by other checks is no longer true.
        await sql`delete from eval_result where turn_id = ${record.turnId}`;
        return 'marked';
      }),
    unmark: (set, turnId) =>
      database.exists(
        (sql) =>
          sql`delete from eval_case where name = ${set} and turn_id = ${cleanText(turnId)} returning 1`,
      ),
    marks: ({ set, ownerTokenId }) =>
      database.rows(
        (sql) => sql<EvalMark[]>`
          select name as set, turn_id as "turnId", session, checks, created_at as "markedAt",
            coalesce((select left(row -> 'entry' ->> 'content', ${QUESTION_CHARS})
              from jsonb_array_elements(record -> 'journal') row
              where row -> 'entry' ->> 'kind' = 'user' limit 1), '') as question
          from eval_case
          where ${set === undefined ? sql`true` : sql`name = ${set}`}
            and ${ownerTokenId === undefined ? sql`true` : sql`exists (select from session s where s.key = session and s.owner_token_id = ${ownerTokenId})`}
          order by name, created_at, turn_id`,
      ),
    evalCase: (set, turnId) =>
      database.row(
        (sql) => sql<EvalCase[]>`
          select record, checks, created_at as "markedAt" from eval_case
          where name = ${set} and turn_id = ${cleanText(turnId)}`,
      ),
  };
}

interface RecordRow extends Omit<TurnRecord, 'history' | 'journal'> {
  state: string;
  history: PackedRecords;
  journal: PackedRecords;
}

/**
 * What the model read when the turn ran: the summary of then, not one made later, and rows that only a later summary has
 * replaced. Earlier turns are found by their index, so the age of the session does not matter.
 */
async function turnRecord(sql: Sql, turnId: string): ReturnType<ReplayStore['turnRecord']> {
  const columns = sql`c.seq, c.turn_id as "turnId", c.iteration, c.payload as entry, c.tokens`;
  const [row] = await sql<RecordRow[]>`
    with t as (select * from turn where id = ${turnId}),
    own as (select min(seq) as seq from context where turn_id = ${turnId}),
    fresh as (
      select coalesce(max(c.iteration), 0) as seq from t join context c on c.turn_id = ${summariesOf('')} || t.session
      where c.kind = 'reset' and c.iteration < t.lane_seq),
    recap as (
      select ${columns}, c.lane_seq from t join context c on c.turn_id = ${summariesOf('')} || t.session
      where c.kind = 'summary' and c.iteration < t.lane_seq and c.iteration > (select seq from fresh)
        and c.seq < (select seq from own)
      order by c.iteration desc limit 1),
    earlier as (
      select e.id, e.lane_seq from t join turn e on e.session = t.session
      where e.lane_seq < t.lane_seq and e.lane_seq > (select seq from fresh)
        and e.lane_seq > coalesce((select lane_seq from recap), 0)
        -- Not the other answers to its question.
        and coalesce(e.retry_of, e.id) <> coalesce(t.retry_of, t.id)
      order by e.lane_seq desc limit ${HISTORY_ROWS}),
    history as (
      select ${columns}, c.lane_seq from earlier join context c on c.turn_id = earlier.id
      where (c.summarized_by is null or c.summarized_by > (select seq from own))
        and c.kind not in ('tool_intent', 'plan_fact') and c.iteration < ${STEP_ITERATIONS}
      order by c.lane_seq desc, c.seq desc limit ${HISTORY_ROWS}),
    traced as (
      select attempt.trace from turn_trace, jsonb_array_elements(attempts) with ordinality as attempt(trace, nth)
      where turn_id = ${turnId} order by trace ? 'prompt' desc, nth desc limit 1)
    select t.id as "turnId", t.session, t.state, coalesce(t.reason, '') as reason,
      to_char(t.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "acceptedAt",
      coalesce(extract(epoch from t.ended_at - t.created_at) * 1000, 0)::float8 as ms,
      coalesce((select content from message m where m.session = t.session and m.seq = t.final_seq), '') as answer,
      ${packed(sql, sql`select * from recap union all select * from history order by lane_seq, seq`)} as history,
      ${packed(sql, sql`select ${columns} from context c where c.turn_id = ${turnId} order by c.seq`)} as journal,
      (select trace ->> 'profile' from traced) as "profileId",
      (select trace -> 'prompt' from traced) as prompt,
      (select tools from tool_list, traced where key = trace -> 'prompt' ->> 'toolsKey') as tools
    from t`;
  if (row === undefined) return undefined;
  const { state, history, journal, ...record } = row;
  if (state !== 'done') return 'unfinished';
  const rows = unpacked(journal);
  if (!rows.some(({ entry }) => entry.kind === 'user')) return 'gone';
  return { ...record, history: unpacked(history), journal: rows };
}
