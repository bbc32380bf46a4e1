/** Deliveries: queueing a message for an address, the platform ids of what is on screen, and messages besides answers. */
import type { Fence, LaneStep } from '../../protocol/store/lanes.ts';
import { type Ledger, type NotedParts, SECOND_TRY } from '../../protocol/store/ledger.ts';
import {
  type Address,
  type DeliveryPayload,
  parseAddress,
  type SentMessage,
  type SessionKey,
} from '../../protocol/message.ts';
import {
  advanceLane,
  append,
  bumpLane,
  claimedHeads,
  claimOf,
  dedupeKey,
  endMessage,
  type HeadRow,
  headList,
  headsOf,
  heldLane,
  liveNode,
  settleHeads,
  stepAfter,
} from './lane-sql.ts';
import type { Database, Sql } from '../database/database.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { NoticeRequest, NoticeResult, PostRequest, PostStore } from '../../protocol/delivery.ts';
import { SESSION_START, type SessionStart } from '../../protocol/store/records.ts';

/** The functions of `Ledger` for deliveries. `notes` is only for `noteSent`, so that none of them waits behind another statement. */
export function createDeliveries(database: Database, notes: Database) {
  return {
    async enqueue(address, payload, node) {
      const { heads } = await append(database, `out:${address}`, payload.key ?? payload.ref, payload, node);
      return { heads };
    },
    undelivered: (address) =>
      database.exists((sql) => sql`select from lane where key = ${`out:${address}`} and tail > head`),
    wasQueued: (address, key) =>
      database.exists(
        (sql) => sql`select from lane_item where lane = ${`out:${address}`} and dedupe = ${dedupeKey(key)}`,
      ),
    finishDelivery: (fence, ref, parts) => database.run((sql) => finishDelivery(sql, fence, ref, parts)),
    sentParts: (ref) =>
      database.run(async (sql) => {
        const [row] = await sql<{ parts: SentMessage[] }[]>`select parts from delivery where ref = ${ref}`;
        return row?.parts ?? [];
      }),
    maybeSent: (address, ref) =>
      database.exists(
        (sql) => sql`
          select from lane join lane_item item on item.lane = lane.key
          where lane.key = ${`out:${address}`} and item.dedupe = ${ref} and item.seq <= lane.head + 1
            and (item.done_at is null or exists (select from delivery where delivery.ref = ${ref}))`,
      ),
    missedEdits: (address) =>
      database.run(async (sql) => {
        const rows = await sql<{ payload: unknown }[]>`
          select payload from lane_item item join delivery on delivery.ref = payload ->> 'ref'
          where lane = ${`out:${address}`} and dead and payload ->> 'key' not like ${`%${SECOND_TRY}`}
            and not exists (
              select from lane_item later where later.lane = item.lane and later.seq > item.seq
                and later.payload ->> 'ref' = item.payload ->> 'ref')
          order by seq`;
        return rows.map(({ payload }) => payload);
      }),
    sentAmong: (ids, chat) =>
      database.run(async (sql) => {
        const rows = await sql<{ id: string }[]>`
          select distinct part ->> 'id' as id from delivery, jsonb_array_elements(parts) part
          where updated_at > now() - interval '1 hour' and part ->> 'id' in ${sql([...ids])}
            and ${chat === undefined ? sql`true` : isShownIn(sql, chat)}`;
        return rows.map(({ id }) => id);
      }),
    noteSent: (fence, ref, parts) => notes.run((sql) => note(sql, fence, ref, parts)),
  } satisfies Partial<Ledger>;
}

/** Of a delivery: it went to this chat or one of its threads, or is an answer that grows there. */
function isShownIn(sql: Sql, chat: Address) {
  const lane = `out:${chat}`;
  return sql`(
    exists (
      select from lane join lane_item item on item.lane = lane.key
      where (lane.key = ${lane} or starts_with(lane.key, ${`${lane}:`})) and item.payload ->> 'ref' = delivery.ref)
    or exists (
      select from turn where turn.id = delivery.ref
        and (turn.address = ${chat} or starts_with(turn.address, ${`${chat}:`}))))`;
}

async function finishDelivery(
  sql: Sql,
  fence: Fence,
  ref: string,
  parts: SentMessage[] | undefined,
): Promise<LaneStep> {
  const [row] = await sql<{ held: boolean; heads: HeadRow[] }[]>`
    with advanced as (${advanceLane(sql, fence, { unreported: sql`0` })}),
    ended as (${endMessage(sql, fence)}),
    ${parts === undefined ? sql`` : sql`noted as (${noteParts(sql, ref, parts, sql`advanced`)}),`}
    heads as (${headsOf(sql, sql`advanced`, claimOf(fence))})
    select exists (select 1 from advanced) as held,
      ${headList(sql)}`;
  return await stepAfter(sql, fence, row);
}

/**
 * The lane's owner replaces what is stored. A caller that has lost the lane may only extend it; otherwise another node
 * shows `ref` by now, and the caller's messages are copies.
 */
async function note(sql: Sql, fence: Fence, ref: string, parts: SentMessage[]): Promise<NotedParts> {
  const beginnings = parts.map((_, count) => parts.slice(0, count));
  const [row] = await sql<{ held: boolean; stored: boolean; before: SentMessage[] | null }[]>`
    with ${heldLane(sql, fence)},
    before as (select parts from delivery where ref = ${ref}),
    noted as (
      insert into delivery (ref, parts) values (${ref}, ${cleanJson(parts)}::jsonb)
      on conflict (ref) do update set parts = excluded.parts, updated_at = now()
      where exists (select from held) or delivery.parts = excluded.parts
        or delivery.parts in (select jsonb_array_elements(${cleanJson(beginnings)}::jsonb))
      returning ref)
    select exists (select from held) as held, exists (select from noted) as stored,
      (select parts from before) as before`;
  const oldParts = row?.before ?? [];
  const copies = row?.stored === true ? without(oldParts, parts) : without(parts, oldParts);
  return { held: row?.held === true, copies };
}

function without(messages: readonly SentMessage[], others: readonly SentMessage[]): SentMessage[] {
  return messages.filter(({ id }) => others.every((other) => other.id !== id));
}

/** The body of a CTE that stores the platform ids known for `ref`. */
export function noteParts(sql: Sql, ref: string, parts: unknown[], guard: ReturnType<Sql>) {
  return sql`
    insert into delivery (ref, parts) select ${ref}, ${cleanJson(parts)}::jsonb from ${guard}
    on conflict (ref) do update set parts = excluded.parts, updated_at = now()`;
}

/** Messages of another conversation among which those of a turn are counted. */
const COUNTED = 200;

interface PostRow {
  allowed: boolean;
  known: boolean;
  seq: number | null;
  heads: HeadRow[];
}

/** The `PostStore` over a database. */
export function createPosts(database: Database, newSessions: SessionStart = SESSION_START): PostStore {
  return {
    notice: (request) => database.run((sql) => notice(sql, request, newSessions)),
    post: (request, limit, node) =>
      database.run((sql, attempt) => post(sql, request, newSessions, limit, node, attempt)),
  };
}

/** The row of the delivery's parts tells a repeated call that the notice is there. */
async function notice(
  sql: Sql,
  { ref, address, content }: NoticeRequest,
  { mode, queueMode }: SessionStart,
): Promise<NoticeResult> {
  const [row] = await sql<{ session: SessionKey; seq: number }[]>`
    with target as (
      select coalesce((select a.session from address a where a.key = ${address}), ${address}) as session),
    first as (
      insert into delivery (ref, parts) values (${ref}, '[]') on conflict (ref) do nothing returning ref),
    talk as (
      insert into session as s (key, message_seq, mode, queue_mode)
      select session, 1, ${mode}, ${queueMode} from target, first
      on conflict (key) do update set message_seq = s.message_seq + 1, updated_at = now()
      returning key, message_seq),
    said as (
      insert into message (session, seq, turn_id, role, content)
      select key, message_seq, ${ref}, 'assistant', ${cleanText(content)} from talk)
    select key as session, message_seq as seq from talk`;
  return row === undefined ? { kind: 'known' } : { kind: 'posted', ...row };
}

async function post(
  sql: Sql,
  call: PostRequest,
  { mode, queueMode }: SessionStart,
  limit: number,
  node = '',
  attempt = 0,
): ReturnType<PostStore['post']> {
  const { ref, turnId, address } = call;
  const content = cleanText(call.content);
  const files = call.file === undefined ? null : cleanJson([call.file]);
  // The row of the delivery's parts tells a repeated call that the message was sent before.
  const [row] = await sql<PostRow[]>`
    with ${liveNode(sql, node)},
    here as (select session, address, user_seq from turn where id = ${turnId}),
    target as (
      select coalesce((select a.session from address a where a.key = ${address}), ${address}) as session),
    allowed as (
      select case when ${address} = here.address then here.session else target.session end as session
      from here, target
      where ${address} = here.address or target.session = coalesce(${call.session ?? null}, here.session)),
    known as (select ref from delivery where ref = ${ref}),
    sent as (
      -- In another conversation the turn's messages are among the newest.
      select count(*)::int as n from message m, allowed, here, session s
      where m.session = allowed.session and s.key = allowed.session
        and m.seq > case when allowed.session = here.session then here.user_seq else s.message_seq - ${COUNTED} end
        and starts_with(m.turn_id, ${`${turnId}.`})),
    first as (
      insert into delivery (ref, parts) select ${ref}, '[]' from allowed, sent where sent.n < ${limit}
      on conflict (ref) do nothing returning ref),
    talk as (
      insert into session as s (key, message_seq, mode, queue_mode)
      select allowed.session, 1, ${mode}, ${queueMode} from allowed, first
      on conflict (key) do update set message_seq = s.message_seq + 1, updated_at = now()
      returning key, message_seq),
    said as (
      insert into message (session, seq, turn_id, role, content, attachments)
      select key, message_seq, ${ref}, 'assistant', ${content}, ${files}::jsonb from talk),
    ${queuedPost(sql, call, content)}
    heads as (${headsOf(sql, sql`bumped`, ref, sql`queued`)})
    select exists (select from allowed) as allowed,
      -- A call at the same time, which this statement's snapshot does not show, made the row that there is room for.
      exists (select from known)
        or exists (select from sent where sent.n < ${limit}) and not exists (select from first) as known,
      (select message_seq from talk) as seq,
      ${headList(sql)}`;
  if (row === undefined || !row.allowed) return { kind: 'foreign', heads: [] };
  if (row.seq !== null) {
    return { kind: 'posted', seq: row.seq, heads: await settleHeads(sql, row.heads, node, ref) };
  }
  // On a repeat, the previous attempt may have sent it: the heads that it claimed must still run.
  if (row.known) return { kind: 'known', heads: attempt > 0 ? await claimedHeads(sql, node, ref) : [] };
  return { kind: 'full', limit, heads: [] };
}

/** The CTEs `bumped` and `queued`; empty for `http`, which has no `out:` lane. */
function queuedPost(sql: Sql, { ref, address, file, folder }: PostRequest, content: string) {
  const chat = parseAddress(address);
  const message = { ...chat, buttons: [] };
  const payload: DeliveryPayload =
    file === undefined
      ? { ref, message: { ...message, content, media: [] } }
      : { ref, message: { ...message, content: '', media: [{ ...file, caption: content }], folder } };
  const lane =
    chat.channel === 'http'
      ? sql`(select null as key from talk where false) source`
      : sql`(select ${`out:${address}`} as key from talk) source`;
  return sql`
    bumped as (${bumpLane(sql, lane, ref)}),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, ${ref}, ${cleanJson(payload)}::jsonb from bumped returning *),`;
}
