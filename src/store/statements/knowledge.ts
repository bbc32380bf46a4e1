/** Sources of documents and the documents: who reads them next, what was read, and what is no longer there. */
import {
  type ClaimedSource,
  type KnowledgeDocument,
  type KnowledgeScope,
  type KnowledgeSource,
  type KnowledgeStore,
  MAX_SCOPE_DOCUMENTS,
  type NewPassage,
  type ReadDocument,
} from '../../protocol/knowledge.ts';
import { newId } from '../../lib/ids.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';
import { searchedWords } from './passages.ts';

/** Passages in one statement. */
const BATCH = 200;

/** The `KnowledgeStore` over a database. */
export function createKnowledge(database: Database): KnowledgeStore {
  return { ...sourcesIn(database), ...claimsIn(database), ...documentsIn(database) };
}

function sourcesIn(database: Database) {
  return {
    addSource: ({ scope, kind, location, instance, upload }) =>
      database.run(async (sql) => {
        const bytes = upload === undefined ? null : Buffer.from(upload);
        const [row] = await sql<{ id: string }[]>`
          insert into knowledge_source (id, scope, kind, location, instance, upload, next_at)
          values (${newId()}, ${cleanText(scope)}, ${kind}, ${cleanText(location)}, ${instance ?? null}, ${bytes}, now())
          on conflict (scope, location) do update set
            kind = excluded.kind, instance = excluded.instance, upload = excluded.upload, next_at = now(),
            problem = null, notice = null
          returning id`;
        if (row === undefined) throw new Error('An insert returned no row.');
        return row.id;
      }),
    sources: (scope) =>
      database.rows((sql) => {
        const condition = scope === undefined ? sql`true` : sql`s.scope = ${cleanText(scope)}`;
        return sql<KnowledgeSource[]>`
          select s.id, s.scope, s.kind, s.location, s.instance, s.problem, s.notice, s.total,
            s.created_at as "createdAt", s.checked_at as "checkedAt",
            case when s.lease_until > now() then 'reading' when s.problem is not null then 'failed'
              when s.checked_at is null or s.upload is not null then 'waiting' else 'ready' end as state,
            coalesce(d.documents, 0)::int as documents, coalesce(d.failed, 0)::int as failed,
            coalesce(d.passages, 0)::int as passages, coalesce(d.vectors, 0)::int as vectors
          from knowledge_source s left join lateral (
            select count(distinct k.id) as documents, count(distinct k.id) filter (where k.problem is not null) as failed,
              count(p.id) as passages, count(p.vector_model) as vectors
            from knowledge_document k left join knowledge_passage p on p.document_id = k.id where k.source_id = s.id) d on true
          where ${condition} order by s.scope, s.location`;
      }),
    removeSource: (id) => database.once((sql) => removeSources(sql, sql`id = ${id}`)),
    refreshSources: (id) =>
      database.count((sql) => {
        const condition = id === undefined ? sql`kind <> 'upload'` : sql`id = ${id} and kind <> 'upload'`;
        return sql`update knowledge_source set next_at = now() where ${condition} returning id`;
      }),
    async scopes() {
      const rows = await database.rows(
        (sql) => sql<{ scope: KnowledgeScope }[]>`select distinct scope from knowledge_source`,
      );
      return rows.map(({ scope }) => scope);
    },
  } satisfies Partial<KnowledgeStore>;
}

/** Deletes the sources that a condition names, with their documents and passages. */
export function removeSources(sql: Sql, which: Fragment) {
  return sql<{ id: string }[]>`
    with gone as (delete from knowledge_source where ${which} returning id),
    documents as (delete from knowledge_document where source_id in (select id from gone) returning id),
    passages as (delete from knowledge_passage where document_id in (select id from documents))
    select id from gone`;
}

function claimsIn(database: Database) {
  return {
    claimSource: (by, instance, leaseMs, ids) =>
      database.row((sql) => {
        const condition = ids === undefined ? sql`true` : sql`id in ${sql(ids)}`;
        return sql<ClaimedSource[]>`
          update knowledge_source set next_at = null, lease_by = ${by}, lease_until = now() + ${leaseMs}::float8 * interval '1 millisecond'
          where id = (
            select id from knowledge_source
            where (next_at <= now() or lease_by is not null) and coalesce(lease_until, now()) <= now() and ${condition}
              and (instance is null or instance = ${instance})
            order by next_at nulls first limit 1 for update skip locked)
          returning id, scope, kind, location`;
      }),
    holdSource: (id, by, leaseMs, total) =>
      database.exists(
        (sql) => sql`
          update knowledge_source set lease_until = now() + ${leaseMs}::float8 * interval '1 millisecond',
            total = coalesce(${total ?? null}::int, total)
          where id = ${id} and lease_by = ${by} returning id`,
      ),
    finishSource: (id, by, { problem, notice, nextMs }) =>
      database.write(
        (sql) => sql`
          update knowledge_source set lease_by = null, lease_until = null, checked_at = now(),
            upload = case when next_at is null then null else upload end,
            problem = ${clean(problem)}, notice = ${clean(notice)},
            next_at = coalesce(next_at, now() + ${nextMs ?? null}::float8 * interval '1 millisecond')
          where id = ${id} and lease_by = ${by}`,
      ),
  } satisfies Partial<KnowledgeStore>;
}

function clean(text: string | undefined): string | null {
  return text === undefined ? null : cleanText(text);
}

function documentsIn(database: Database) {
  return {
    documents: (sourceId) =>
      database.rows(
        (sql) => sql<KnowledgeDocument[]>`
          select d.id, d.name, d.title, d.version, d.bytes::float8 as bytes, d.problem, d.notice,
            d.updated_at as "updatedAt",
            (select count(*)::int from knowledge_passage p where p.document_id = d.id) as passages
          from knowledge_document d where d.source_id = ${sourceId}
          order by d.problem is null, d.name limit ${MAX_SCOPE_DOCUMENTS}`,
      ),
    async documentMarks(sourceId) {
      const rows = await database.rows(
        (sql) => sql<{ name: string; mark?: string; version: string; failed: boolean }[]>`
          select name, mark, version, problem is not null as failed from knowledge_document where source_id = ${sourceId}`,
      );
      return new Map(rows.map(({ name, ...about }) => [name, about]));
    },
    async uploadOf(sourceId) {
      const row = await database.row(
        (sql) => sql<{ upload?: Buffer }[]>`select upload from knowledge_source where id = ${sourceId}`,
      );
      return row?.upload;
    },
    saveDocument: (sourceId, document) => database.transaction((sql) => save(sql, sourceId, document)),
    markDocument: (sourceId, name, mark) =>
      database.write(
        (sql) => sql`
          update knowledge_document set mark = ${clean(mark)} where source_id = ${sourceId} and name = ${cleanText(name)}`,
      ),
    keepDocuments: (sourceId, names) =>
      database.count(
        (sql) => sql`
          with gone as (
            delete from knowledge_document where source_id = ${sourceId}
              and not (name = any (select jsonb_array_elements_text(${cleanJson(names)}::jsonb))) returning id),
          passages as (delete from knowledge_passage where document_id in (select id from gone))
          select id from gone`,
      ),
    passages: (documentId) =>
      database.run(async (sql) => {
        const rows = await sql<(NewPassage & { position: number })[]>`
          select position, hash, place, context, content from knowledge_passage
          where document_id = ${documentId} order by position`;
        if (rows.length > 0) return [...rows];
        const [document] = await sql`select from knowledge_document where id = ${documentId}`;
        return document === undefined ? undefined : [];
      }),
  } satisfies Partial<KnowledgeStore>;
}

async function save(sql: Sql, sourceId: string, document: ReadDocument): Promise<boolean> {
  const { name, title, version, mark, bytes, problem, notice, passages } = document;
  const [saved] = await sql<{ id: string; scope: string }[]>`
    insert into knowledge_document (id, source_id, scope, name, title, version, mark, bytes, problem, notice)
    select ${newId()}, s.id, s.scope, ${cleanText(name)}, ${cleanText(title)}, ${version}, ${clean(mark)}, ${bytes},
      ${clean(problem)}, ${clean(notice)}
    from (select id, scope from knowledge_source where id = ${sourceId} for share) s
    where exists (select from knowledge_document where source_id = ${sourceId} and name = ${cleanText(name)})
      or (select count(*) from knowledge_document d where d.scope = s.scope) < ${MAX_SCOPE_DOCUMENTS}
    on conflict (source_id, name) do update set title = excluded.title, version = excluded.version,
      mark = excluded.mark, bytes = excluded.bytes, problem = excluded.problem, notice = excluded.notice, updated_at = now()
    returning id, scope`;
  if (saved === undefined) return false;
  await replacePassages(sql, saved, passages);
  return true;
}

/** Keeps the rows whose text is unchanged. */
async function replacePassages(
  sql: Sql,
  { id, scope }: { id: string; scope: string },
  passages: readonly NewPassage[],
): Promise<void> {
  const existing = await sql<{ id: number; hash: string }[]>`
    select id::float8 as id, hash from knowledge_passage where document_id = ${id} order by position`;
  const byHash = new Map<string, number[]>();
  for (const row of existing) byHash.set(row.hash, [...(byHash.get(row.hash) ?? []), row.id]);
  const same: { id: number; position: number; place: unknown }[] = [];
  const fresh: object[] = [];
  for (const [position, { hash, place, context, content }] of passages.entries()) {
    const rowId = byHash.get(hash)?.shift();
    const words = searchedWords(`${context}\n${content}`);
    if (rowId === undefined) fresh.push({ position, hash, place, context, content, words });
    else same.push({ id: rowId, position, place });
  }
  const surplus = [...byHash.values()].flat();
  if (surplus.length > 0) await sql`delete from knowledge_passage where id in ${sql(surplus)}`;
  for (let at = 0; at < same.length; at += BATCH)
    await sql`
      update knowledge_passage p set position = m.position, place = m.place
      from jsonb_to_recordset(${cleanJson(same.slice(at, at + BATCH))}::jsonb) as m(id bigint, position int, place jsonb)
      where p.id = m.id and (p.position, p.place) is distinct from (m.position, m.place)`;
  for (let at = 0; at < fresh.length; at += BATCH)
    await sql`
      insert into knowledge_passage (document_id, scope, position, hash, place, context, content, words)
      select ${id}, ${scope}, position, hash, place, context, content, to_tsvector('simple', words)
      from jsonb_to_recordset(${cleanJson(fresh.slice(at, at + BATCH))}::jsonb)
        as m(position int, hash text, place jsonb, context text, content text, words text)`;
}
