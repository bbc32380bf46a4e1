/** What a turn needs to start: read with its acceptance if it starts at once, and separately if it waited or resumes. */
import { FencedError } from '../../protocol/errors.ts';
import type { Fence } from '../../protocol/store/lanes.ts';
import { cleanText } from '../../lib/text.ts';
import type { Address, SentMessage } from '../../protocol/message.ts';
import type { Plan } from '../../protocol/agent/plan.ts';
import type { ObservedMessage } from '../../protocol/store/group-chats.ts';
import {
  MAX_TURN_APPROVALS,
  type OpenedTurn,
  type OtherSurface,
  STEP_ITERATIONS,
  type TurnApproval,
} from '../../protocol/store/records.ts';
import { packed, type PackedRecords, recap, unpacked } from '../lanes/contexts.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';
import { sessionOfLane } from '../lanes/journal.ts';
import { heldLane } from '../lanes/lane-sql.ts';
import { settleParked } from '../lanes/parked.ts';
import { otherSurfaces } from '../statements/surfaces.ts';
import { type SessionJson, sessionOfJson } from '../tables/sessions.ts';

/** The position of a turn: SQL expressions, because its acceptance does not know them before its statement has run. */
interface TurnPlace {
  session: Fragment;
  /** FROM item: its row of `session`. */
  talk: Fragment;
  laneSeq: Fragment;
  /** The lane seq at the last `/new`. */
  freshSeq: Fragment;
  address: Fragment;
  turnId: Fragment;
  /** User id of the person who gets the answer. */
  userId: Fragment;
  /** Maximum number of rows of earlier turns. */
  limit: Fragment;
}

/** The context of a turn, the same whether it is new or resumes. */
interface TurnContextRow {
  session: SessionJson;
  history: PackedRecords;
  surfaces: OtherSurface[];
  remembers: boolean;
  observed: ObservedMessage[];
}

interface OpenedRow extends TurnContextRow {
  journal: PackedRecords;
  placeholders: SentMessage[] | null;
  address: Address;
  afterMs: number;
  planned: boolean;
  unanswered: boolean;
  interrupted: boolean;
  askedAgain: string | null;
  approvals: TurnApproval[];
  plan: Plan | null;
}

/** What `openTurn` reads. */
interface TurnReading {
  turnId: string;
  /** Maximum number of rows of earlier turns. */
  limit: number;
  userId: string | undefined;
  /** It was parked, and its wait is over. */
  settled: boolean;
}

/**
 * `Ledger.openTurn`, one round trip. A turn that still waits for a person is left to whoever claims it next, like one whose
 * lane has moved on.
 */
export async function openTurn(
  database: Database,
  fence: Fence,
  turnId: string,
  limit: number,
  userId?: string,
): Promise<OpenedTurn> {
  const read = (settled: boolean) =>
    database.run((sql) => readTurn(sql, fence, { turnId, limit, userId, settled }));
  const settle = () => database.transaction((sql, attempt) => settleParked(sql, fence, turnId, attempt));
  const opened = (await read(false)) ?? ((await settle()) ? await read(true) : undefined);
  if (opened === undefined) throw new FencedError(fence.lane);
  return opened;
}

/**
 * One round trip. History is read by index from the newest turn backwards, up to the last summary or `/new`. Undefined for
 * a parked turn, unless it is `settled`. The commit waits for the disk: after a crash of the embedded database the next
 * start must know that this turn had begun.
 */
async function readTurn(
  sql: Sql,
  fence: Fence,
  { turnId, limit, userId = '', settled }: TurnReading,
): Promise<OpenedTurn | undefined> {
  const key = sessionOfLane(fence);
  const place: TurnPlace = {
    session: sql`${key}`,
    talk: sql`talk`,
    laneSeq: sql`${fence.seq}`,
    freshSeq: sql`(select fresh_seq from session where key = ${key})`,
    address: sql`begun.address`,
    turnId: sql`${turnId}`,
    userId: sql`${cleanText(userId)}`,
    limit: sql`${limit}`,
  };
  const [row] = await sql<OpenedRow[]>`
    with ${heldLane(sql, fence)},
    begun as (
      update turn set state = 'running' from held
      where id = ${turnId} and (${settled} or state <> 'parked') returning address, created_at, retry_of),
    talk as (select * from session where key = ${key}),
    ${past(sql, place)}
    select ${turnContextColumns(sql, place)}, begun.address, begun.retry_of as "askedAgain",
      (extract(epoch from now() - begun.created_at) * 1000)::float8 as "afterMs",
      ${packed(sql, sql`select ${contextColumns(sql)} from context c where c.turn_id = ${turnId} order by c.seq`)} as journal,
      exists (select 1 from usage where turn_id = ${turnId} and purpose = 'plan') as planned,
      (select caller_seq = ${fence.seq} from held) as unanswered,
      -- As it was before this statement.
      (select state = 'running' from turn where id = ${turnId}) as interrupted,
      (select parts from delivery where ref = ${turnId}) as placeholders,
      (select coalesce(jsonb_agg(jsonb_build_object(
          'id', id, 'callKey', coalesce(detail ->> 'callKey', ''), 'digest', coalesce(detail ->> 'digest', ''),
          'decision', case when state = 'approved' then state else 'denied' end,
          'decidedBy', coalesce(decided_by, 'expiry'), 'reason', reason, 'changed', detail -> 'changed',
          'shown', case when detail ? 'changed' then detail -> 'args' end) order by created_at desc), '[]')
        from (select * from approval where turn_id = ${turnId} order by created_at desc
          limit ${MAX_TURN_APPROVALS}) asked) as approvals,
      (select doc from plan where turn_id = ${turnId} order by created_at desc limit 1) as plan
    from begun, talk`;
  if (row === undefined) return undefined;
  const { address, afterMs, approvals, planned, unanswered, interrupted, askedAgain } = row;
  const result: OpenedTurn = {
    ...turnContextOf(row),
    journal: unpacked(row.journal),
    placeholders: row.placeholders ?? [],
    address,
    afterMs,
    approvals,
    planned,
    unanswered,
    interrupted,
    askedAgain: askedAgain ?? undefined,
  };
  if (row.plan !== null) result.plan = row.plan;
  return result;
}

/** Expression: what a turn that starts at once needs, as JSON, in the statement that accepts it (`p`, `talk`). */
export function openedNow(sql: Sql): Fragment {
  const place: TurnPlace = {
    session: sql`p.session`,
    talk: sql`talk t where t.key = p.session`,
    laneSeq: sql`p.tail`,
    freshSeq: sql`talk.fresh_seq`,
    address: sql`p.address`,
    turnId: sql`p.turn_id`,
    userId: sql`p.user_id`,
    limit: sql`p.history_rows`,
  };
  return sql`(with ${past(sql, place)} select row_to_json(opened) from (select ${turnContextColumns(sql, place)}) opened)`;
}

/** The value of `openedNow` in the form that `openTurn` returns. */
export function openedAtOnce(
  row: TurnContextRow,
  address: Address,
  placeholder: SentMessage | undefined,
): OpenedTurn {
  const placeholders = placeholder === undefined ? [] : [placeholder];
  const nothingYet = { journal: [], approvals: [], planned: false, unanswered: false };
  return { ...turnContextOf(row), ...nothingYet, address, placeholders, afterMs: 0 };
}

function contextColumns(sql: Sql) {
  return sql`c.seq, c.turn_id as "turnId", c.iteration, c.payload as entry, c.tokens`;
}

/** The CTEs `recap`, `history` and `written`: what was said before the turn. */
function past(sql: Sql, { session, laneSeq, freshSeq, limit }: TurnPlace): Fragment {
  const columns = contextColumns(sql);
  return sql`
    ${recap(sql, { session, freshSeq }, laneSeq, columns)},
    history as (
      select ${columns}, c.lane_seq from context c
      where c.session = ${session} and c.lane_seq < ${laneSeq}
        and c.lane_seq > ${freshSeq}
        and c.lane_seq > coalesce((select lane_seq from recap), 0)
        and c.summarized_by is null and c.kind <> 'tool_intent' and c.kind <> 'plan_fact'
        and c.iteration < ${STEP_ITERATIONS}
      order by c.lane_seq desc, c.seq desc limit ${limit}),
    -- The newest earlier turn that wrote context. Its index, unlike a join, does not make the plan dear for every turn.
    written as (
      select coalesce(
        (select c.lane_seq from context c
          where c.session = ${session} and c.lane_seq < ${laneSeq}
            and c.summarized_by is null and c.kind <> 'tool_intent'
          order by c.lane_seq desc, c.seq desc limit 1),
        (select lane_seq from recap), 0) as lane_seq)`;
}

/** The columns of `TurnContextRow`, in a statement that has `talk` and the CTEs of `past`. */
function turnContextColumns(
  sql: Sql,
  { session, talk, laneSeq, freshSeq, address, turnId, userId }: TurnPlace,
): Fragment {
  return sql`
    (select to_jsonb(one) from (select * from ${talk}) one) as session,
    ${packed(sql, sql`select * from recap union all select * from history order by lane_seq, seq`)} as history,
    exists (select 1 from memory where user_id = ${userId}) as remembers,
    ${otherSurfaces(sql, { session, address, turnId })} as surfaces,
    (select coalesce(jsonb_agg(jsonb_build_object('senderName', o.sender_name, 'content', o.content) order by o.id), '[]')
      from observed o where o.session = ${session} and o.after_seq < ${laneSeq}
        and o.after_seq >= ${freshSeq}
        and o.after_seq >= (select lane_seq from written)) as observed`;
}

function turnContextOf({ session, history, surfaces, remembers, observed }: TurnContextRow) {
  return { session: sessionOfJson(session), history: unpacked(history), surfaces, remembers, observed };
}
