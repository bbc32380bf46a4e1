/** Facts about users: stored, found by full text, deleted; every statement names the user whose rows it may touch. */
import { StoreError } from '../../../protocol/errors.ts';
import { cleanText } from '../../../lib/text.ts';
import {
  MAX_MEMORIES,
  MAX_MEMORY_CHARS,
  MAX_UNVERIFIED_MEMORIES,
  MAX_UNVERIFIED_PER_TURN,
  type MemoryRecord,
  type MemoryStore,
  type NewMemory,
  type Remembered,
} from '../../../protocol/store/notes.ts';
import type { Database, Sql } from '../../database/database.ts';
import { asSessionKey } from '../session-rows.ts';

/** Longest search text, in UTF-16 units; the rest is ignored. */
const MAX_QUERY_CHARS = 500;

/** A fact as `columns` reads it. */
export interface MemoryRow {
  id: string;
  content: string;
  session: string;
  untrusted: boolean;
  created_at: Date | string;
}

/** The `MemoryStore` over a database. */
export function createMemories(database: Database): MemoryStore {
  return {
    async remember(user, fact) {
      const text = cleanText(fact.text);
      if (text.length > MAX_MEMORY_CHARS) {
        throw new StoreError('memory_too_long', `A fact has at most ${MAX_MEMORY_CHARS} characters.`);
      }
      const row = { ...fact, text, user: cleanText(user), key: cleanText(fact.key) };
      return await database.run(async (sql) => {
        // Two attempts: if another call stored the same key in the meantime, the second one finds it.
        const kept = (await remember(sql, row)) ?? (await remember(sql, row));
        if (kept === undefined) throw notStored(fact.untrusted);
        return kept;
      });
    },
    searchMemory: (user, query, limit) =>
      database.run(async (sql) => {
        const words = searched(query);
        const rows = await sql<MemoryRow[]>`
          with ${wanted(sql, words)}
          select ${columns(sql)} from memory, wanted
          where user_id = ${cleanText(user)}
            and (to_tsvector('simple', content) @@ words or strpos(lower(content), lower(${words})) > 0)
          order by ${match(sql)} desc, id desc limit ${limit}`;
        return rows.map(toMemory);
      }),
    recall: (user, said, limit) =>
      database.run(async (sql) => {
        const rows = await sql<MemoryRow[]>`
          with ${wanted(sql, searched(said))}
          select ${columns(sql)} from memory, wanted
          where user_id = ${cleanText(user)} order by ${match(sql)} desc, id desc limit ${limit}`;
        return rows.map(toMemory);
      }),
    memories: (user, limit) =>
      database.run(async (sql) => {
        const rows = await sql<MemoryRow[]>`
          select ${columns(sql)} from memory where user_id = ${cleanText(user)} order by id desc limit ${limit}`;
        return rows.map(toMemory);
      }),
    verifyMemory: (user, id) =>
      database.run(async (sql) => {
        const own = cleanText(user);
        const rows = await sql`
          with verified as (
            update memory set untrusted = false where user_id = ${own} and id = ${id} returning id),
          gone as (
            delete from memory where id in (
              select id from memory where user_id = ${own} and not untrusted and exists (select from verified)
                and id <> ${id} order by id desc offset ${MAX_MEMORIES - 1}))
          select from verified`;
        return rows.length > 0;
      }),
    deleteMemories: (user, which) =>
      database.run(async (sql) => {
        const one = which === 'all' ? sql`` : sql`and id = ${which}`;
        return (await sql`delete from memory where user_id = ${cleanText(user)} ${one} returning id`).length;
      }),
  };
}

interface Fact extends NewMemory {
  user: string;
}

function notStored(untrusted: boolean): StoreError {
  if (!untrusted) return new StoreError('unavailable', 'The fact was not stored.');
  return new StoreError(
    'too_many_memories',
    `Not saved: after text from others was read, a turn saves at most ${MAX_UNVERIFIED_PER_TURN} facts.`,
  );
}

/** One statement. Undefined if another call stored the same key at this moment, or its turn has saved too many. */
async function remember(sql: Sql, fact: Fact): Promise<Remembered | undefined> {
  const { user, key, text, session, untrusted } = fact;
  const turn = key.slice(0, key.indexOf('/') + 1) || key;
  const kept = untrusted ? MAX_UNVERIFIED_MEMORIES : MAX_MEMORIES;
  const room = untrusted
    ? sql`(select count(*) from memory where user_id = ${user} and untrusted and starts_with(key, ${turn})) < ${MAX_UNVERIFIED_PER_TURN}`
    : sql`true`;
  const [row] = await sql<(MemoryRow & { is_new: boolean; dropped: number })[]>`
    with known as (
      select ${columns(sql)} from memory where user_id = ${user} and (key = ${key} or content = ${text}) order by id limit 1),
    made as (
      insert into memory (user_id, key, content, session, untrusted)
      select ${user}, ${key}, ${text}, ${session}, ${untrusted} where not exists (select 1 from known) and ${room}
      on conflict (user_id, key) do nothing returning ${columns(sql)}),
    gone as (
      delete from memory where id in (
        select id from memory where user_id = ${user} and untrusted = ${untrusted} and exists (select 1 from made)
        order by id desc offset ${kept - 1})
      returning id)
    select made.*, true as is_new, (select count(*)::int from gone) as dropped from made
    union all select known.*, false, 0 from known`;
  return row === undefined ? undefined : { memory: toMemory(row), isNew: row.is_new, dropped: row.dropped };
}

/** CTE `wanted`: any of the words, longer ones also as the beginning of a word; null if there is none. */
function wanted(sql: Sql, text: string) {
  return sql`wanted as (
    select string_agg(
      '''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''' || case when length(lexeme) > 2 then ':*' else '' end,
      ' | ')::tsquery as words
    from unnest(to_tsvector('simple', ${text}::text)))`;
}

/** How well a row matches; 0 if it does not. */
function match(sql: Sql) {
  return sql`coalesce(ts_rank(to_tsvector('simple', content), words), 0)`;
}

export function columns(sql: Sql) {
  return sql`id, content, session, untrusted, created_at`;
}

function searched(query: string): string {
  return cleanText(query.slice(0, MAX_QUERY_CHARS)).trim();
}

export function toMemory(row: MemoryRow): MemoryRecord {
  const { id, content, session, untrusted, created_at: createdAt } = row;
  return {
    id: Number(id),
    text: content,
    session: asSessionKey(session),
    untrusted,
    createdAt: new Date(createdAt),
  };
}
