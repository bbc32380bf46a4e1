/** The messages waiting in a lane: listed, edited, dropped, moved to the front. Each change in one transaction behind the lane's lock. */
import type {
  WaitingChange,
  WaitingMessage,
  WaitingQueue,
  WaitingStore,
} from '../../protocol/sessions/conversation-api.ts';
import { SESSION_START } from '../../protocol/store/records.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';
import { over } from './lane-sql.ts';
import { renumber, toFront } from './parked.ts';
import { lockLane } from './stop.ts';

/** Dropped items are numbered down from 0, far above this. */
const LOWEST_DROPPED = -1_000_000_000;

/** The `WaitingStore` over a database. */
export function createWaiting(database: Database): WaitingStore {
  return {
    waiting: (session) => database.run((sql) => waiting(sql, cleanText(session))),
    editWaiting: (session, turnId, { content, senderId }) =>
      change(database, session, turnId, async (sql, item) => {
        if (item.senderId !== senderId) return 'begun';
        await edit(sql, item, cleanText(content));
        return 'changed';
      }),
    dropWaiting: (session, turnId) => change(database, session, turnId, drop),
    sendWaitingNow: (session, turnId) => change(database, session, turnId, sendNow),
  };
}

/** The CTE `place`: the lane and its last item that no longer waits. A head that has begun does not wait. */
function place(sql: Sql, session: string) {
  return sql`place as (
    select *, owner is not null or exists (
        select from turn where session = ${session} and lane_seq = head + 1 and state in ('running', 'parked')) as busy,
      ${over(sql)} as passed
    from lane where key = ${`in:${session}`})`;
}

/** The condition that an item is waiting; of `lane_item item` and `place`. A parked turn has begun, also behind another. */
function waits(sql: Sql) {
  return sql`item.lane = place.key and item.done_at is null
    and not exists (select from turn where id = item.payload ->> 'turnId' and state = 'parked')
    and item.seq > greatest(place.passed, case when place.busy then place.head + 1 else place.head end)`;
}

async function waiting(sql: Sql, session: string): Promise<WaitingQueue> {
  const [row] = await sql<
    { mode: WaitingQueue['mode'] | null; busy: boolean | null; messages: WaitingMessage[] }[]
  >`
    with ${place(sql, session)},
    listed as (
      select item.seq as at, turn.id as "turnId", message.seq, item.payload -> 'message' ->> 'content' as content,
        message.sender_name as "senderName", item.payload -> 'message' ->> 'senderId' as "senderId",
        coalesce(message.role = 'user', false) and not item.payload ? 'plan'
          and item.payload -> 'message' -> 'prompt' is null and item.payload -> 'message' -> 'forwarded' is null as "isEditable",
        turn.created_at as "createdAt"
      from place, lane_item item join turn on turn.id = item.payload ->> 'turnId'
        left join message on message.session = ${session} and message.turn_id = turn.id
      where ${waits(sql)})
    select (select queue_mode from session where key = ${session}) as mode, (select busy from place) as busy,
      (select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(listed) - 'at') order by at), '[]') from listed) as messages`;
  // In JSON a time is a text.
  const messages = (row?.messages ?? []).map((one) => ({ ...one, createdAt: new Date(one.createdAt) }));
  return { mode: row?.mode ?? SESSION_START.queueMode, busy: row?.busy === true, messages };
}

/** A waiting message, behind the lock. */
interface Found {
  session: string;
  lane: string;
  turnId: string;
  at: number;
  /** The place of the first waiting item. */
  first: number;
  busy: boolean;
  head: number;
  tail: number;
  senderId: string;
}

async function change(
  database: Database,
  key: string,
  turnId: string,
  act: (sql: Sql, found: Found) => Promise<WaitingChange>,
): Promise<WaitingChange> {
  const session = cleanText(key);
  return await database.transaction(async (sql) => {
    await lockLane(sql, `in:${session}`);
    const [item] = await sql<Found[]>`
      with ${place(sql, session)}
      select ${session} as session, place.key as lane, item.payload ->> 'turnId' as "turnId", item.seq as at, place.busy,
        greatest(place.passed, case when place.busy then place.head + 1 else place.head end) + 1 as first,
        place.head, place.tail, item.payload -> 'message' ->> 'senderId' as "senderId"
      from place, lane_item item where ${waits(sql)} and item.payload ->> 'turnId' = ${cleanText(turnId)}`;
    return item === undefined ? 'begun' : await act(sql, item);
  });
}

/** `edited` is a counter: a turn that is about to take in the message reads it again. */
async function edit(sql: Sql, { lane, at, session, turnId }: Found, content: string): Promise<void> {
  await sql`
    update lane_item set payload = jsonb_set(payload, '{message,content}', to_jsonb(${content}::text))
      || jsonb_build_object('edited', coalesce((payload ->> 'edited')::int, 0) + 1)
    where lane = ${lane} and seq = ${at}`;
  await sql`update message set content = ${content} where session = ${session} and turn_id = ${turnId} and role = 'user'`;
}

/** The item keeps its dedupe key under a number that no lane counts, so that it is not accepted again. */
async function drop(sql: Sql, { lane, at, session, turnId, tail }: Found): Promise<WaitingChange> {
  const [row] = await sql<{ aside: number }[]>`
    select least(coalesce(min(seq), 0), 0)::int - 1 as aside from lane_item where lane = ${lane} and seq > ${LOWEST_DROPPED}`;
  const spareSeq = row?.aside ?? -1;
  await sql`
    update lane_item set seq = ${spareSeq}, done_at = now(), error = 'dropped' where lane = ${lane} and seq = ${at}`;
  await sql`
    update turn set lane_seq = ${spareSeq}, state = 'done', reason = 'stopped', left_out = true, ended_at = now()
    where id = ${turnId}`;
  const later = Array.from({ length: tail - at }, (_, nth) => ({ from: at + 1 + nth, to: at + nth }));
  await renumber(sql, session, later);
  await sql`update lane set tail = tail - 1 where key = ${lane}`;
  return 'changed';
}

async function sendNow(sql: Sql, { lane, at, session, first, busy, head }: Found): Promise<WaitingChange> {
  if (at > first) await renumber(sql, session, toFront(first, at));
  if (busy) await sql`update lane set interrupt_seq = ${head + 1} where key = ${lane} and owner is not null`;
  return 'changed';
}
