/** Copies a session up to one of its messages, in one transaction behind a lock of its lane. */
import {
  type Fork,
  type ForkRequest,
  type ForkStore,
  MAX_FORKED_TURNS,
} from '../../protocol/sessions/conversation-api.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';
import { recap, summariesOf } from '../lanes/contexts.ts';
import { lockLane } from '../lanes/stop.ts';
import { asSessionKey, type SessionJson, sessionOfJson } from '../tables/sessions.ts';

/** The `ForkStore` over a database. */
export function createForks(database: Database): ForkStore {
  return {
    fork: (request) => database.transaction((sql) => fork(sql, request)),
    discardFolder: (folder) =>
      database.write(
        (sql) => sql`
          with noted as (insert into removed_folder (folder) values (${folder}) on conflict do nothing),
          versions as (delete from session_folder where folder = ${folder})
          delete from session_file where folder = ${folder}`,
      ),
  };
}

/** Turns of the source to copy: those at `first` to `last` of its lane. */
interface Span {
  first: number;
  last: number;
  /** Number of older turns that are not copied. */
  leftBehind: number;
}

async function fork(sql: Sql, request: ForkRequest): Promise<Fork | undefined> {
  const key = asSessionKey(cleanText(request.key));
  const source = asSessionKey(cleanText(request.source));
  const copy = await readSession(sql, key);
  // A commit whose answer was lost.
  if (copy !== undefined)
    return { session: copy, messages: copy.messageCount, leftBehind: await older(sql, source, key) };
  await lockLane(sql, `in:${source}`);
  const [talk] = await sql<{ count: number }[]>`
    select message_seq as count from session where key = ${source} for share`;
  if (talk === undefined || request.seq > talk.count) return undefined;
  const span = await spanOf(sql, source, request);
  await copySession(sql, { ...request, key, source }, span);
  await copyTurns(sql, source, key, span);
  await sql`
    insert into kept_file (folder, path, user_id, bytes, kept_at)
    select ${request.folder}, path, ${cleanText(request.userId)}, bytes, kept_at from kept_file
    where folder = (select folder from session where key = ${source})`;
  await copyContext(sql, source, key, request.folder, span);
  await copyResets(sql, source, key);
  await copyCitations(sql, source, key);
  const session = await readSession(sql, key);
  return session && { session, messages: session.messageCount, leftBehind: span.leftBehind };
}

async function readSession(sql: Sql, key: string) {
  const [row] = await sql<
    { json: SessionJson }[]
  >`select to_jsonb(session) as json from session where key = ${key}`;
  return row && sessionOfJson(row.json);
}

/** Turns of the source before the first one that the fork has. */
async function older(sql: Sql, source: string, key: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from turn
    where session = ${source} and lane_seq < (select min(lane_seq) from turn where session = ${key})`;
  return row?.count ?? 0;
}

/** The turn behind a row of `message`: a message sent in the middle of a turn has its own name after a dot. */
function turnOf(sql: Sql) {
  return sql`split_part(turn_id, '.', 1)`;
}

/** The newest turns before the first that is unfinished, has a message after `seq`, or is the one to fork before. */
async function spanOf(sql: Sql, source: string, { seq, before = false }: ForkRequest): Promise<Span> {
  const behind = before ? sql`seq = ${seq}` : sql`seq > ${seq}`;
  const [row] = await sql<{ first: number | null; last: number | null; count: number }[]>`
    with open as (
      select min(lane_seq) as at from turn where session = ${source} and lane_seq > 0 and (state <> 'done' or id in (
        select ${turnOf(sql)} from message where session = ${source} and ${behind}))),
    whole as (
      select turn.lane_seq from turn, open
      where session = ${source} and lane_seq > 0 and (open.at is null or turn.lane_seq < open.at)),
    newest as (select lane_seq from whole order by lane_seq desc limit ${MAX_FORKED_TURNS})
    select min(lane_seq) as first, max(lane_seq) as last, (select count(*)::int from whole) as count from newest`;
  const { first, last, count = 0 } = row ?? {};
  return { first: first ?? 1, last: last ?? 0, leftBehind: Math.max(0, count - MAX_FORKED_TURNS) };
}

/**
 * The fork inherits the source's sources. If `/new` came after the fork's message, the fork remembers all rows that it
 * copies, and has their sources.
 */
async function copySession(sql: Sql, request: ForkRequest, { first, last }: Span): Promise<void> {
  const { source, key, folder, ownerTokenId, title } = request;
  const isRenewed = sql`fresh_seq >= ${last}`;
  await sql`
    insert into session (key, owner_token_id, title, folder, profile_id, profile_chosen, model, mode, queue_mode,
      fresh_seq, fresh_at, sources)
    select ${key}, ${cleanText(ownerTokenId)}, ${title === undefined ? null : cleanText(title)}, ${folder},
      profile_id, profile_chosen, model, mode, queue_mode,
      case when ${isRenewed} then 0 else fresh_seq end, case when ${isRenewed} then null else fresh_at end,
      case when ${isRenewed} then (
        select coalesce(jsonb_agg(distinct source), '[]')
        from context c, jsonb_array_elements_text(coalesce(c.payload -> 'sources', '[]')) source
        where c.session = ${source} and c.lane_seq between ${first} and ${last}) else sources end
    from session where key = ${source}`;
  await sql`insert into lane (key, head, tail) values (${`in:${key}`}, ${last}, ${last})`;
}

/** The id of a copied turn: the same in every statement. */
function copiedId(sql: Sql, key: string, id: Fragment) {
  return sql`md5(${`${key} `} || ${id})`;
}

/** Messages are numbered from 1 again. */
async function copyTurns(sql: Sql, source: string, key: string, { first, last }: Span): Promise<void> {
  const turn = turnOf(sql);
  await sql`
    with spanned as (select id from turn where session = ${source} and lane_seq between ${first} and ${last}),
    numbered as (
      select row_number() over (order by m.seq)::int as place, m.* from message m
      where m.session = ${source} and ${turn} in (select id from spanned)),
    copied as (
      insert into message (session, seq, turn_id, role, content, sender_name, is_plan, is_error, attachments, created_at)
      select ${key}, place, ${copiedId(sql, key, turn)} || substr(turn_id, length(${turn}) + 1), role, content,
        sender_name, is_plan, is_error, attachments, created_at from numbered),
    turns as (
      insert into turn (id, session, address, lane_seq, state, reason, failure, user_seq, final_seq, retry_of, left_out,
        created_at, ended_at)
      select ${copiedId(sql, key, sql`t.id`)}, ${key}, ${key}, t.lane_seq, t.state, t.reason, t.failure,
        coalesce((select max(place) from numbered n where n.seq <= t.user_seq), 0),
        (select place from numbered n where n.seq = t.final_seq),
        case when t.retry_of is not null then ${copiedId(sql, key, sql`t.retry_of`)} end, t.left_out,
        t.created_at, t.ended_at
      from turn t where t.id in (select id from spanned))
    update session set message_seq = n, read_seq = n
    from (select count(*)::int as n from numbered) counted where key = ${key}`;
}

/** All rows of the turns, because people look at that work. What a later summary covers is read again. */
async function copyContext(
  sql: Sql,
  source: string,
  key: string,
  folder: string,
  { first, last }: Span,
): Promise<void> {
  const payload = sql`
    case when c.payload ? 'pictures' then jsonb_set(c.payload, '{pictures}', (
      select jsonb_agg(${folder} || substr(ref, strpos(ref, '/')) order by nth)
      from jsonb_array_elements_text(c.payload -> 'pictures') with ordinality as pictures(ref, nth)))
    else c.payload end`;
  await sql`
    with ${recap(sql, { session: sql`${source}` }, sql`${last + 1}`, sql`c.seq, c.payload, c.tokens`)},
    summary as (
      insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
      select ${key}, lane_seq, ${summariesOf(key)}, lane_seq, 'summary', 0, payload, tokens from recap
      returning seq, lane_seq)
    insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens, summarized_by)
    select ${key}, c.lane_seq, ${copiedId(sql, key, sql`c.turn_id`)}, c.iteration, c.kind, c.part, ${payload}, c.tokens,
      case when c.summarized_by = 0 then 0 else (select seq from summary where c.lane_seq <= summary.lane_seq) end
    from context c
    where c.session = ${source} and c.lane_seq between ${first} and ${last} and c.kind not in ('summary', 'reset')
    order by c.seq`;
}

/** What its answers cite, under the same numbers. */
async function copyCitations(sql: Sql, source: string, key: string): Promise<void> {
  await sql`
    insert into knowledge_citation (session, number, turn_id, document_id, version, hash, title, place, content, created_at)
    select ${key}, number, ${copiedId(sql, key, sql`c.turn_id`)}, document_id, version, hash, title, place, content, c.created_at
    from knowledge_citation c join turn t on t.id = ${copiedId(sql, key, sql`c.turn_id`)} where c.session = ${source}`;
}

/** Where `/new` began a new conversation, as far as the fork's model does not read what was before; by the fork's numbers. */
async function copyResets(sql: Sql, source: string, key: string): Promise<void> {
  await sql`
    insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens, summarized_by)
    select ${key}, c.lane_seq, ${summariesOf(key)}, c.iteration, c.kind, c.part,
      jsonb_set(c.payload, '{after}', to_jsonb(copied.count)), c.tokens, c.summarized_by
    from context c join session made on made.key = ${key} and c.iteration <= made.fresh_seq, lateral (
      select count(*)::int as count from message m join turn t on t.id = split_part(m.turn_id, '.', 1)
      where m.session = ${key} and t.lane_seq <= c.iteration) copied
    where c.turn_id = ${summariesOf(source)} and c.kind = 'reset' and copied.count > 0`;
}
