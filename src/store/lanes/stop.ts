/** Stop marks: one transaction marks everything up to the tail. Also the replay of dead letters. */
import type { LaneKey, StopResult } from '../../protocol/store/lanes.ts';
import type { DeliveryPayload } from '../../protocol/store/ledger.ts';
import { cancelPlan, cancelReason, type CancelReason, type Plan } from '../../protocol/agent/plan.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { type Address, parseAddress, type SessionKey } from '../../protocol/message.ts';
import { agentLane, agentPrefix } from '../../protocol/agent/subagents.ts';
import type { Sql } from '../database/database.ts';
import { markReset } from './contexts.ts';
import { bumpLane, dueNow, liveNode } from './lane-sql.ts';
import { renumber } from './parked.ts';
import { cardRef } from '../../protocol/agent/plan-store.ts';

/** Reason stored with a plan that a stop cancelled. */
const CANCELLED_PLAN = cancelReason(textRef('cancelled.stopped'));

interface CancelledTurn {
  id: string;
  address: Address;
  /** A part of its answer is on screen. */
  shown: boolean;
}

interface LockedLane {
  head: number;
  tail: number;
  owner: string | null;
  stopSeq: number;
}

/** Locks the lane first, so that the following statements see everything that was committed to it. */
export async function lockLane(sql: Sql, key: string): Promise<LockedLane | undefined> {
  const [lane] = await sql<LockedLane[]>`
    select head, tail, owner, stop_seq as "stopSeq" from lane where key = ${key} for update`;
  return lane;
}

/** Starts a fresh context: also deletes the agent's notes. */
async function forget(sql: Sql, session: SessionKey, tail: number): Promise<void> {
  await sql`update session set fresh_seq = ${tail}, fresh_at = now(), sources = '[]' where key = ${session}`;
  await markReset(sql, session, tail);
  for (const table of ['todo', 'scratchpad']) await sql`delete from ${sql(table)} where session = ${session}`;
}

/**
 * Stops a session. The owner of a running head sees the mark; a parked turn is denied and ends itself, which changes its
 * question and its message on screen; the rest of the queue is cancelled here: no answer will follow, and the model does
 * not read those messages.
 */
export async function stopSession(sql: Sql, session: SessionKey, fresh: boolean): Promise<StopResult> {
  const key = `in:${session}`;
  const lane = await lockLane(sql, key);
  if (lane === undefined) return { stopped: false, cancelled: 0 };
  const agents = await stopAgents(sql, session);
  if (fresh) await forget(sql, session, lane.tail);
  if (lane.tail === lane.head) return { stopped: false, cancelled: 0, ...agents };
  const running = lane.owner !== null;
  const parked = !running && (await denyParked(sql, session, lane.head + 1, lane.head + 1));
  const waiting = await parkedToTail(sql, session, running || parked ? lane.head + 1 : lane.head);
  const last = lane.tail - waiting;
  const head = running || parked ? lane.head : last;
  // The head that is left to end its turn does nothing more: it need not wait among the suspects.
  await sql`
    update lane set stop_seq = ${last}, head = ${head}, suspect_group = 0, ${dueNow(sql)} where key = ${key}`;
  const first = running || parked ? lane.head + 2 : lane.head + 1;
  const cancelled = await sql`
    update lane_item set done_at = now(), error = 'stopped'
    where lane = ${key} and seq between ${first} and ${last} and done_at is null returning seq`;
  const turns = await sql<CancelledTurn[]>`
    update turn set state = 'done', reason = 'stopped', ended_at = now(),
      left_out = left_out or (state = 'queued' and retry_of is null)
    where session = ${session} and lane_seq between ${first} and ${last} and state <> 'done'
    returning id, address, exists (select 1 from delivery where ref = turn.id) as shown`;
  const cards = await endPlans(
    sql,
    turns.map(({ id }) => id),
    CANCELLED_PLAN,
  );
  for (const turn of turns)
    if (turn.shown || cards.has(turn.id)) await endOnScreen(sql, turn.id, turn.address, 'turn.stopped');
  return { stopped: running || parked || waiting > 0, cancelled: cancelled.length, ...agents };
}

/** Marks the session's background subagents; one that is not running is due at once, so that it ends. */
async function stopAgents(sql: Sql, session: SessionKey): Promise<{ agents?: number }> {
  const rows = await sql`
    update lane set stop_seq = tail, ${dueNow(sql)}
    where class = 'agent' and tail > head and stop_seq < tail and starts_with(key, ${agentLane(agentPrefix(session))})
    returning key`;
  return rows.length > 0 ? { agents: rows.length } : {};
}

/** Ends the placeholder of a turn that never ran (a deferred reply), which would otherwise stay on screen forever, with a text in its reader's language. */
export async function endOnScreen(
  sql: Sql,
  id: string,
  address: Address,
  says: DeliveryPayload['says'],
): Promise<void> {
  const message = { ...parseAddress(address), content: '', turnId: id, media: [], buttons: [] };
  const payload: DeliveryPayload = { ref: id, message, says };
  const lane = sql`(select ${`out:${address}`} as key) source`;
  await sql`
    with ${liveNode(sql, undefined)},
    bumped as (${bumpLane(sql, lane, id)})
    insert into lane_item (lane, seq, dedupe, payload) select key, tail, ${id}, ${cleanJson(payload)}::jsonb from bumped`;
}

/** Denies what the parked turns in a range are waiting for; false if there are none. */
async function denyParked(sql: Sql, session: SessionKey, from: number, to: number): Promise<boolean> {
  const turns = await sql<{ id: string }[]>`
    select id from turn where session = ${session} and lane_seq between ${from} and ${to} and state = 'parked'`;
  if (turns.length === 0) return false;
  await sql`
    update approval set state = 'denied', decided_by = 'stop', decided_at = now()
    where turn_id in ${sql(turns.map(({ id }) => id))} and state = 'pending'`;
  return true;
}

/**
 * Denies the parked turns behind `after`, and moves them with the messages that joined them behind everything that is
 * cancelled; returns how many items these are.
 */
async function parkedToTail(sql: Sql, session: SessionKey, after: number): Promise<number> {
  const items = await sql<{ seq: number; parked: boolean; joined: boolean }[]>`
    select item.seq, turn.state = 'parked' as parked, turn.reason is not distinct from 'joined' as joined
    from lane_item item join turn on turn.session = ${session} and turn.lane_seq = item.seq
    where item.lane = ${`in:${session}`} and item.seq > ${after} order by item.seq`;
  if (!items.some(({ parked }) => parked)) return 0;
  await denyParked(sql, session, after + 1, items.at(-1)?.seq ?? after);
  let isParked = false;
  const waiting: number[] = [];
  const others: number[] = [];
  for (const { seq, parked, joined } of items) {
    isParked = parked || (isParked && joined);
    (isParked ? waiting : others).push(seq);
  }
  await renumber(
    sql,
    session,
    [...others, ...waiting].map((from, nth) => ({ from, to: after + 1 + nth })),
  );
  return waiting.length;
}

/** Moves a dead letter to the tail of its lane, together with its turn. */
export async function replayDeadLetter(
  sql: Sql,
  lane: LaneKey,
  seq: number,
  attempt: number,
): Promise<boolean> {
  const locked = await lockLane(sql, lane);
  if (locked === undefined) return false;
  const tail = locked.tail + 1;
  const rows = await sql`
    update lane_item set seq = ${tail}, done_at = null, done_epoch = null, error = null, dead = false, attempts = 0, crashes = 0,
      lone_crashes = 0, waited_ms = 0
    where lane = ${lane} and seq = ${seq} and dead returning seq`;
  // On a repeat, the previous attempt may have moved it.
  if (rows.length === 0) return attempt > 0;
  await sql`update lane set tail = ${tail} where key = ${lane}`;
  if (!lane.startsWith('in:')) return true;
  const session = lane.slice('in:'.length);
  const turns = await sql<{ id: string }[]>`
    update turn set state = 'queued', reason = null, ended_at = null, left_out = false, lane_seq = ${tail}
    where session = ${session} and lane_seq = ${seq} returning id`;
  for (const { id } of turns)
    await sql`update context set lane_seq = ${tail}, summarized_by = null where turn_id = ${id}`;
  return true;
}

/** `Ledger.planOf`, by index. */
export async function planOf(sql: Sql, turnId: string): Promise<Plan | undefined> {
  const [row] = await sql<{ doc: Plan }[]>`
    select doc from plan where turn_id = ${turnId} order by created_at desc limit 1`;
  return row?.doc;
}

/** Cancels the open plans of turns; returns the turns whose card is on screen and must be updated. */
async function endPlans(
  sql: Sql,
  turnIds: readonly string[],
  { reason, why: reasonRef }: CancelReason,
): Promise<ReadonlySet<string>> {
  if (turnIds.length === 0) return new Set();
  const open = await sql<{ id: string; turnId: string; doc: Plan }[]>`
    select id, turn_id as "turnId", doc from plan
    where turn_id in ${sql([...turnIds])} and doc ->> 'state' in ('running', 'paused')`;
  if (open.length === 0) return new Set();
  for (const { id, doc } of open) {
    await sql`
      update plan set doc = ${cleanJson(cancelPlan(doc, reason, reasonRef))}::jsonb, updated_at = now() where id = ${id}`;
  }
  const cards = await sql<{ ref: string }[]>`
    select ref from delivery where ref in ${sql(open.map(({ id }) => cardRef(id)))}`;
  const shownRefs = new Set(cards.map(({ ref }) => ref));
  return new Set(open.filter(({ id }) => shownRefs.has(cardRef(id))).map(({ turnId }) => turnId));
}
