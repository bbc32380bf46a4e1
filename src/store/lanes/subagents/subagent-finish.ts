/** The end of a background subagent: its own head and the message with its result for the session, in one transaction. */
import type { Fence, LaneStep } from '../../../protocol/store/lanes.ts';
import { cleanJson } from '../../../lib/json/json.ts';
import { cleanText } from '../../../lib/text.ts';
import type { SubagentFinish } from '../../../protocol/agent/subagents.ts';
import type { Sql } from '../../database/database.ts';
import {
  advanceLane,
  bumpLane,
  claimOf,
  endMessage,
  type HeadRow,
  headsOf,
  holds,
  liveNode,
  ownFinish,
  settleHeads,
} from '../lane-sql.ts';
import { taintSession } from '../session-sources.ts';
import { lockLane } from '../stop.ts';
import { usageRows } from '../turn/usage-rows.ts';

type Finished = LaneStep & { seq: number | undefined };

/** `SubagentStore.finish`. The session's lane is locked before the subagent's, in the same order as in a stop. */
export async function finishSubagent(sql: Sql, fence: Fence, finish: SubagentFinish): Promise<Finished> {
  await lockLane(sql, `in:${finish.session}`);
  const [held] = await sql<{ stopped: boolean }[]>`
    select stop_seq >= ${fence.seq} as stopped from lane where ${holds(sql, fence)} for update`;
  if (held === undefined) return await finishedBefore(sql, fence, finish);
  // A dead letter can be replayed: it continues where it was.
  if (finish.deadLetter === undefined) await sql`delete from context where turn_id = ${finish.agentId}`;
  return held.stopped ? await endStopped(sql, fence, finish) : await endAnnounced(sql, fence, finish);
}

async function finishedBefore(sql: Sql, fence: Fence, finish: SubagentFinish): Promise<Finished> {
  const heads = await ownFinish(sql, fence);
  const [turn] = await sql<{ seq: number }[]>`
    select user_seq as seq from turn where id = ${finish.announcement.turnId}`;
  return { heads, seq: turn?.seq };
}

async function endStopped(sql: Sql, fence: Fence, finish: SubagentFinish): Promise<Finished> {
  const { agentId, session, stoppedNote } = finish;
  const { iteration, entry, tokens } = stoppedNote;
  const tail = sql`(select tail from lane where key = ${`in:${session}`})`;
  await sql`
    with advanced as (${advanceLane(sql, fence)}),
    ended as (${endMessage(sql, fence)}),
    noted as (
      insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
      select ${session}, tail, ${agentId}, ${iteration}, ${entry.kind}, 0, ${cleanJson(entry)}::jsonb, ${tokens}
      from lane where key = ${`in:${session}`} on conflict (turn_id, iteration, kind, part) do nothing)
    ${taintSession(sql, { session, laneSeq: tail }, [stoppedNote], sql`advanced`)}
    ${usageRows(sql, { ...finish, purpose: 'subagent' }, sql`advanced`)}
    select 1 from advanced`;
  return { heads: [], seq: undefined };
}

/** Claims the accepted message for the same node, if its session is free. */
async function endAnnounced(sql: Sql, fence: Fence, finish: SubagentFinish): Promise<Finished> {
  const { session, announcement, deadLetter } = finish;
  const { turnId, address, message } = announcement;
  const claim = claimOf(fence);
  const dead = deadLetter === undefined ? undefined : cleanText(deadLetter);
  const name = message.senderName === undefined ? null : cleanText(message.senderName);
  const [row] = await sql<{ seq: number | null; heads: HeadRow[] }[]>`
    with ${liveNode(sql, fence.node)},
    advanced as (${advanceLane(sql, fence)}),
    ended as (${endMessage(sql, fence, dead)}),
    talk as (
      update session set message_seq = message_seq + 1, updated_at = now()
      from advanced where session.key = ${session} returning session.key, message_seq),
    bumped as (${bumpLane(sql, sql`(select 'in:' || key as key from talk) source`, claim)}),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, ${`${message.id}:${fence.epoch}`}, ${cleanJson(announcement)}::jsonb from bumped returning *),
    begun as (
      insert into turn (id, session, address, lane_seq, user_seq)
      select ${turnId}, talk.key, ${address}, bumped.tail, talk.message_seq from talk, bumped),
    said as (
      insert into message (session, seq, turn_id, role, content, sender_name)
      select key, message_seq, ${turnId}, 'system', ${cleanText(message.content)}, ${name} from talk)
    ${usageRows(sql, { ...finish, purpose: 'subagent' }, sql`advanced`)},
    moved as (select * from advanced union all select * from bumped),
    heads as (${headsOf(sql, sql`moved`, claim, sql`queued`)})
    select (select message_seq from talk) as seq, (select coalesce(jsonb_agg(to_jsonb(heads)), '[]') from heads) as heads`;
  const heads = await settleHeads(sql, row?.heads ?? [], fence.node, claim);
  return { heads, seq: row?.seq ?? undefined };
}
