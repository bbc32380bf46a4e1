/** The start and the end of a turn: everything it needs to start or resume, and T6, which ends it and queues its answer. */
import { FencedError } from '../../contracts/errors.ts';
import type { Fence, LaneStep } from '../../contracts/store/lanes.ts';
import { cleanJson } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Address, SentMessage } from '../../contracts/message.ts';
import type { Plan } from '../../contracts/plan.ts';
import type { ObservedMessage } from '../../contracts/store/group-chats.ts';
import { MAX_TURN_APPROVALS, STEP_ITERATIONS } from '../../contracts/store/records.ts';
import type { OpenedTurn, TurnApproval, TurnFinish } from '../../contracts/store/records.ts';
import { packed, type PackedRecords, recap, unpacked } from './contexts.ts';
import type { Sql } from '../database/database.ts';
import { insertRows, sessionOfLane } from './journal.ts';
import {
  advanceLane,
  bumpLane,
  claimOf,
  endMessage,
  type HeadRow,
  headsOf,
  heldLane,
  liveNode,
  ownFinish,
  settleHeads,
} from './lane-sql.ts';
import { mergedSources } from './session-sources.ts';
import { tracedAttempt } from './turn-trace.ts';
import { type SessionRow, toSession } from '../tables/session-rows.ts';
import { usageRows } from './usage-rows.ts';

interface OpenedRow {
  session: SessionRow;
  journal: PackedRecords;
  history: PackedRecords;
  placeholders: SentMessage[] | null;
  address: Address;
  afterMs: number;
  remembers: boolean;
  planned: boolean;
  unanswered: boolean;
  meanwhile: ObservedMessage[];
  approvals: TurnApproval[];
  plan: Plan | null;
}

/**
 * `Ledger.openTurn`, one round trip. History is read by index from the newest turn backwards, never past the last
 * summary or `/new`: its cost does not grow with the session's age. An undecided approval that the turn waited for is denied.
 * Its writes may be lost when the server loses power, because the next start of the turn repeats them: so its commit does
 * not wait for the disk, and neither does the first token.
 */
export async function openTurn(
  sql: Sql,
  fence: Fence,
  turnId: string,
  limit: number,
  userId = '',
): Promise<OpenedTurn> {
  const key = sessionOfLane(fence);
  const entry = sql`c.seq, c.turn_id as "turnId", c.iteration, c.payload as entry, c.tokens`;
  const [row] = await sql<OpenedRow[]>`
    with ${heldLane(sql, fence)},
    relaxed as (select set_config('synchronous_commit', 'off', true)),
    begun as (update turn set state = 'running' from held where id = ${turnId} returning address, created_at),
    expired as (
      update approval set state = 'denied', decided_by = 'expiry', decided_at = now() from held
      where turn_id = ${turnId} and state = 'pending'),
    talk as (select ${sessionColumns(sql)} from session where key = ${key}),
    ${recap(sql, key, sql`${fence.seq}`, entry)},
    history as (
      select ${entry}, c.lane_seq from context c
      where c.session = ${key} and c.lane_seq < ${fence.seq}
        and c.lane_seq > (select fresh_seq from session where key = ${key})
        and c.lane_seq > coalesce((select lane_seq from recap), 0)
        and c.summarized_by is null and c.kind <> 'tool_intent' and c.kind <> 'plan_fact'
        and c.iteration < ${STEP_ITERATIONS}
      order by c.lane_seq desc, c.seq desc limit ${limit}),
    -- The newest earlier turn that wrote context. Its index, unlike a join, does not make the plan dear for every turn.
    written as (
      select coalesce(
        (select c.lane_seq from context c
          where c.session = ${key} and c.lane_seq < ${fence.seq}
            and c.summarized_by is null and c.kind <> 'tool_intent'
          order by c.lane_seq desc, c.seq desc limit 1),
        (select lane_seq from recap), 0) as lane_seq)
    select row_to_json(talk) as session, begun.address,
      (extract(epoch from now() - begun.created_at) * 1000)::float8 as "afterMs",
      ${packed(sql, sql`select ${entry} from context c where c.turn_id = ${turnId} order by c.seq`)} as journal,
      ${packed(sql, sql`select * from recap union all select * from history order by lane_seq, seq`)} as history,
      exists (select 1 from memory where user_id = ${cleanText(userId)}) as remembers,
      exists (select 1 from usage where turn_id = ${turnId} and purpose = 'plan') as planned,
      (select caller_seq = ${fence.seq} from held) as unanswered,
      (select parts from delivery where ref = ${turnId}) as placeholders,
      (select coalesce(jsonb_agg(jsonb_build_object(
          'id', id, 'callKey', coalesce(detail ->> 'callKey', ''), 'digest', coalesce(detail ->> 'digest', ''),
          'decision', case when state = 'approved' then state else 'denied' end,
          'decidedBy', coalesce(decided_by, 'expiry'), 'reason', reason) order by created_at desc), '[]')
        from (select * from approval where turn_id = ${turnId} order by created_at desc
          limit ${MAX_TURN_APPROVALS}) asked) as approvals,
      (select coalesce(jsonb_agg(jsonb_build_object('senderName', o.sender_name, 'content', o.content) order by o.id), '[]')
        from observed o where o.session = ${key} and o.after_seq < ${fence.seq}
          and o.after_seq >= (select fresh_seq from session where key = ${key})
          and o.after_seq >= (select lane_seq from written)) as meanwhile,
      (select doc from plan where turn_id = ${turnId} order by created_at desc limit 1) as plan
    from begun, talk, relaxed`;
  if (row === undefined) throw new FencedError(fence.lane);
  const { address, afterMs, approvals, remembers, planned, unanswered, meanwhile } = row;
  const placeholders = row.placeholders ?? [];
  const session = toSession(row.session);
  const known = {
    journal: unpacked(row.journal),
    history: unpacked(row.history),
    placeholders,
    address,
    afterMs,
    approvals,
    remembers,
    planned,
    unanswered,
    meanwhile,
  };
  const opened: OpenedTurn = { session, ...known };
  if (row.plan !== null) opened.plan = row.plan;
  return opened;
}

/** The columns of `session` under the names of `SessionRow`. */
export function sessionColumns(sql: Sql) {
  return sql`key, profile_id as "profileId", profile_chosen as "profileChosen", model, mode, queue_mode as "queueMode", owner_token_id as "ownerTokenId", title, folder, sources,
    fresh_at as "freshAt", created_at as "createdAt", updated_at as "updatedAt", message_seq as "messageSeq",
    pinned, archived, read_seq as "readSeq", voice, voice_failing as "voiceFailing"`;
}

/** `Ledger.finishTurn`, one statement: nothing is written when the fence does not hold. */
export async function finishTurn(sql: Sql, fence: Fence, finish: TurnFinish): Promise<LaneStep> {
  const claim = claimOf(fence);
  const queues = queuesMore(finish);
  const [row] = await sql<{ held: boolean; heads: HeadRow[] }[]>`
    with ${liveNode(sql, fence.node)},
    advanced as (${advanceLane(sql, fence)}),
    ended as (${endMessage(sql, fence, finish.deadLetter === undefined ? undefined : cleanText(finish.deadLetter))}),
    talk as (
      update session set message_seq = message_seq + ${finish.content === '' ? 0 : 1},
        updated_at = ${finish.content === '' ? sql`session.updated_at` : sql`now()`},
        sources = ${mergedSources(sql, sql`${fence.seq}`, finish.entries)}
      from advanced where session.key = ${sessionOfLane(fence)} returning session.key, message_seq, voice),
    closed as (
      update turn set state = 'done', reason = ${finish.reason}, ended_at = now(),
        failure = ${finish.failure === undefined ? null : cleanJson(finish.failure)}::jsonb,
        final_seq = ${finish.content === '' ? sql`null` : sql`talk.message_seq`}
      from talk where id = ${finish.turnId} returning address, talk.voice),
    written as (${insertRows(sql, fence, finish.turnId, finish.entries, sql`advanced`)})
    ${finalMessage(sql, finish)}
    ${usageRows(sql, { ...finish, session: sessionOfLane(fence), purpose: 'turn' }, sql`advanced`)}
    ${tracedAttempt(sql, finish.turnId, finish.trace, sql`advanced`)}
    ${queuedDelivery(sql, finish, claim)},
    moved as (select * from advanced ${queues ? sql`union all select * from bumped` : sql``}),
    heads as (${headsOf(sql, sql`moved`, claim, queues ? sql`queued` : undefined)})
    select exists (select 1 from advanced) as held,
      (select coalesce(jsonb_agg(to_jsonb(heads)), '[]') from heads) as heads`;
  if (row?.held !== true) return { heads: await ownFinish(sql, fence) };
  return { heads: await settleHeads(sql, row.heads, fence.node, claim) };
}

/** A turn with an empty answer stores no message. */
function finalMessage(sql: Sql, finish: TurnFinish) {
  if (finish.content === '') return sql``;
  const { attachments: files = [] } = finish;
  return sql`, said as (
    insert into message (session, seq, turn_id, role, content, is_error, attachments)
    select key, message_seq, ${finish.turnId}, 'assistant', ${cleanText(finish.content)}, ${finish.isError},
      ${files.length === 0 ? null : cleanJson(files)}::jsonb from talk)`;
}

/** What follows a turn: its delivery, and the speech of its answer. */
function queuesMore({ outbound, speak = false }: TurnFinish): boolean {
  return outbound !== undefined || speak;
}

/** The turn's address names the lanes of its delivery and of its speech; the turn's id is the dedupe key. */
function queuedDelivery(sql: Sql, finish: TurnFinish, claim: string) {
  const { turnId, outbound, speak = false } = finish;
  if (!queuesMore(finish)) return sql``;
  const lane = sql`(
    select 'out:' || address as key from closed where ${outbound !== undefined}
    union all select 'speech:' || address from closed where ${speak} and voice) source`;
  return sql`,
    bumped as (${bumpLane(sql, lane, claim)}),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, ${turnId},
        case class when 'out' then ${cleanJson(outbound ?? null)}::jsonb else ${cleanJson({ turnId })}::jsonb end
      from bumped returning *)`;
}
