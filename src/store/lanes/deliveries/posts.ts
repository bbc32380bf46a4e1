/** Messages besides answers: one statement stores what people see and queues its delivery, once for each call. */
import { cleanJson } from '../../../lib/json/json.ts';
import { cleanText } from '../../../lib/text.ts';
import { type DeliveryPayload, parseAddress, type SessionKey } from '../../../protocol/message.ts';
import type { NoticeRequest, NoticeResult, PostRequest, PostStore } from '../../../protocol/delivery.ts';
import { SESSION_START, type SessionStart } from '../../../protocol/store/records.ts';
import type { Database, Sql } from '../../database/database.ts';
import { bumpLane, claimedHeads, type HeadRow, headsOf, liveNode, settleHeads } from '../lane-sql.ts';

/** The `PostStore` over a database. */
export function createPosts(database: Database, newSessions: SessionStart = SESSION_START): PostStore {
  return {
    notice: (request) => database.run((sql) => notice(sql, request, newSessions)),
    post: (request, limit, node) =>
      database.run((sql, attempt) => post(sql, { ...request, limit, node }, attempt)),
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

/** Messages of another conversation among which those of a turn are counted. */
const COUNTED = 200;

interface PostCall extends PostRequest {
  limit: number;
  node: string | undefined;
}

interface PostRow {
  allowed: boolean;
  known: boolean;
  seq: number | null;
  heads: HeadRow[];
}

async function post(sql: Sql, call: PostCall, attempt: number): ReturnType<PostStore['post']> {
  const { ref, turnId, address, limit, node } = call;
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
      update session set message_seq = message_seq + 1, updated_at = now()
      from allowed, first where session.key = allowed.session returning session.key, message_seq),
    said as (
      insert into message (session, seq, turn_id, role, content, attachments)
      select key, message_seq, ${ref}, 'assistant', ${content}, ${files}::jsonb from talk),
    ${queued(sql, call, content)}
    heads as (${headsOf(sql, sql`bumped`, ref, sql`queued`)})
    select exists (select from allowed) as allowed,
      -- A call at the same time, which this statement's snapshot does not show, made the row that there is room for.
      exists (select from known)
        or exists (select from sent where sent.n < ${limit}) and not exists (select from first) as known,
      (select message_seq from talk) as seq,
      (select coalesce(jsonb_agg(to_jsonb(heads)), '[]') from heads) as heads`;
  if (row === undefined || !row.allowed) return { kind: 'foreign', heads: [] };
  if (row.seq !== null) {
    return { kind: 'posted', seq: row.seq, heads: await settleHeads(sql, row.heads, node ?? '', ref) };
  }
  // On a repeat, the previous attempt may have sent it: the heads that it claimed must still run.
  if (row.known) return { kind: 'known', heads: attempt > 0 ? await claimedHeads(sql, node ?? '', ref) : [] };
  return { kind: 'full', limit, heads: [] };
}

/** The CTEs `bumped` and `queued`; empty for `http`, which has no `out:` lane. */
function queued(sql: Sql, { ref, address, file, folder }: PostCall, content: string) {
  const place = parseAddress(address);
  const message = { ...place, buttons: [] };
  const payload: DeliveryPayload =
    file === undefined
      ? { ref, message: { ...message, content, media: [] } }
      : { ref, message: { ...message, content: '', media: [{ ...file, caption: content }], folder } };
  const lane =
    place.channel === 'http'
      ? sql`(select null as key from talk where false) source`
      : sql`(select ${`out:${address}`} as key from talk) source`;
  return sql`
    bumped as (${bumpLane(sql, lane, ref)}),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, ${ref}, ${cleanJson(payload)}::jsonb from bumped returning *),`;
}
