/** What is known about a turn, and about messages that did not become one. */
import {
  MAX_REFUSALS,
  MAX_TRACE_ATTEMPTS,
  type Refusal,
  type TraceStore,
  type TurnFacts,
} from '../../protocol/store/traces.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';
import { waitsForCaller } from '../lanes/caller-tools.ts';
import { dueInMs } from '../lanes/lane-sql.ts';

/** Maximum number of answers in a journal that are read. */
const MAX_ANSWERS = 200;
/** Maximum number of approvals of a turn that are read. */
const MAX_APPROVALS = 64;

/** The `TraceStore` over a database. */
export function createTraceStore(database: Database): TraceStore {
  return {
    noteAttempt: (turnId, attempt) =>
      database.run(async (sql) => {
        await addAttempts(
          sql,
          sql`(select id as turn_id, ${cleanJson(attempt)}::jsonb as trace from turn where id = ${turnId}) t`,
        );
      }),
    turnFacts: (turnId) => database.run((sql) => turnFacts(sql, cleanText(turnId))),
    newestTurn: (id) => database.run((sql) => newestTurn(sql, id)),
    noteRefusals: (refusals) => database.write((sql) => noteRefusals(sql, refusals)),
    refusals: (id, limit) =>
      database.rows((sql) => {
        const key = id === undefined ? undefined : cleanText(id);
        const where =
          key === undefined
            ? sql`true`
            : sql`(address = ${key} or address in (select key from address where session = ${key}))`;
        return sql<Refusal[]>`
          select address, sender_id as "senderId", code, detail, count, last_at as "lastAt" from refusal
          where ${where} order by last_at desc limit ${limit}`;
      }),
    purgeTraces: (olderThanMs, limit) => database.run((sql) => purge(sql, olderThanMs, limit)),
  };
}

/** One statement: each part is read by its primary key or an index. */
async function turnFacts(sql: Sql, turnId: string): Promise<TurnFacts | undefined> {
  const since = (moment: ReturnType<Sql>) =>
    sql`(extract(epoch from ${moment} - t.created_at) * 1000)::float8`;
  const [row] = await sql<{ facts: TurnFacts }[]>`
    with t as (select * from turn where id = ${turnId}),
    l as (select lane.*, ${dueInMs(sql)} as due_in_ms, ${waitsForCaller(sql)} as for_caller
      from lane, t where key = 'in:' || t.session),
    item as (select lane_item.* from lane_item, t where lane = 'in:' || t.session and seq = t.lane_seq),
    sent as (
      select lane_item.*, lane.head, lane.owner, ${dueInMs(sql)} as due_in_ms
      from t join lane_item on lane_item.lane = 'out:' || t.address and lane_item.dedupe = t.id
        join lane on lane.key = lane_item.lane)
    select jsonb_strip_nulls(jsonb_build_object(
      'turnId', t.id, 'session', t.session, 'address', t.address, 'state', t.state, 'reason', t.reason,
      'failure', t.failure, 'acceptedAt', t.created_at, 'nowMs', ${since(sql`now()`)},
      'endedMs', ${since(sql`t.ended_at`)}, 'answered', t.final_seq is not null,
      'joinedInto', (select id from turn j where t.reason = 'joined' and j.session = t.session
        and j.lane_seq < t.lane_seq and j.reason is distinct from 'joined' order by j.lane_seq desc limit 1),
      'queue', jsonb_build_object(
        'ahead', greatest(t.lane_seq - 1 - coalesce(l.head, t.lane_seq), 0),
        'head', (select jsonb_build_object('turnId', h.id, 'state', h.state) from turn h
          where h.session = t.session and h.lane_seq = l.head + 1 and h.id <> t.id),
        'owner', l.owner, 'dueInMs', coalesce(l.due_in_ms, 0),
        'attempts', coalesce(item.attempts, 0), 'crashes', coalesce(item.crashes, 0), 'error', item.error,
        'dead', coalesce(item.dead, false)),
      'attempts', coalesce((select attempts from turn_trace where turn_id = t.id), '[]'),
      'answers', (select coalesce(jsonb_agg(jsonb_build_object(
          'iteration', a.iteration, 'model', a.payload ->> 'model', 'usage', a.payload -> 'usage') order by a.seq), '[]')
        from (select * from context where turn_id = t.id and kind = 'assistant' order by seq limit ${MAX_ANSWERS}) a),
      'approvals', (select coalesce(jsonb_agg(jsonb_build_object(
          'atMs', ${since(sql`a.created_at`)}, 'decidedMs', ${since(sql`a.decided_at`)}, 'state', a.state,
          'by', coalesce(a.decided_name, a.decided_by), 'tool', coalesce(a.detail ->> 'tool', ''),
          'expiresInMs', greatest(extract(epoch from a.expires_at - now()) * 1000, 0)::float8) order by a.created_at), '[]')
        from (select * from approval where turn_id = t.id order by created_at limit ${MAX_APPROVALS}) a),
      'waitsForCaller', t.state = 'parked' and coalesce(l.for_caller, false),
      'delivery', (select jsonb_build_object(
          'sentMs', case when not sent.dead then ${since(sql`sent.done_at`)} end,
          'ahead', greatest(sent.seq - 1 - sent.head, 0), 'attempts', sent.attempts,
          'waitedMs', sent.waited_ms, 'dueInMs', sent.due_in_ms, 'owner', sent.owner,
          'error', sent.error, 'dead', sent.dead) from sent),
      'gateways', (select count(*) from node where lease_until > now()),
      'running', (select count(*) from lane where owner is not null and class = 'in'))) as facts
    from t left join l on true left join item on true`;
  if (row === undefined) return undefined;
  return { ...row.facts, acceptedAt: new Date(row.facts.acceptedAt) };
}

async function newestTurn(sql: Sql, id: string | undefined): ReturnType<TraceStore['newestTurn']> {
  const [row] = await (id === undefined
    ? sql<{ turnId: string; acceptedAt: Date }[]>`
        select turn.id as "turnId", turn.created_at as "acceptedAt"
        from (select key from session order by updated_at desc, key limit 1) s
          join turn on turn.session = s.key order by turn.lane_seq desc limit 1`
    : sql<{ turnId: string; acceptedAt: Date }[]>`
        select id as "turnId", created_at as "acceptedAt" from turn
        where session = coalesce((select session from address where key = ${cleanText(id)}), ${cleanText(id)})
        order by lane_seq desc limit 1`);
  return row;
}

function noteRefusals(sql: Sql, refusals: readonly Refusal[]) {
  return sql`
    insert into refusal as r (address, sender_id, code, detail, count, last_at)
    select address, "senderId", code, detail, count, "lastAt"
    from jsonb_to_recordset(${cleanJson(refusals)}::jsonb)
      as n(address text, "senderId" text, code text, detail text, count int, "lastAt" timestamptz)
    order by 1, 2, 3
    on conflict (address, sender_id, code) do update set
      count = r.count + excluded.count, last_at = greatest(r.last_at, excluded.last_at), detail = excluded.detail`;
}

async function purge(sql: Sql, olderThanMs: number, limit: number): Promise<number> {
  const age = sql`now() - ${olderThanMs}::float8 * interval '1 millisecond'`;
  const [row] = await sql<{ purged: number }[]>`
    with gone as (
      delete from turn_trace where turn_id in (
        select turn_id from turn_trace where at < ${age} order by at limit ${limit}) returning turn_id),
    old as (
      delete from refusal where (address, sender_id, code) in (
        select address, sender_id, code from (
          (select * from refusal where last_at < ${age} limit ${limit}) union
          (select * from refusal order by last_at desc offset ${MAX_REFUSALS} limit ${limit})) r)
      returning code),
    tools as (
      delete from tool_list where key in (
        select key from tool_list where used_at < ${age} - interval '2 days' order by used_at limit ${limit})),
    evals as (
      delete from eval_result where (run, turn_id, model) in (
        select run, turn_id, model from eval_result where at < ${age} order by at limit ${limit}))
    select ((select count(*) from gone) + (select count(*) from old))::int as purged`;
  return row?.purged ?? 0;
}

/** The statement that adds attempts to those of their turns: `turns` is a FROM item `t` with `turn_id` and `trace`, which may be null. */
export function addAttempts(sql: Sql, turns: ReturnType<Sql>) {
  return sql`
    insert into turn_trace as stored (turn_id, attempts)
    select t.turn_id, jsonb_build_array(t.trace) from ${turns} where t.trace is not null
    on conflict (turn_id) do update set at = now(),
      attempts = case when jsonb_array_length(stored.attempts) < ${MAX_TRACE_ATTEMPTS}
        then stored.attempts || excluded.attempts else stored.attempts end`;
}
