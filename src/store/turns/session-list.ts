/** Lists of sessions with the marks of each, and the search over titles and messages: one statement each. */
import {
  type FoundSession,
  type ListedSession,
  MAX_MATCHES,
  MAX_PINNED,
  MAX_PREVIEW,
  MAX_SEARCHED_CHARS,
  type SessionListQuery,
  type SessionListStore,
  type SessionState,
  SNIPPET_WORDS,
} from '../../protocol/sessions/session-list.ts';
import { cleanText } from '../../lib/text.ts';
import { type Database, type Sql, withoutNulls } from '../database/database.ts';
import { type SessionJson, sessionOfJson } from '../tables/sessions.ts';
import type { MessageRecord } from '../../protocol/store/records.ts';
import type { SessionKey } from '../../protocol/message.ts';

/** The `SessionListStore` over a database; `searches` are connections to it for searches alone. */
export function createSessionLists(database: Database, searches: Database): SessionListStore {
  return {
    listSessions: (query) => database.run((sql) => list(sql, query)),
    searchSessions: (query) => searches.run((sql) => search(sql, query)),
  };
}

interface ListRow {
  session: SessionJson;
  preview: string | null;
  state: SessionState;
  queued: number;
  ownerName: string | null;
}

/** The list is read by index; the marks are looked up only for the listed sessions. */
async function list(sql: Sql, query: SessionListQuery): Promise<ListedSession[]> {
  const { limit, ownerTokenId, archived = false } = query;
  const ofOwner = ownerTokenId === undefined ? sql`` : sql`and s.owner_token_id = ${ownerTokenId}`;
  const older =
    query.before === undefined ? sql`` : sql`and s.updated_at < ${query.before.toISOString()}::timestamptz`;
  const of = sql`s.archived = ${archived} ${ofOwner}`;
  const pinned = query.before === undefined && !archived ? MAX_PINNED : 0;
  const rows = await sql<ListRow[]>`
    with pinned as (
      select s.* from session s where s.pinned and ${of} order by s.updated_at desc, s.key limit ${pinned}),
    newest as (
      select s.* from session s where ${of} ${older} ${archived ? sql`` : sql`and not s.pinned`}
      order by s.updated_at desc, s.key limit ${limit}),
    listed as (select * from pinned union all select * from newest)
    select to_jsonb(s) as session, left(first.content, ${MAX_PREVIEW}) as preview, token.name as "ownerName",
      case when waits.id is not null then 'waiting' when lane.tail > lane.head then 'running' else 'idle' end as state,
      greatest(coalesce(lane.tail - lane.head - 1, 0), 0)::int as queued
    from listed s
      left join lane on lane.key = 'in:' || s.key
      left join token on token.id = s.owner_token_id
      left join lateral (
        select content from message m where m.session = s.key order by m.seq limit 1) first on true
      left join lateral (
        select id from approval a where a.lane = 'in:' || s.key and a.state = 'pending' and a.expires_at > now() and not a.detail ? 'question'
        limit 1) waits on true
    order by (s.pinned and not s.archived) desc, s.updated_at desc, s.key`;
  return rows.map(({ session, preview, state, queued, ownerName }) => {
    const record = sessionOfJson(session);
    const marks = { preview: preview ?? '', state, queued, ownerName: ownerName ?? undefined };
    return { ...record, ...marks, unread: Math.max(0, record.messageCount - record.readSeq) };
  });
}

interface FoundRow {
  key: SessionKey;
  title?: string;
  preview?: string;
  ownerName?: string;
  updatedAt: Date;
  seq?: number;
  role: MessageRecord['role'];
  createdAt: Date;
  snippet?: string;
  matched: number;
}

/** Characters of a message that are read for what is shown of it: so many before the first word found, and in all. */
const READ_BEFORE = 2_000;
const READ_AROUND = 8_000;

/**
 * Messages are found by the full-text index alone: their texts would have to be split into words again. The newest match
 * of each session is shown, and only what is shown is read.
 */
async function search(
  sql: Sql,
  { text, limit, ownerTokenId }: Parameters<SessionListStore['searchSessions']>[0],
): Promise<{ found: FoundSession[]; more: boolean }> {
  const words = cleanText(text).slice(0, MAX_SEARCHED_CHARS).trim();
  const ofOwner = ownerTokenId === undefined ? sql`` : sql`and s.owner_token_id = ${ownerTokenId}`;
  const rows = await sql<FoundRow[]>`
    with wanted as (select websearch_to_tsquery('simple', ${words}) as words),
    hits as materialized (
      select session, seq, created_at from message
      where to_tsvector('simple', content) @@ websearch_to_tsquery('simple', ${words})),
    matches as (
      select hits.* from hits join session s on s.key = hits.session ${ofOwner} limit ${MAX_MATCHES + 1}),
    newest as (
      select distinct on (session) * from matches order by session, created_at desc, seq desc),
    titled as (
      select s.key from session s where strpos(lower(s.title), lower(${words})) > 0 ${ofOwner}
      order by s.updated_at desc limit ${limit + 1}),
    keys as (select session as key from newest union select key from titled),
    listed as (
      select s.key, s.title, s.updated_at, s.owner_token_id, newest.seq, newest.created_at
      from keys join session s on s.key = keys.key left join newest on newest.session = s.key
      order by coalesce(newest.created_at, s.updated_at) desc, s.key limit ${limit + 1})
    select l.key, l.title, l.updated_at as "updatedAt", token.name as "ownerName",
      (select left(content, ${MAX_PREVIEW}) from message m where m.session = l.key order by m.seq limit 1) as preview,
      l.seq, m.role, l.created_at as "createdAt",
      ts_headline('simple',
        substr(m.content, greatest(1, regexp_instr(m.content, ${anyWordOf(words)}, 1, 1, 0, 'i') - ${READ_BEFORE}), ${READ_AROUND}),
        wanted.words, ${`StartSel="", StopSel="", MinWords=8, MaxWords=${SNIPPET_WORDS}`}) as snippet,
      (select count(*)::int from matches) as matched
    from listed l cross join wanted left join message m on m.session = l.key and m.seq = l.seq
      left join token on token.id = l.owner_token_id
    order by coalesce(l.created_at, l.updated_at) desc, l.key`;
  const more = rows.length > limit || (rows[0]?.matched ?? 0) > MAX_MATCHES;
  return { found: withoutNulls(rows).slice(0, limit).map(toFound), more };
}

/** A regular expression for a word that a search may find. It has only letters and digits of the search. */
function anyWordOf(search: string): string {
  const words = [...search.matchAll(/(?<![-\p{L}\p{N}])[\p{L}\p{N}]+/gu)].map(([word]) => word);
  return `\\m(${words.filter((word) => word.toLowerCase() !== 'or').join('|')})\\M`;
}

function toFound({ key, title, preview, ownerName, updatedAt, ...row }: FoundRow): FoundSession {
  const { seq, role, createdAt, snippet = '' } = row;
  const match = seq === undefined ? undefined : { seq, role, createdAt, snippet };
  return { key, title: title ?? preview ?? key, ownerName, updatedAt, match };
}
