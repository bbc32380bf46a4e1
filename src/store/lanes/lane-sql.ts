/** The SQL fragments of all statements on lanes: claiming a lane, ending its head, reading what was claimed. */
import { createHash } from 'node:crypto';
import { FencedError } from '../../protocol/errors.ts';
import { cleanText } from '../../lib/text.ts';
import type { Fence, LaneHead, LaneKey, LaneStep, LaneStore } from '../../protocol/store/lanes.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';
import { newId } from '../../lib/ids.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { violatedKey } from '../database/retry.ts';

/** Longest dedupe key that is stored unchanged; a longer one is stored as its digest (index entries are limited). */
const MAX_DEDUPE_LENGTH = 200;

/** A dedupe key as the table stores it. */
export function dedupeKey(id: string): string {
  const clean = cleanText(id);
  return clean.length <= MAX_DEDUPE_LENGTH
    ? clean
    : `sha256:${createHash('sha256').update(clean).digest('hex')}`;
}

/** A claimed head as the statements return it; not `visible` if its message was committed after the statement's snapshot. */
export interface HeadRow extends LaneHead {
  visible: boolean;
}

/** CTE `live`: the node that may claim, if one is given and its lease is valid. */
export function liveNode(sql: Sql, node: string | undefined): Fragment {
  return sql`live as (select id from node where id = ${node ?? null} and lease_until > now())`;
}

/**
 * The body of a CTE that raises a lane's tail by one, creating the lane if necessary, and claims it for `live` if it
 * is free, due and not a suspect. `source` is a FROM item with a column `key`; `call` is the claim; `limit` refuses a lane with this many
 * pending messages; where `interrupts` holds, the running head is marked to end; with a limit, a lane `l` for which
 * `refuses` holds is refused, too.
 */
export function bumpLane(
  sql: Sql,
  source: Fragment,
  call: string | Fragment,
  limit?: number,
  interrupts: Fragment = sql`false`,
  refuses?: Fragment,
): Fragment {
  // A message may go ahead of a parked turn: who claims that turn decides. No other delay ends with a message.
  const isParked = sql`(l.owner is null and l.delay_ms is not null and l.caller_seq <= l.head and exists (
    select from turn where session = substr(l.key, 4) and lane_seq = l.head + 1 and state = 'parked'))`;
  const isFree = sql`l.owner is null and l.suspect_group = 0 and (${isDue(sql, sql`l.`)} or ${isParked})`;
  const claims = sql`${isFree} and excluded.owner is not null`;
  const unless = refuses === undefined ? sql`` : sql`and not (${refuses})`;
  const belowLimit =
    limit === undefined ? sql`` : sql`where l.tail - ${over(sql, sql`l.`)} < ${limit} ${unless}`;
  return sql`
    insert into lane as l (key, tail, owner, epoch, claim, interrupt_seq)
    select source.key, 1, live.id, case when live.id is null then 0 else 1 end, ${call}, case when ${interrupts} then -1 else 0 end
      from ${source} left join live on true
    on conflict (key) do update set
      tail = l.tail + 1,
      owner = case when ${claims} then excluded.owner else l.owner end,
      epoch = case when ${claims} then l.epoch + 1 else l.epoch end,
      claim = case when ${claims} then excluded.claim else l.claim end,
      delay_ms = case when ${claims} or ${isParked} then null else l.delay_ms end,
      wake_at = case when ${isParked} then now() else l.wake_at end,
      waiting = l.waiting and not (${claims}),
      interrupt_seq = case when excluded.interrupt_seq < 0 and l.owner is not null then l.head + 1 else l.interrupt_seq end
      ${belowLimit}
    returning l.*`;
}

/** Whether an unowned lane may be claimed. Only a delay is compared with the clock, which may be set back at any time. */
export function isDue(sql: Sql, row: Fragment = sql``): Fragment {
  return sql`(${row}delay_ms is null or ${row}wake_at <= now())`;
}

/** Milliseconds until a lane is due; 0 if it already is. */
export function dueInMs(sql: Sql): Fragment {
  return sql`
    case when ${isDue(sql)} then 0::float8 else (extract(epoch from wake_at - now()) * 1000)::float8 end`;
}

/** Assignments that make a lane due at once; `wake_at` is its place among the waiting lanes. */
export function dueNow(sql: Sql): Fragment {
  return sql`wake_at = now(), delay_ms = null`;
}

/** Assignments that make a lane due after a delay, or at once if its head was stopped or `unless` holds. */
export function dueAfter(sql: Sql, delayMs: number, unless: Fragment = sql`false`): Fragment {
  const isDueNow = sql`(stop_seq > head or ${unless})`;
  return sql`
    wake_at = case when ${isDueNow} then now() else ${fromNow(sql, delayMs)} end,
    delay_ms = case when ${isDueNow} then null else ${Math.round(delayMs)}::bigint end`;
}

/** The time this many milliseconds from now, by the database's clock. */
export function fromNow(sql: Sql, ms: number): Fragment {
  return sql`now() + ${ms}::float8 * interval '1 millisecond'`;
}

/** The last message of a lane that is no longer waiting: finished, stopped, or joined to the head's turn. */
export function over(sql: Sql, row: Fragment = sql``): Fragment {
  return sql`greatest(${row}head, ${row}stop_seq, ${row}joined_seq)`;
}

/**
 * The body of a CTE that ends the head of a fenced lane and claims the next message, skipping those that a stop cancelled
 * or that joined the head's turn. `unreported` is that column's new value. No row if the fence does not hold, or
 * `unless` does.
 */
export function advanceLane(
  sql: Sql,
  fence: Fence,
  { unreported = sql`unreported`, unless }: { unreported?: Fragment; unless?: Fragment } = {},
): Fragment {
  const head = sql`greatest(${fence.seq}, stop_seq, joined_seq)`;
  return sql`
    update lane set
      head = ${head},
      owner = case when tail > ${head} then owner end,
      epoch = case when tail > ${head} then epoch + 1 else epoch end,
      claim = ${claimOf(fence)},
      suspect_group = 0,
      waiting = false,
      unreported = ${unreported},
      ${dueNow(sql)}
    where ${holds(sql, fence)} ${unless === undefined ? sql`` : sql`and not ${unless}`}
    returning *`;
}

/** The body of a CTE that marks the fenced head's message as ended; `advanced` is the CTE of `advanceLane`. */
export function endMessage(sql: Sql, fence: Fence, dead?: string): Fragment {
  return sql`
    update lane_item set done_at = now(), done_epoch = ${fence.epoch}, error = ${dead ?? null}, dead = ${dead !== undefined}
      from advanced where lane_item.lane = ${fence.lane} and lane_item.seq = ${fence.seq}`;
}

/** The condition of every fenced statement on `lane`. */
export function holds(sql: Sql, fence: Fence): Fragment {
  return sql`key = ${fence.lane} and owner = ${fence.node} and epoch = ${fence.epoch} and head = ${fence.seq - 1}`;
}

/** CTE `held`: one row while the fence holds; the lane cannot move before this statement has committed. */
export function heldLane(sql: Sql, fence: Fence): Fragment {
  return sql`held as (select key, caller_seq from lane where ${holds(sql, fence)} for share)`;
}

/** The name of the claim that a finish makes: the same for each repetition. */
export function claimOf(fence: Fence): string {
  return `${fence.lane}@${fence.epoch}`;
}

/** Selects, from a CTE with lane rows, the heads that these claims made; `queued` is a CTE of messages inserted with them. */
export function headsOf(sql: Sql, lanes: Fragment, claim: string | Fragment, queued?: Fragment): Fragment {
  const inserted = queued ?? sql`(select * from lane_item where false)`;
  return sql`
    select l.key as lane, l.owner as node, l.epoch, l.head + 1 as seq,
      coalesce(m.lane, q.lane) is not null as visible, coalesce(m.dedupe, q.dedupe) as dedupe, coalesce(m.payload, q.payload) as payload,
      coalesce(m.attempts, 0) as attempts, coalesce(m.crashes, 0) as crashes,
      coalesce(m.lone_crashes, 0) as "loneCrashes",
      coalesce(m.waited_ms, 0)::float8 as "waitedMs", l.unreported, l.stop_seq > l.head as stopped
    from ${lanes} l
      left join lane_item m on m.lane = l.key and m.seq = l.head + 1
      left join ${inserted} q on q.lane = l.key and q.seq = l.head + 1
    where l.owner is not null and l.claim in (${claim}) and l.tail > l.head`;
}

/** Column `heads`: the rows of the CTE `heads`, which is a `headsOf`. */
export function headList(sql: Sql): Fragment {
  return sql`(select coalesce(jsonb_agg(to_jsonb(heads)), '[]') from heads) as heads`;
}

/** Reads the heads that a committed call claimed, after its answer was lost or its snapshot was too old to see them. */
export async function claimedHeads(sql: Sql, node: string, claim: string): Promise<LaneHead[]> {
  const lanes = sql`(select * from lane where owner = ${node} and claim = ${claim})`;
  const rows = await sql<HeadRow[]>`${headsOf(sql, lanes, claim)}`;
  return toHeads(rows);
}

/** The heads in a statement's rows; reads again if one of them was not visible to the statement. */
export async function settleHeads(
  sql: Sql,
  rows: HeadRow[],
  node: string,
  claim: string,
): Promise<LaneHead[]> {
  if (rows.every(({ visible }) => visible)) return toHeads(rows);
  return claimedHeads(sql, node, claim);
}

function toHeads(rows: readonly HeadRow[]): LaneHead[] {
  return rows.flatMap(({ visible, ...head }) => (visible ? [head] : []));
}

/** What follows the end of a head: the heads that its statement claimed. Throws like `ownFinish` if its fence did not hold. */
export async function stepAfter(
  sql: Sql,
  fence: Fence,
  row: { held: boolean; heads: HeadRow[] } | undefined,
): Promise<LaneStep> {
  if (row?.held !== true) return { heads: await ownFinish(sql, fence) };
  return { heads: await settleHeads(sql, row.heads, fence.node, claimOf(fence)) };
}

/** Resolves a finish whose fence no longer holds: returns the heads of its own earlier commit. Throws `FencedError` if another node owns the lane. */
export async function ownFinish(sql: Sql, fence: Fence): Promise<LaneHead[]> {
  const [row] = await sql<{ isOwn: boolean }[]>`
    select done_epoch = ${fence.epoch} as "isOwn" from lane_item where lane = ${fence.lane} and seq = ${fence.seq}`;
  if (row?.isOwn !== true) throw new FencedError(fence.lane);
  return claimedHeads(sql, fence.node, claimOf(fence));
}

/** `LaneStore.append`: the tail rises and the message is stored in one statement, which a repeated `dedupe` rolls back. */
export function append(
  database: Database,
  lane: LaneKey,
  dedupe: string,
  payload: unknown,
  node = '',
): ReturnType<LaneStore['append']> {
  const claim = newId();
  return database.run(async (sql, attempt) => {
    try {
      const [row] = await sql<{ seq: number; heads: HeadRow[] }[]>`
        with ${liveNode(sql, node)},
        bumped as (${bumpLane(sql, sql`(select ${lane} as key) source`, claim)}),
        queued as (
          insert into lane_item (lane, seq, dedupe, payload)
          select key, tail, ${dedupeKey(dedupe)}, ${cleanJson(payload)}::jsonb from bumped returning *),
        heads as (${headsOf(sql, sql`bumped`, claim, sql`queued`)})
        select seq, ${headList(sql)} from queued`;
      const heads = await settleHeads(sql, row?.heads ?? [], node, claim);
      return { seq: row?.seq ?? 0, duplicate: false, heads };
    } catch (error) {
      if (violatedKey(error) !== 'lane_item_dedupe') throw error;
      const [row] = await sql<{ seq: number }[]>`
        select seq from lane_item where lane = ${lane} and dedupe = ${dedupeKey(dedupe)}`;
      // It was deleted in the meantime: the next attempt stores it again.
      if (row === undefined) throw error;
      const heads = attempt > 0 ? await claimedHeads(sql, node, claim) : [];
      return { seq: row.seq, duplicate: true, heads };
    }
  });
}
