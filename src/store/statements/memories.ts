/** Facts about users: stored, found by full text, deleted; every statement names the user whose rows it may touch. */
import { StoreError } from '../../protocol/errors.ts';
import { cleanText } from '../../lib/text.ts';
import {
  MAX_MEMORIES,
  MAX_MEMORY_CHARS,
  MAX_UNVERIFIED_MEMORIES,
  MAX_UNVERIFIED_PER_TURN,
  type MemoryRecord,
  type MemoryStore,
  type MemoryVectorStore,
  type NewMemory,
  type Remembered,
} from '../../protocol/store/notes.ts';
import type { Database, Sql } from '../database/database.ts';
import type { AdministrationStore, ListedMemory } from '../../protocol/operator/administration.ts';
import { cleanJson } from '../../lib/json/json.ts';

/** Longest search text, in UTF-16 units; the rest is ignored. */
const MAX_QUERY_CHARS = 500;

/** The `MemoryStore` over a database; `searches` are connections to it for searches alone. */
export function createMemories(database: Database, searches: Database): MemoryStore {
  return {
    async remember(user, fact) {
      const text = cleanText(fact.text);
      if (text.length > MAX_MEMORY_CHARS) {
        throw new StoreError('memory_too_long', `Facts can be at most ${MAX_MEMORY_CHARS} characters long.`);
      }
      const row = { ...fact, text, user: cleanText(user), key: cleanText(fact.key) };
      return await database.run(async (sql) => {
        // Two attempts: if another call stored the same key in the meantime, the second one finds it.
        const remembered = (await remember(sql, row)) ?? (await remember(sql, row));
        if (remembered === undefined) throw notStored(fact.untrusted);
        return remembered;
      });
    },
    searchMemory: (user, query, limit) =>
      searches.rows(
        (sql) => sql<MemoryRecord[]>`
          with ${searchQuery(sql, searchText(query))}
          select ${columns(sql)} from memory, wanted
          where user_id = ${cleanText(user)}
            and (to_tsvector('simple', content) @@ words or strpos(lower(content), lower(${searchText(query)})) > 0)
          order by ${match(sql)} desc, memory.id desc limit ${limit}`,
      ),
    recall: (user, text, limit) =>
      database.rows(
        (sql) => sql<MemoryRecord[]>`
          with ${searchQuery(sql, searchText(text))}
          select ${columns(sql)} from memory, wanted
          where user_id = ${cleanText(user)} order by ${match(sql)} desc, memory.id desc limit ${limit}`,
      ),
    memories: (user, limit) =>
      database.rows(
        (sql) => sql<MemoryRecord[]>`
          select ${columns(sql)} from memory where user_id = ${cleanText(user)} order by memory.id desc limit ${limit}`,
      ),
    verifyMemory: (user, id) =>
      database.exists(
        (sql) => sql`
          with verified as (
            update memory set untrusted = false where user_id = ${cleanText(user)} and id = ${id} returning id),
          gone as (
            delete from memory where id in (
              select id from memory where user_id = ${cleanText(user)} and not untrusted and exists (select from verified)
                and id <> ${id} order by id desc offset ${MAX_MEMORIES - 1}))
          select from verified`,
      ),
    deleteMemories: (user, which) =>
      database.count((sql) => {
        const one = which === 'all' ? sql`` : sql`and id = ${which}`;
        return sql`delete from memory where user_id = ${cleanText(user)} ${one} returning id`;
      }),
  };
}

function notStored(untrusted: boolean): StoreError {
  if (!untrusted) return new StoreError('unavailable', 'The fact was not stored.');
  return new StoreError(
    'too_many_memories',
    `Not saved: a turn that has read text from others may save at most ${MAX_UNVERIFIED_PER_TURN} facts.`,
  );
}

/** One statement. Undefined if another call stored the same key at this moment, or its turn has saved too many. */
async function remember(sql: Sql, fact: NewMemory & { user: string }): Promise<Remembered | undefined> {
  const { user, key, text, session, untrusted } = fact;
  const turn = key.slice(0, key.indexOf('/') + 1) || key;
  const limit = untrusted ? MAX_UNVERIFIED_MEMORIES : MAX_MEMORIES;
  const room = untrusted
    ? sql`(select count(*) from memory where user_id = ${user} and untrusted and starts_with(key, ${turn})) < ${MAX_UNVERIFIED_PER_TURN}`
    : sql`true`;
  const [row] = await sql<(MemoryRecord & { isNew: boolean; dropped: number })[]>`
    with known as (
      select ${columns(sql)} from memory where user_id = ${user} and (key = ${key} or content = ${text}) order by memory.id limit 1),
    made as (
      insert into memory (user_id, key, content, session, untrusted)
      select ${user}, ${key}, ${text}, ${session}, ${untrusted} where not exists (select 1 from known) and ${room}
      on conflict (user_id, key) do nothing returning ${columns(sql)}),
    gone as (
      delete from memory where id in (
        select id from memory where user_id = ${user} and untrusted = ${untrusted} and exists (select 1 from made)
        order by id desc offset ${limit - 1})
      returning id)
    select made.*, true as "isNew", (select count(*)::int from gone) as dropped from made
    union all select known.*, false, 0 from known`;
  if (row === undefined) return undefined;
  const { isNew, dropped: droppedCount, ...memory } = row;
  return { memory, isNew, dropped: droppedCount };
}

/** CTE `wanted`: any of the words, longer ones also as the beginning of a word; null if there is none. */
function searchQuery(sql: Sql, text: string) {
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

function columns(sql: Sql) {
  return sql`memory.id::float8 as id, content as text, session, untrusted, created_at as "createdAt"`;
}

function searchText(query: string): string {
  return cleanText(query.slice(0, MAX_QUERY_CHARS)).trim();
}

/** The functions of `AdministrationStore` for memories. */
export function createMemoryAdministration(database: Database) {
  return {
    allMemories: ({ userId, before, limit }) =>
      database.rows((sql) => {
        const ofUser = userId === undefined ? sql`true` : sql`user_id = ${cleanText(userId)}`;
        const older = before === undefined ? sql`true` : sql`id < ${before}`;
        return sql<ListedMemory[]>`
          select ${columns(sql)}, user_id as "userId" from memory
          where ${ofUser} and ${older} order by memory.id desc limit ${limit}`;
      }),
    removeMemory: (id) => database.once((sql) => sql`delete from memory where id = ${id} returning id`),
  } satisfies Partial<AdministrationStore>;
}

/**
 * The `MemoryVectorStore` over a database, with vectors as plain bytes. A user has a few hundred facts at most, so an
 * index over vectors would speed up nothing.
 */
export function createMemoryVectors(database: Database): MemoryVectorStore {
  return {
    vectorsOf: (user, model) =>
      database.run(async (sql) => {
        const rows = await sql<(MemoryRecord & { vector: Buffer | null })[]>`
          select ${columns(sql)}, vector from memory
          where user_id = ${cleanText(user)} and vector_model = ${cleanText(model)}`;
        return rows.map(({ vector, ...memory }) => ({ memory, vector: new Int8Array(vector ?? []) }));
      }),
    withoutVector: (model, limit) =>
      database.rows(
        (sql) => sql<{ id: number; text: string }[]>`
          select id::float8 as id, content as text from memory where vector_model is distinct from ${cleanText(model)}
          order by memory.id desc limit ${limit}`,
      ),
    setVectors: (model, vectors) =>
      database.run(async (sql) => {
        const records = cleanJson(
          vectors.map(({ id, vector }) => ({
            id,
            hex: Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('hex'),
          })),
        );
        await sql`
          update memory set vector_model = ${cleanText(model)}, vector = decode(made.hex, 'hex')
          from jsonb_to_recordset(${records}::jsonb) as made(id bigint, hex text) where memory.id = made.id`;
      }),
    dropOtherLengths: (model, length) =>
      database.count(
        (sql) => sql`
          update memory set vector = null, vector_model = null
          where vector_model = ${cleanText(model)} and octet_length(vector) <> ${length} and octet_length(vector) <> 0
          returning id`,
      ),
  };
}
