/** Passages of documents: found by words and by meaning, and numbered for the answers that cite them. */
import type {
  Citation,
  CitationStore,
  FoundPassage,
  KnowledgeScope,
  OpenedCitation,
  PassagePlace,
  PassageStore,
} from '../../protocol/knowledge.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';

/** Longest part of a query that is searched by words, in UTF-16 units. */
const MAX_QUERY_CHARS = 500;
/** Words of a query that are looked up: the longest, which are seldom "what" and "is". */
const MAX_TERMS = 16;
/** Passages that tell how rare a word is, and the share of them that makes a word frequent. */
const SAMPLED_PASSAGES = 1_000;
const FREQUENT_SHARE = 0.3;
/** How much more a word counts that matches whole, and not only as the beginning of another. */
const WHOLE_WORD = 1.5;
/** Passages before and after a cited one. */
const AROUND = 5;

/** Scripts without spaces between words: they are searched by pairs of characters. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]{2,}/gu;

/** A text as its words are indexed and searched. */
export function searchedWords(text: string): string {
  return cleanText(text).replaceAll(UNSPACED, (run) => {
    const characters = Array.from(run);
    const pairs = characters.slice(0, -1).map((character, at) => character + characters[at + 1]);
    return ` ${pairs.join(' ')} `;
  });
}

/** The `PassageStore` over a database; `searches` are connections for searches alone. */
export function createPassages(database: Database, searches: Database): PassageStore {
  return {
    byWords: (scopes, query, limit) => searches.rows((sql) => byWords(sql, scopes, query, limit)),
    vectorsOf: (scopes, model, { after: start, limit }) =>
      searches.run(async (sql) => {
        const rows = await sql<{ id: number; vector: Buffer | null }[]>`
          select id::float8 as id, vector from knowledge_passage
          where scope in ${sql(scopes)} and vector_model = ${cleanText(model)} and id > ${start} order by id limit ${limit}`;
        return rows.map(({ id, vector }) => ({ id, vector: new Int8Array(vector ?? []) }));
      }),
    async byIds(scopes, ids) {
      if (ids.length === 0) return [];
      const rows = await database.rows(
        (sql) => sql<FoundPassage[]>`
          select ${columns(sql)} from ${tables(sql)} where p.scope in ${sql(scopes)} and p.id in ${sql(ids)}`,
      );
      const byId = new Map(rows.map((row) => [row.id, row]));
      return ids.flatMap((id) => byId.get(id) ?? []);
    },
    async newestPassage() {
      const row = await database.row(
        (sql) =>
          sql<{ id: number }[]>`select id::float8 as id from knowledge_passage order by id desc limit 1`,
      );
      return row?.id;
    },
    async vectorModel() {
      const row = await database.row(
        (sql) => sql<{ model: string }[]>`
          select vector_model as model from knowledge_passage where vector_model is not null order by id desc limit 1`,
      );
      return row?.model;
    },
    withoutVector: (model, limit) =>
      database.rows(
        (sql) => sql<{ id: number; text: string }[]>`
          select id::float8 as id, context || E'\n' || content as text from knowledge_passage
          where vector_model is distinct from ${cleanText(model)} order by id limit ${limit}`,
      ),
    setVectors: (model, vectors) =>
      database.write((sql) => {
        const records = cleanJson(
          vectors.map(({ id, vector }) => ({
            id,
            hex: Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('hex'),
          })),
        );
        return sql`
          update knowledge_passage p set vector_model = ${cleanText(model)}, vector = decode(m.hex, 'hex')
          from jsonb_to_recordset(${records}::jsonb) as m(id bigint, hex text) where p.id = m.id`;
      }),
    dropOtherLengths: (model, length) =>
      database.count(
        (sql) => sql`
          update knowledge_passage set vector = null, vector_model = null
          where vector_model = ${cleanText(model)} and octet_length(vector) <> ${length} and octet_length(vector) <> 0
          returning id`,
      ),
  };
}

/**
 * Each word counts by its rarity (inverse document frequency), which a sample of the passages tells; those that most
 * passages have are looked up only when there are no others. Longer words also match as the beginning of others, without
 * their own ending.
 */
function byWords(sql: Sql, scopes: readonly KnowledgeScope[], query: string, limit: number) {
  const text = searchedWords(query.slice(0, MAX_QUERY_CHARS)).trim();
  return sql<FoundPassage[]>`
    with term as (
      select lexeme, case when length(lexeme) > 6 then left(lexeme, -2) when length(lexeme) > 4 then left(lexeme, -1)
        else lexeme end as stem, case when length(lexeme) > 2 then ':*' else '' end as ending
      from (select distinct lexeme from unnest(to_tsvector('simple', ${text}::text))) word
      order by length(lexeme) desc, lexeme limit ${MAX_TERMS}),
    query as (
      select ${quotedTerm(sql, sql`lexeme`)}::tsquery as whole, (${quotedTerm(sql, sql`stem`)} || ending)::tsquery as start
      from term),
    sample as materialized (
      select words from knowledge_passage where scope in ${sql(scopes)} limit ${SAMPLED_PASSAGES}),
    frequency as (
      select whole, start, (select count(*) from sample where words @@ start) / greatest((select count(*) from sample), 1)::float8 as share
      from query),
    chosen as materialized (
      select whole, start, ln(1 + 1 / (share + ${1 / SAMPLED_PASSAGES}::float8)) as weight from frequency
      where share <= greatest(${FREQUENT_SHARE}::float8, (select min(share) from frequency where share > 0))),
    match as materialized (
      select id, words from knowledge_passage
      where scope in ${sql(scopes)} and words @@ (select string_agg(start::text, ' | ')::tsquery from chosen)),
    ranked as (
      select id, sum(weight * case when words @@ whole then ${WHOLE_WORD}::float8 else 1 end) as score
      from match join chosen on words @@ start group by id order by 2 desc, 1 limit ${limit})
    select ${columns(sql)} from ranked join ${tables(sql)} on p.id = ranked.id order by ranked.score desc, p.id`;
}

/** An SQL expression: a lexeme as `tsquery` reads it. */
function quotedTerm(sql: Sql, lexeme: Fragment) {
  return sql`('''' || replace(replace(${lexeme}, '\\', '\\\\'), '''', '''''') || '''')`;
}

function columns(sql: Sql) {
  return sql`p.id::float8 as id, d.id as "documentId", s.id as "sourceId", s.kind, s.location, s.instance, d.name, d.title, d.version,
    p.hash, p.place, p.content`;
}

function tables(sql: Sql) {
  return sql`knowledge_passage p join knowledge_document d on d.id = p.document_id join knowledge_source s on s.id = d.source_id`;
}

/** The `CitationStore` over a database. */
export function createCitations(database: Database): CitationStore {
  return {
    cite: (session, turnId, passages) =>
      database.transaction(async (sql) => {
        // Calls of one session number their passages one after the other.
        await sql`select pg_advisory_xact_lock(hashtext(${`citations ${session}`}))`;
        const records = cleanJson(
          passages.map(({ documentId, version, hash, title, place, content }, nth) => ({
            nth,
            documentId,
            version,
            hash,
            title,
            place,
            content,
          })),
        );
        const rows = await sql<{ number: number }[]>`
          with cited as (
            select * from jsonb_to_recordset(${records}::jsonb) as m(
              nth int, "documentId" text, version text, hash text, title text, place jsonb, content text)),
          known as (
            select cited.nth, c.number from cited join knowledge_citation c on c.session = ${session}
              and c.document_id = cited."documentId" and c.version = cited.version and c.hash = cited.hash),
          fresh as (
            select cited.*, (select coalesce(max(number), 0) from knowledge_citation where session = ${session})
              + row_number() over (order by cited.nth) as number
            from cited where nth not in (select nth from known)),
          added as (
            insert into knowledge_citation (session, number, turn_id, document_id, version, hash, title, place, content)
            select ${session}, number, ${turnId}, "documentId", version, hash, title, place, content from fresh)
          select number::int as number from (select nth, number from known union all select nth, number from fresh) n order by nth`;
        return rows.map(({ number }) => number);
      }),
    citations: (session, numbers) =>
      database.rows((sql) => {
        const condition =
          numbers === undefined
            ? sql`true`
            : numbers.length === 0
              ? sql`false`
              : sql`number in ${sql(numbers)}`;
        return sql<Citation[]>`
          select number, document_id as "documentId", title, place from knowledge_citation
          where session = ${session} and ${condition} order by number`;
      }),
    openCitation: (session, number) => database.run((sql) => open(sql, session, number)),
  };
}

async function open(sql: Sql, session: string, number: number): Promise<OpenedCitation | undefined> {
  const [cited] = await sql<
    (Citation & {
      content: string;
      hash: string;
      version: string;
      now: string | null;
      kind: string;
      location: string;
    })[]
  >`
    select c.number, c.document_id as "documentId", c.title, c.place, c.content, c.hash, c.version,
      d.version as now, s.kind, s.location
    from knowledge_citation c left join knowledge_document d on d.id = c.document_id
    left join knowledge_source s on s.id = d.source_id
    where c.session = ${session} and c.number = ${number}`;
  if (cited === undefined) return undefined;
  const { documentId, title, place, content, hash, version, now, kind, location } = cited;
  const state = now === null ? 'removed' : now === version ? 'same' : 'changed';
  const neighbours =
    state === 'same' ? await passagesAround(sql, documentId, hash, place) : { before: [], after: [] };
  return {
    number,
    documentId,
    title,
    place,
    content,
    state,
    ...neighbours,
    ...(kind === 'url' && { url: location }),
  };
}

async function passagesAround(sql: Sql, documentId: string, hash: string, place: PassagePlace) {
  const rows = await sql<{ content: string; distance: number }[]>`
    with cited as (
      select position from knowledge_passage where document_id = ${documentId} and hash = ${hash}
      order by place = ${cleanJson(place)}::jsonb desc, position limit 1)
    select content, p.position - cited.position as distance from knowledge_passage p, cited
    where document_id = ${documentId} and p.position between cited.position - ${AROUND} and cited.position + ${AROUND}
    order by p.position`;
  return {
    before: rows.filter(({ distance }) => distance < 0).map(({ content }) => content),
    after: rows.filter(({ distance }) => distance > 0).map(({ content }) => content),
  };
}
