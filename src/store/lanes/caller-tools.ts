/** Turns that wait for tools that their caller runs: parking one, reading what it waits for, storing the results. */
import { FencedError } from '../../protocol/errors.ts';
import type { Fence, LaneStore } from '../../protocol/store/lanes.ts';
import type { CallerResults, CallerResultsOutcome } from '../../protocol/store/ledger.ts';
import type { ToolCall, Usage } from '../../protocol/agent/provider.ts';
import type { ContextEntry, JournalRow } from '../../protocol/store/records.ts';
import type { WaitingCalls } from '../../protocol/sessions/session-list.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Sql } from '../database/database.ts';
import { dueAfter, dueNow, holds, isDue } from './lane-sql.ts';
import { taintSession } from './journal.ts';

/** `LaneStore.parkForCaller`. Until the results arrive, `caller_seq` names the head; the wait ends when it is due. */
export async function parkForCaller(
  sql: Sql,
  fence: Fence,
  { turnId, expiresInMs }: Parameters<LaneStore['parkForCaller']>[1],
  attempt: number,
): Promise<void> {
  const [row] = await sql<{ held: boolean }[]>`
    with freed as (
      update lane set owner = null, caller_seq = ${fence.seq}, ${dueAfter(sql, expiresInMs)}
      where ${holds(sql, fence)} returning key),
    parked as (update turn set state = 'parked' from freed where id = ${turnId})
    select exists (select 1 from freed) as held`;
  // On a repeat, the previous attempt freed the lane, or the lane has moved on since.
  if (row?.held !== true && attempt === 0) throw new FencedError(fence.lane);
}

/** The condition that a lane is waiting for its caller's tools; `row` is the prefix of its columns. */
export function waitsForCaller(sql: Sql, row = sql``) {
  return sql`(${row}caller_seq = ${row}head + 1 and ${row}owner is null and not ${isDue(sql, row)})`;
}

/** Ids of the calls that the session's lane is waiting for; undefined if it is waiting for none. */
export async function pendingCallIds(sql: Sql, session: string): Promise<string[] | undefined> {
  const [head] = await sql<{ turnId: string }[]>`
    select turn.id as "turnId" from lane join turn on turn.session = ${session} and turn.lane_seq = lane.caller_seq
    where lane.key = ${`in:${session}`} and ${waitsForCaller(sql, sql`lane.`)}`;
  if (head === undefined) return undefined;
  return (await answersOf(sql, head.turnId)).pending.map(({ id }) => id);
}

/** What the turn is waiting for; undefined if it is not waiting for its caller. */
export async function waitingCalls(sql: Sql, turnId: string): Promise<WaitingCalls | undefined> {
  const [head] = await sql<{ waits: boolean }[]>`
    select ${waitsForCaller(sql, sql`lane.`)} as waits from turn
      join lane on lane.key = 'in:' || turn.session and lane.caller_seq = turn.lane_seq
    where turn.id = ${cleanText(turnId)}`;
  if (head?.waits !== true) return undefined;
  const { pending, text, usage } = await answersOf(sql, turnId);
  return { calls: pending, text, usage };
}

/** `Ledger.callerResults`. The lane is locked first, as in a stop and in the sweep that ends the wait. */
export async function callerResults(
  sql: Sql,
  { session: key, results, options }: CallerResults,
): Promise<CallerResultsOutcome> {
  const session = cleanText(key);
  const lane = `in:${session}`;
  const [lockedLane] = await sql<{ waits: boolean; seq: number; turnId: string | null }[]>`
    with held as (select * from lane where key = ${lane} for update)
    select ${waitsForCaller(sql)} as waits, head + 1 as seq,
      (select id from turn where session = ${session} order by lane_seq desc limit 1) as "turnId"
    from held`;
  if (lockedLane === undefined) return { kind: 'not_waiting' };
  if (!lockedLane.waits) return await answeredBefore(sql, lockedLane.turnId, results);
  const [head] = await sql<{ id: string }[]>`
    select id from turn where session = ${session} and lane_seq = ${lockedLane.seq}`;
  if (head === undefined) return { kind: 'not_waiting' };
  const { pending, iteration, calls, text, usage } = await answersOf(sql, head.id);
  const resultsById = new Map(results.map((result) => [result.toolCallId, result]));
  const ids = pending.map(({ id }) => id);
  if (
    resultsById.size !== results.length ||
    resultsById.size !== ids.length ||
    ids.some((id) => !resultsById.has(id))
  ) {
    return { kind: 'mismatch', toolCallIds: ids };
  }
  const rows = pending.map((call): JournalRow => {
    const { content = '', tokens = 0 } = resultsById.get(call.id) ?? {};
    const names = { toolCallId: call.id, toolName: call.name, callIndex: calls.indexOf(call) };
    return {
      iteration,
      tokens,
      entry: { kind: 'tool_result', ...names, content, isError: false, sources: ['local'] },
    };
  });
  await storeRows(sql, { session, laneSeq: lockedLane.seq, turnId: head.id }, rows);
  await sql`
    update lane_item set payload = (payload - 'options') || ${cleanJson(options === undefined ? {} : { options })}::jsonb
    where lane = ${lane} and seq = ${lockedLane.seq}`;
  await sql`update lane set caller_seq = 0, ${dueNow(sql)} where key = ${lane}`;
  return { kind: 'continued', turnId: head.id, before: { text, usage }, part: iteration, repeated: false };
}

/** Stores the rows, whose text others wrote, with the sources of the session. */
async function storeRows(
  sql: Sql,
  turn: { session: string; laneSeq: number; turnId: string },
  rows: JournalRow[],
): Promise<void> {
  const { session, laneSeq, turnId } = turn;
  const records = rows.map(({ iteration, entry, tokens }) => ({
    iteration,
    part: 'callIndex' in entry ? entry.callIndex : 0,
    payload: entry,
    tokens,
  }));
  await sql`
    with held as (select key from lane where key = ${`in:${session}`}),
    written as (
      insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
      select ${session}, ${laneSeq}, ${turnId}, r.iteration, 'tool_result', r.part, r.payload, r.tokens
      from jsonb_to_recordset(${cleanJson(records)}::jsonb) as r(iteration int, part int, payload jsonb, tokens int))
    ${taintSession(sql, { session, laneSeq: sql`${laneSeq}` }, rows, sql`held`)}
    select 1`;
}

/** Results that arrived before, in the session's newest turn: the request is a repeat. */
async function answeredBefore(
  sql: Sql,
  turnId: string | null,
  results: CallerResults['results'],
): Promise<CallerResultsOutcome> {
  if (turnId === null) return { kind: 'not_waiting' };
  const rows = await sql<{ iteration: number; id: string; content: string }[]>`
    select iteration, payload ->> 'toolCallId' as id, payload ->> 'content' as content
    from context where turn_id = ${turnId} and kind = 'tool_result'`;
  const storedRows = results.map(({ toolCallId, content }) =>
    rows.find((row) => row.id === toolCallId && row.content === cleanText(content)),
  );
  const iteration = storedRows[0]?.iteration;
  if (iteration === undefined || storedRows.some((row) => row?.iteration !== iteration))
    return { kind: 'not_waiting' };
  const { text, usage } = await answersOf(sql, turnId, iteration);
  return { kind: 'continued', turnId, before: { text, usage }, part: iteration, repeated: true };
}

interface Answers {
  iteration: number;
  /** The calls of the newest answer, and those of them without a result. */
  calls: ToolCall[];
  pending: ToolCall[];
  /** The answers up to that one, joined as people see them. */
  text: string;
  usage: Usage;
}

async function answersOf(sql: Sql, turnId: string, upTo = 2 ** 31 - 1): Promise<Answers> {
  const rows = await sql<{ iteration: number; entry: ContextEntry; answered: number[] }[]>`
    select c.iteration, c.payload as entry,
      coalesce((select jsonb_agg(part) from context r
        where r.turn_id = c.turn_id and r.iteration = c.iteration and r.kind = 'tool_result'), '[]') as answered
    from context c where c.turn_id = ${turnId} and c.kind = 'assistant' and c.iteration <= ${upTo}
    order by c.iteration`;
  const usage: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };
  const texts: string[] = [];
  let calls: ToolCall[] = [];
  for (const { entry } of rows) {
    if (entry.kind !== 'assistant') continue;
    if (entry.content !== '') texts.push(entry.content);
    usage.promptTokens += entry.usage?.promptTokens ?? 0;
    usage.completionTokens += entry.usage?.completionTokens ?? 0;
    usage.modelMs += entry.usage?.modelMs ?? 0;
    calls = entry.toolCalls;
  }
  const { iteration = 0, answered: answeredIndexes = [] } = rows.at(-1) ?? {};
  const pending = calls.filter((_, index) => !answeredIndexes.includes(index));
  return { iteration, calls, pending, text: texts.join('\n\n'), usage };
}
