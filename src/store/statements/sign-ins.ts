/** One-time codes and tickets, and the sessions and streams that they started: one table, because all belong to a token and expire. */
import {
  ADMIN_SIGN_IN_MS,
  MAX_CODES,
  MAX_SIGN_INS,
  MAX_TICKET_STREAMS,
  MAX_TICKETS,
  type OnceKind,
  type SignIn,
  type SignInStore,
} from '../../protocol/operator/sign-in.ts';
import { newId } from '../../lib/ids.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';

/** Longest name of a client, in UTF-16 units. */
const MAX_CLIENT = 200;

/** `code` becomes `session`, `ticket` becomes `stream`. */
type Kind = OnceKind | 'session' | 'stream';

const STARTED_BY = { code: 'session', ticket: 'stream' } as const;

/** Maximum number of rows of one token. */
const LIMITS: Record<Kind, number> = {
  code: MAX_CODES,
  session: MAX_SIGN_INS,
  ticket: MAX_TICKETS,
  stream: MAX_TICKET_STREAMS,
};

/** The `SignInStore` over a database. */
export function createSignIns(database: Database): SignInStore {
  return {
    addCode: (kind, { hash, tokenId, proxyUser, ttlMs }) =>
      database.transaction((sql) => add(sql, { kind, hash, tokenId, proxyUser, ttlMs, client: '' })),
    redeemCode: (kind, codeHash, session) =>
      database.transaction(async (sql, attempt) => {
        const [code] = await sql<{ tokenId: string; proxyUser: string | null }[]>`
          delete from sign_in where kind = ${kind} and hash = ${codeHash} and expires_at > now()
            and token_id in (select id from token where revoked_at is null and (expires_at is null or expires_at > now()))
          returning token_id as "tokenId", proxy_user as "proxyUser"`;
        if (code !== undefined) await add(sql, { kind: STARTED_BY[kind], ...code, ...session });
        if (code !== undefined || attempt === 0) return code !== undefined;
        // The previous attempt may have been committed, and its answer lost.
        return (await sql`select from sign_in where hash = ${session.hash}`).length > 0;
      }),
    addProxySession: (session) => database.transaction((sql) => add(sql, { kind: 'session', ...session })),
    hasProxySession: ({ hash, tokenId, proxyUser }) =>
      database.exists(
        (sql) => sql`
          select from sign_in where kind = 'session' and hash = ${hash} and token_id = ${cleanText(tokenId)}
            and proxy_user = ${cleanText(proxyUser)} and expires_at > now()`,
      ),
    signIns: ({ tokenId, own: ownHash = '' }) =>
      database.rows(
        (sql) => sql<SignIn[]>`
          select s.id, s.token_id as "tokenId", s.proxy_user as "proxyUser", s.client, s.created_at as "createdAt",
            ${signInEnd(sql)} as "expiresAt", s.last_used_at as "lastUsedAt", s.hash = ${ownHash} as "isOwn"
          from sign_in s join token t on t.id = s.token_id
          where s.kind = 'session' and ${signInEnd(sql)} > now() ${ofToken(sql, tokenId)}
          order by s.created_at desc, s.id limit 1000`,
      ),
    endOtherSignIns: ({ tokenId, own: ownHash = '' }) =>
      database.count(
        (sql) => sql`
          delete from sign_in
          where kind = 'session' and hash <> ${ownHash} and expires_at > now() ${ofToken(sql, tokenId)} returning id`,
      ),
    endSignIn: (id, tokenId) =>
      database.once(
        (sql) => sql`
          delete from sign_in where kind = 'session' and id = ${cleanText(id)} ${ofToken(sql, tokenId)} returning id`,
      ),
    endSignInOf: (hash) =>
      database.write(
        (sql) => sql`delete from sign_in where kind in ('session', 'stream') and hash = ${hash}`,
      ),
  };
}

/** When the session or stream `s` of the token `t` ends. */
export function signInEnd(sql: Sql) {
  return sql`least(s.expires_at, case when t.scopes @> '["admin"]' then
    coalesce(s.last_used_at, s.created_at) + ${ADMIN_SIGN_IN_MS}::float8 * interval '1 millisecond' end)`;
}

function ofToken(sql: Sql, tokenId: string | undefined) {
  return tokenId === undefined ? sql`` : sql`and token_id = ${cleanText(tokenId)}`;
}

/** Stores a row, and deletes expired rows and the oldest beyond the limit; one call at a time per token. */
async function add(
  sql: Sql,
  row: {
    kind: Kind;
    hash: string;
    tokenId: string;
    ttlMs: number;
    client: string;
    proxyUser?: string | null | undefined;
  },
): Promise<void> {
  const { kind, hash, tokenId, ttlMs } = row;
  const client = cleanText(row.client).slice(0, MAX_CLIENT);
  const proxyUser = row.proxyUser == null ? null : cleanText(row.proxyUser);
  await sql`select pg_advisory_xact_lock(hashtextextended(${`parley sign-ins ${tokenId}`}, 0))`;
  await sql`
    insert into sign_in (id, kind, hash, token_id, client, proxy_user, expires_at)
    values (${newId()}, ${kind}, ${hash}, ${tokenId}, ${client}, ${proxyUser}, now() + ${ttlMs}::float8 * interval '1 millisecond')
    on conflict (hash) do nothing`;
  await sql`delete from sign_in where expires_at <= now()`;
  await sql`
    delete from sign_in where id in (
      select id from sign_in where kind = ${kind} and token_id = ${tokenId}
      order by created_at desc, id desc offset ${LIMITS[kind]})`;
}
