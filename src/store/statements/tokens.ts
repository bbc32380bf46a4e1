/** HTTP tokens: found by their hash, replaced by origin, revoked permanently. */
import type { NewToken, TokenRecord, TokenStore } from '../../protocol/access.ts';
import { newId } from '../../lib/ids.ts';
import { cleanText } from '../../lib/text.ts';
import { type Database, type Sql, withoutNulls } from '../database/database.ts';
import { signInEnd } from './sign-ins.ts';

/** The `TokenStore` over a database. */
export function createTokens(database: Database): TokenStore {
  return {
    tokensByHash: (hashes) =>
      database.rows(
        (sql) => sql<(TokenRecord & { hash: string })[]>`
          with asked as (select jsonb_array_elements_text(${JSON.stringify(hashes)}::jsonb) as hash),
          sessions as (
            select asked.hash, s.token_id, s.proxy_user from asked join sign_in s using (hash) join token t on t.id = s.token_id
            where s.kind in ('session', 'stream') and ${signInEnd(sql)} > now())
          select hash, null as "proxyUser", ${columns(sql)} from token where hash in (select hash from asked) and ${isValid(sql)}
          union all
          select sessions.hash, sessions.proxy_user, ${columns(sql)} from token join sessions on sessions.token_id = token.id
          where ${isValid(sql)}`,
      ),
    token: (tokenId) =>
      database.run((sql) =>
        first(sql<TokenRecord[]>`
          select ${columns(sql)} from token where id = ${cleanText(tokenId)} and ${isValid(sql)}`),
      ),
    tokens: () =>
      database.rows(
        (sql) => sql<TokenRecord[]>`
          select ${columns(sql)} from token where revoked_at is null order by created_at, id`,
      ),
    putToken: (token) => database.run((sql) => putToken(sql, token)),
    replaceToken: (origin, token) =>
      database.transaction(async (sql) => {
        await lockTokens(sql);
        return await replaceToken(sql, origin, token);
      }),
    removeTokens: (origin) =>
      database.write((sql) => sql`delete from token where origin = ${origin} and revoked_at is null`),
    addFirstToken: (origin, token) =>
      database.transaction(async (sql) => {
        await lockTokens(sql);
        const [valid] = await sql<{ hash: string }[]>`select hash from token where ${isValid(sql)} limit 1`;
        // An earlier attempt may have stored it.
        if (valid !== undefined) return valid.hash === token.hash;
        return (await replaceToken(sql, origin, token)) !== undefined;
      }),
    ...createChanges(database),
  };
}

function createChanges(database: Database) {
  return {
    rotateToken: (tokenId, hash) =>
      database.transaction(async (sql) => {
        const [old] = await sql<{ hash: string; name: string }[]>`
          select hash, name from token where id = ${cleanText(tokenId)} and revoked_at is null for update`;
        if (old === undefined) return undefined;
        const token = await first(sql<TokenRecord[]>`
          update token set hash = ${hash}, last_used_at = null
          where id = ${cleanText(tokenId)} returning ${columns(sql)}`);
        // The old secret stays known as revoked: a backup that is restored may contain it.
        await sql`
          insert into token (id, hash, name, scopes, revoked_at) values (${newId()}, ${old.hash}, ${old.name}, '[]', now())
          on conflict (hash) do nothing`;
        return token;
      }),
    changeToken: (tokenId, { name, scopes, expiresInMs }) =>
      database.run((sql) => {
        const expires = expiresInMs === undefined ? sql`expires_at` : expiry(sql, expiresInMs);
        const newScopes = scopes === undefined ? sql`scopes` : sql`${JSON.stringify(scopes)}::jsonb`;
        return first(sql<TokenRecord[]>`
          update token set name = coalesce(${name === undefined ? null : cleanText(name)}, name), scopes = ${newScopes}, expires_at = ${expires}
          where id = ${cleanText(tokenId)} and revoked_at is null returning ${columns(sql)}`);
      }),
    revokeToken: (tokenId) =>
      database.once(
        (sql) => sql`
          update token set revoked_at = now()
          where id = ${cleanText(tokenId)} and revoked_at is null returning id`,
      ),
    noteTokenUse: (tokenId, everyMs, hash) =>
      database.run(async (sql) => {
        const isOld = sql`(last_used_at is null or last_used_at < now() - ${everyMs}::float8 * interval '1 millisecond')`;
        await sql`
          with browser as (
            update sign_in set last_used_at = now() where kind = 'session' and hash = ${hash} and ${isOld})
          update token set last_used_at = now() where id = ${tokenId} and ${isOld}`;
      }),
  } satisfies Partial<TokenStore>;
}

/** One change of the tokens of an origin at a time: gateways that start together do not add one each. */
async function lockTokens(sql: Sql): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('parley tokens', 0))`;
}

async function putToken(
  sql: Sql,
  { hash, name, scopes, expiresInMs }: Parameters<TokenStore['putToken']>[0],
): Promise<TokenRecord> {
  const token = await first(sql<TokenRecord[]>`
    insert into token (id, hash, name, scopes, expires_at)
    values (${newId()}, ${hash}, ${cleanText(name)}, ${JSON.stringify(scopes)}::jsonb, ${expiry(sql, expiresInMs ?? null)})
    on conflict (hash) do update set name = excluded.name, scopes = excluded.scopes
    returning ${columns(sql)}`);
  if (token === undefined) throw new Error('the upsert returned no row');
  return token;
}

async function replaceToken(
  sql: Sql,
  origin: TokenRecord['origin'],
  { hash, name, scopes }: NewToken,
): Promise<TokenRecord | undefined> {
  const [same] = await sql<{ id: string; revoked: boolean }[]>`
    select id, revoked_at is not null as revoked from token where hash = ${hash}`;
  if (same?.revoked === true) return undefined;
  // If there are several of one origin, left by an earlier version, the newest passes on its id.
  const [predecessor] = await sql<{ id: string }[]>`
    select id from token where origin = ${origin} and origin <> 'cli' and revoked_at is null
    order by created_at desc, id limit 1`;
  const id = same?.id ?? predecessor?.id ?? newId();
  await sql`
    delete from token where origin = ${origin} and origin <> 'cli' and revoked_at is null and id <> ${id}`;
  return await first(sql<TokenRecord[]>`
    insert into token (id, hash, name, scopes, origin)
    values (${id}, ${hash}, ${cleanText(name)}, ${JSON.stringify(scopes)}::jsonb, ${origin})
    on conflict (id) do update set hash = excluded.hash, name = excluded.name, scopes = excluded.scopes,
      origin = excluded.origin, expires_at = null,
      created_at = case when token.hash = excluded.hash then token.created_at else now() end,
      last_used_at = case when token.hash = excluded.hash then token.last_used_at end
    returning ${columns(sql)}`);
}

function columns(sql: Sql) {
  return sql`id as "tokenId", name, scopes, origin, created_at as "createdAt", expires_at as "expiresAt",
    last_used_at as "lastUsedAt", coalesce(expires_at <= now(), false) as expired`;
}

function isValid(sql: Sql) {
  return sql`revoked_at is null and (expires_at is null or expires_at > now())`;
}

/** The time this many milliseconds from now; null = never. */
function expiry(sql: Sql, ms: number | null) {
  return ms === null ? sql`null::timestamptz` : sql`now() + ${ms}::float8 * interval '1 millisecond'`;
}

async function first(rows: Promise<TokenRecord[]>): Promise<TokenRecord | undefined> {
  return withoutNulls(await rows)[0];
}
