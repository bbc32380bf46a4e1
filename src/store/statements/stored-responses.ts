/** Responses of `/v1/responses` that clients refer to by id. */
import {
  MAX_CHAIN_BYTES,
  MAX_RESPONSE_BYTES,
  MAX_RESPONSES,
  RESPONSE_MS,
  type ResponseItem,
  type ResponseStore,
  type StoredResponse,
} from '../../protocol/store/ledger.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';
import type { SessionKey } from '../../protocol/message.ts';

/** A response that is continued counts as used again, but is not written more often than this. */
const USE_EVERY_MS = 3_600_000;

/** The `ResponseStore` over a database. */
export function createStoredResponses(database: Database): ResponseStore {
  return {
    storeResponse: ({ tokenId, endUser }, response) =>
      database.transaction(async (sql) => {
        await insert(sql, tokenId, endUser, response);
        if (response.previousId !== undefined) await noteUse(sql, tokenId, response.previousId);
        await deleteBeyondBounds(sql, tokenId);
      }),
    response: async (tokenId, id) => {
      const row = await database.row(
        (sql) => sql<StoredResponse[]>`
          select id, previous_id as "previousId", session, input, body from stored_response
          where token_id = ${tokenId} and id = ${cleanText(id)} and ${isFresh(sql)}`,
      );
      return row && { ...row, previousId: row.previousId, session: row.session, input: row.input };
    },
    responseItems: (tokenId, places) =>
      database.run(async (sql) => {
        const rows = await sql<{ item: ResponseItem | null }[]>`
          select case part when 'input' then input -> at else body -> 'output' -> at end as item
          from rows from (jsonb_to_recordset(${cleanJson(
            places.map(({ responseId, part, index }) => ({ of: responseId, part, at: index })),
          )}::jsonb) as ("of" text, part text, at int)) with ordinality as wanted ("of", part, at, nth)
          left join stored_response r on token_id = ${tokenId} and r.id = "of" and ${isFresh(sql)}
          order by nth`;
        return rows.map(({ item }) => item ?? undefined);
      }),
    responseChain: (tokenId, id) => database.run((sql) => readChain(sql, tokenId, cleanText(id))),
    deleteResponse: (tokenId, id) =>
      database.once(
        (sql) => sql`
          delete from stored_response where token_id = ${tokenId} and id = ${cleanText(id)} returning id`,
      ),
    purgeResponses: (limit) =>
      database.count(
        (sql) => sql`
          delete from stored_response where (token_id, id) in (
            select token_id, id from stored_response where not ${isFresh(sql)} limit ${limit}) returning id`,
      ),
  };
}

function isFresh(sql: Sql) {
  return sql`used_at > now() - ${RESPONSE_MS}::float8 * interval '1 millisecond'`;
}

async function insert(
  sql: Sql,
  tokenId: string,
  endUser: string | undefined,
  { id, previousId, session, input, body }: StoredResponse,
): Promise<void> {
  const [inputText, bodyText] = [input && cleanJson(input), cleanJson(body)];
  await sql`
    insert into stored_response (token_id, id, end_user, previous_id, session, input, body, input_bytes, body_bytes)
    values (${tokenId}, ${cleanText(id)}, ${endUser ?? null}, ${previousId ?? null}, ${session ?? null},
      ${inputText ?? null}::jsonb, ${bodyText}::jsonb, ${Buffer.byteLength(inputText ?? '')}, ${Buffer.byteLength(bodyText)})
    on conflict (token_id, id) do update set input = excluded.input, body = excluded.body,
      input_bytes = excluded.input_bytes, body_bytes = excluded.body_bytes, used_at = now()`;
}

/** The CTE `chain`: a response and those that it continues, the newest first. */
function chainOf(sql: Sql, tokenId: string, id: string) {
  return sql`
    recursive chain as (
      select id, previous_id, 1 as depth from stored_response where token_id = ${tokenId} and id = ${id} and ${isFresh(sql)}
      union all
      select r.id, r.previous_id, depth + 1 from chain join stored_response r
        on r.token_id = ${tokenId} and r.id = chain.previous_id and ${isFresh(sql)} and depth <= ${MAX_RESPONSES})`;
}

async function noteUse(sql: Sql, tokenId: string, id: string): Promise<void> {
  await sql`
    with ${chainOf(sql, tokenId, id)}
    update stored_response set used_at = now() where token_id = ${tokenId} and id in (select id from chain)
      and used_at < now() - ${USE_EVERY_MS}::float8 * interval '1 millisecond'`;
}

/** The newest stay; of those whose inputs take too much, only the input is deleted, so that their items can be named. */
async function deleteBeyondBounds(sql: Sql, tokenId: string): Promise<void> {
  await sql`
    with ranked as (
      select id, row_number() over newest as nth, sum(body_bytes) over newest as bodies,
        sum(input_bytes) over newest as inputs
      from stored_response where token_id = ${tokenId} window newest as (order by used_at desc, id desc)),
    dropped as (
      delete from stored_response where token_id = ${tokenId} and id in (
        select id from ranked where nth > ${MAX_RESPONSES} or bodies > ${MAX_RESPONSE_BYTES}))
    update stored_response set input = null, input_bytes = 0
    where token_id = ${tokenId} and input_bytes > 0 and id in (
      select id from ranked where nth <= ${MAX_RESPONSES} and bodies <= ${MAX_RESPONSE_BYTES} and inputs > ${MAX_RESPONSE_BYTES})`;
}

interface LinkRow {
  id: string;
  previousId: string | null;
  session: SessionKey | null;
  whole: boolean;
  /** Of this link and the newer ones. */
  bytes: number;
}

async function readChain(sql: Sql, tokenId: string, id: string): ReturnType<ResponseStore['responseChain']> {
  const links = await sql<LinkRow[]>`
    with ${chainOf(sql, tokenId, id)}
    select chain.id, chain.previous_id as "previousId", session, input is not null as whole,
      sum(input_bytes + body_bytes) over (order by depth)::float8 as bytes
    from chain join stored_response r on r.token_id = ${tokenId} and r.id = chain.id order by depth`;
  const ofSession = links.find(({ session }) => session !== null)?.session;
  if (ofSession != null) return { session: ofSession };
  const incomplete = links.find(({ whole }) => !whole);
  if (incomplete !== undefined) return { missing: incomplete.id };
  const first = links.at(-1);
  if (first === undefined) return { missing: id };
  if (first.previousId !== null) return { missing: first.previousId };
  if (first.bytes > MAX_CHAIN_BYTES) return { bytes: first.bytes };
  const rows = await sql<{ items: ResponseItem[] | null }[]>`
    with ${chainOf(sql, tokenId, id)}
    select input || (body -> 'output') as items
    from chain join stored_response r on r.token_id = ${tokenId} and r.id = chain.id order by depth desc`;
  return { items: rows.flatMap(({ items }) => items ?? []) };
}
