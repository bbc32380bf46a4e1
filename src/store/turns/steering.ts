/** Messages that wait behind the head of a lane, and how they join the head's turn (queue modes `steer` and `collect`). */
import { FencedError } from '../../protocol/errors.ts';
import type { Fence } from '../../protocol/store/lanes.ts';
import type { JoinedMessage, Ledger, WaitingBehind } from '../../protocol/store/ledger.ts';
import type { Address } from '../../protocol/message.ts';
import { cleanJson } from '../../lib/json/json.ts';
import type { JournalRow } from '../../protocol/store/records.ts';
import type { Database, Sql } from '../database/database.ts';
import { insertRows, sessionOfLane, taintSession } from '../lanes/journal.ts';
import { holds, over } from '../lanes/lane-sql.ts';
import { endOnScreen, lockLane } from '../lanes/stop.ts';

/** The functions of `Ledger` for messages that wait behind a head. */
export function createJoining(database: Database) {
  return {
    waitingBehind: (fence, limit) => database.run((sql) => waitingBehind(sql, fence, limit)),
    joinTurn: (fence, turnId, { rows, joined: messages }) =>
      database.transaction((sql) => joinTurn(sql, fence, turnId, rows, messages)),
  } satisfies Partial<Ledger>;
}

/** One round trip by index; nothing is read in other queue modes. Ages are by the database's clock. */
async function waitingBehind(sql: Sql, fence: Fence, limit: number): Promise<WaitingBehind> {
  const session = sessionOfLane(fence);
  const ms = (moment: ReturnType<Sql>) => sql`(extract(epoch from now() - ${moment}) * 1000)::float8`;
  const [row] = await sql<(WaitingBehind & { held: boolean })[]>`
    with held as (select *, ${over(sql)} as passed from lane where ${holds(sql, fence)}),
    talk as (select queue_mode from session where key = ${session}),
    own as (select created_at from turn where session = ${session} and lane_seq = ${fence.seq}),
    before as (
      select ended_at from turn where session = ${session} and lane_seq < ${fence.seq} order by lane_seq desc limit 1),
    newest as (
      select created_at from turn where session = ${session} and lane_seq >= ${fence.seq} order by lane_seq desc limit 1),
    waiting as (
      select lane_item.seq, lane_item.payload from held, talk, lane_item
      where talk.queue_mode in ('steer', 'collect') and held.stop_seq <= held.head
        and lane_item.lane = held.key and lane_item.seq > greatest(held.passed, ${fence.seq}) and lane_item.done_at is null
        -- A parked turn does not join another, and what follows it cannot pass it: it gets its own turn.
        and not exists (select from turn parked where parked.session = ${session} and parked.state = 'parked'
          and parked.lane_seq > ${fence.seq} and parked.lane_seq <= lane_item.seq)
      order by lane_item.seq limit ${limit})
    select exists (select from held) as held, coalesce((select queue_mode from talk), 'queue') as mode,
      coalesce((select ${ms(sql`created_at`)} from newest), 0) as "quietMs",
      coalesce((select ${ms(sql`greatest(own.created_at, before.ended_at)`)} from own left join before on true), 0) as "waitedMs",
      (select coalesce(jsonb_agg(to_jsonb(waiting) order by seq), '[]') from waiting) as messages`;
  if (row?.held !== true) throw new FencedError(fence.lane);
  const { held: _held, ...queue } = row;
  return queue;
}

/**
 * One fenced statement, which a repeat finds done. Placeholders (deferred replies) end in the same transaction. False if
 * a stop cancelled the messages first, or a person changed one.
 */
async function joinTurn(
  sql: Sql,
  fence: Fence,
  turnId: string,
  rows: JournalRow[],
  messages: JoinedMessage[],
): Promise<boolean> {
  // What was edited, moved or dropped in the meantime is visible behind the lock.
  await lockLane(sql, fence.lane);
  const seqs = messages.map(({ seq }) => seq);
  const last = Math.max(...seqs);
  const turns = messages.map((one) => one.turnId);
  const [row] = await sql<{ held: boolean; open: boolean; shown: { id: string; address: Address }[] }[]>`
    with lane_now as (select * from lane where ${holds(sql, fence)} for update),
    held as (select key from lane_now where stop_seq <= head and not exists (
      select from jsonb_to_recordset(${cleanJson(messages)}::jsonb) as wanted(seq int, "turnId" text, edited int)
      left join lane_item item on item.lane = ${fence.lane} and item.seq = wanted.seq
        and item.payload ->> 'turnId' = wanted."turnId" and (item.done_at is null or item.error = 'joined')
        and coalesce((item.payload ->> 'edited')::int, 0) = coalesce(wanted.edited, 0)
      where item.seq is null)),
    marked as (update lane set joined_seq = greatest(joined_seq, ${last}) from held where lane.key = held.key),
    written as (${insertRows(sql, fence, turnId, rows, sql`held`)})
    ${taintSession(sql, { session: sessionOfLane(fence), laneSeq: sql`${fence.seq}` }, rows, sql`held`)},
    ended as (
      update lane_item set done_at = now(), error = 'joined' from held
      where lane_item.lane = held.key and lane_item.seq in ${sql(seqs)} and lane_item.done_at is null),
    closed as (
      update turn set state = 'done', reason = 'joined', ended_at = now() from held
      where turn.id in ${sql(turns)} and turn.state <> 'done' returning turn.id, turn.address)
    select exists (select from lane_now) as held, exists (select from held) as open,
      (select coalesce(jsonb_agg(jsonb_build_object('id', closed.id, 'address', closed.address)), '[]')
        from closed join delivery on delivery.ref = closed.id) as shown`;
  if (row?.held !== true) throw new FencedError(fence.lane);
  for (const { id, address } of row.shown) await endOnScreen(sql, id, address, 'turn.joined');
  return row.open;
}
