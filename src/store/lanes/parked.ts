/** Turns that wait for a person: they keep their journal, and give their place in the lane to turns of other people. */
import { FencedError } from '../../protocol/errors.ts';
import { GROUP_WAIT_MS } from '../../protocol/agent/approvals.ts';
import type { Fence } from '../../protocol/store/lanes.ts';
import { cleanJson } from '../../lib/json/json.ts';
import type { Sql } from '../database/database.ts';
import { dueAfter, dueNow, fromNow, holds } from './lane-sql.ts';

/** Larger than any number in a lane: items are moved in two steps, because their numbers are unique at all times. */
const ASIDE = 1_000_000_000;

/** An item of a lane and its new number. */
interface Move {
  from: number;
  to: number;
}

/**
 * Renumbers items of a session's lane, with their turns and journals; behind the lane's lock. A turn that is asked again,
 * replayed or parked has a journal before it begins.
 */
export async function renumber(sql: Sql, session: string, moves: readonly Move[]): Promise<void> {
  const lane = `in:${session}`;
  const moved = sql`jsonb_to_recordset(${cleanJson(moves)}::jsonb) as moved("from" int, "to" int)`;
  await sql`
    update lane_item set seq = -seq - ${ASIDE} from ${moved} where lane = ${lane} and seq = moved."from"`;
  await sql`
    update lane_item set seq = moved."to" from ${moved} where lane = ${lane} and seq = -moved."from" - ${ASIDE}`;
  await sql`
    with turns as (
      update turn set lane_seq = moved."to" from ${moved}
      where session = ${session} and lane_seq = moved."from" returning id, lane_seq)
    update context set lane_seq = turns.lane_seq from turns where turn_id = turns.id`;
}

/** The moves that bring the item at `at` to `first`, and those between one further. */
export function toFront(first: number, at: number): Move[] {
  const between: Move[] = Array.from({ length: at - first }, (_, nth) => ({
    from: first + nth,
    to: first + nth + 1,
  }));
  return [{ from: at, to: first }, ...between];
}

/**
 * Settles a parked turn at the head of its lane. True when it may go on: its request was decided, has expired, or was
 * stopped. Otherwise false, and the lane is released: the first message of a person for whom no turn waits takes its place,
 * and the parked turn follows it; if there is none, the lane sleeps until a request of its turns expires. All behind the
 * lane's lock, which a decision takes too. Throws `FencedError`.
 */
export async function settleParked(
  sql: Sql,
  fence: Fence,
  turnId: string,
  attempt: number,
): Promise<boolean> {
  const [lane] = await sql<{ stopped: boolean }[]>`
    select stop_seq > head as stopped from lane where ${holds(sql, fence)} for update`;
  // On a repeat, the previous attempt released the lane.
  if (lane === undefined && attempt > 0) return false;
  if (lane === undefined) throw new FencedError(fence.lane);
  const pending = await sql<{ over: boolean }[]>`
    select ${lane.stopped} or expires_at <= now() as over from approval where turn_id = ${turnId} and state = 'pending'`;
  if (pending.every(({ over }) => over)) {
    await sql`
      update approval set state = 'denied', decided_by = ${lane.stopped ? 'stop' : 'expiry'}, decided_at = now()
      where turn_id = ${turnId} and state = 'pending'`;
    // The messages that joined it are over, and follow it also where others have gone ahead.
    await sql`
      update lane set joined_seq = coalesce((
        select min(seq) from lane_item where lane = key and seq > head + 1 and done_at is null), tail + 1) - 1
      where key = ${fence.lane}`;
    return true;
  }
  await shortenInGroups(sql, fence);
  const { next, sleepMs } = await nextBehind(sql, fence.lane, fence.seq);
  if (next === null)
    await sql`update lane set owner = null, ${dueAfter(sql, sleepMs)} where key = ${fence.lane}`;
  else await moveAhead(sql, fence, next);
  return false;
}

/**
 * The first item behind a parked head that may run before it, and how long the lane may sleep without one. The order of
 * one person stays: their later messages wait for their parked turn. A clock that was set back adds no wait.
 */
async function nextBehind(
  sql: Sql,
  lane: string,
  parked: number,
): Promise<{ next: number | null; sleepMs: number }> {
  const [row] = await sql<{ next: number | null; sleepMs: number | null }[]>`
    with open as (
      select item.seq, turn.state, item.payload #> '{message,channel}' as channel,
        item.payload #> '{message,senderId}' as sender,
        (select min(least(expires_at - now(), expires_at - created_at)) from approval
          where turn_id = turn.id and state = 'pending') as left_over
      from lane_item item join turn on turn.id = item.payload ->> 'turnId'
      where item.lane = ${lane} and item.seq >= ${parked} and item.done_at is null and turn.state in ('queued', 'parked')),
    waiting as (select * from open where left_over > interval '0')
    select (
        select min(seq) from open where seq > ${parked} and (left_over > interval '0') is not true
          and not exists (
            select from waiting where waiting.seq < open.seq and waiting.channel = open.channel
              and waiting.sender = open.sender)) as next,
      (select (extract(epoch from min(left_over)) * 1000)::float8 from waiting) as "sleepMs"`;
  return { next: row?.next ?? null, sleepMs: row?.sleepMs ?? 0 };
}

/**
 * In a group, where only owners decide, nobody waits longer than `GROUP_WAIT_MS` behind their own request. A question to
 * another person keeps its time.
 */
async function shortenInGroups(sql: Sql, { lane, seq }: Fence): Promise<void> {
  const message = (item: string) => sql`${sql(item)}.payload -> 'message'`;
  await sql`
    update approval set expires_at = least(expires_at, ${fromNow(sql, GROUP_WAIT_MS)})
    from lane_item asked, lane_item later
    where asked.lane = ${lane} and asked.seq >= ${seq} and asked.done_at is null
      and later.lane = ${lane} and later.seq > asked.seq and later.done_at is null
      and ${message('asked')} ->> 'place' = 'group'
      and ${message('asked')} -> 'channel' = ${message('later')} -> 'channel'
      and ${message('asked')} -> 'senderId' = ${message('later')} -> 'senderId'
      and approval.turn_id = asked.payload ->> 'turnId' and approval.state = 'pending'
      and not approval.detail ? 'question'`;
}

/** Puts the item `next` before the parked head. It reads what others have said meanwhile, as the parked turn has begun. */
async function moveAhead(sql: Sql, fence: Fence, next: number): Promise<void> {
  const { lane, seq } = fence;
  const session = lane.slice('in:'.length);
  await renumber(sql, session, toFront(seq, next));
  await sql`
    update observed set after_seq = ${seq - 1}
    where session = ${session} and after_seq >= ${seq} and after_seq < ${next}`;
  await sql`
    update lane set owner = null, joined_seq = head, ${dueNow(sql)},
      interrupt_seq = case when interrupt_seq = ${seq} then ${seq + 1} else interrupt_seq end,
      caller_seq = case when caller_seq = ${seq} then ${seq + 1} else caller_seq end
    where key = ${lane}`;
}
