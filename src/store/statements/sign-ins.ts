/** Codes that sign a browser in once, and the sessions that they began: one table, because both live for a token and a time. */
import { MAX_CODES, MAX_SIGN_INS } from '../../contracts/operator/sign-in.ts';
import type { SignIn, SignInStore } from '../../contracts/operator/sign-in.ts';
import { newId } from '../../lib/ids.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';

/** Longest name of a client, in UTF-16 units. */
const MAX_CLIENT = 200;

interface SignInRow extends Omit<SignIn, 'createdAt' | 'expiresAt'> {
  createdAt: string;
  expiresAt: string;
}

/** The `SignInStore` over a database. */
export function createSignIns(database: Database): SignInStore {
  return {
    addCode: ({ hash, tokenId, ttlMs }) =>
      database.transaction((sql) => add(sql, { kind: 'code', hash, tokenId, ttlMs, client: '' })),
    redeemCode: (codeHash, session) =>
      database.transaction(async (sql, attempt) => {
        const [used] = await sql<{ tokenId: string }[]>`
          delete from sign_in where kind = 'code' and hash = ${codeHash} and expires_at > now()
            and token_id in (select id from token where revoked_at is null and (expires_at is null or expires_at > now()))
          returning token_id as "tokenId"`;
        if (used !== undefined) await add(sql, { kind: 'session', ...used, ...session });
        if (used !== undefined || attempt === 0) return used !== undefined;
        // The previous attempt may have been committed, and its answer lost.
        return (await sql`select from sign_in where hash = ${session.hash}`).length > 0;
      }),
    signIns: (tokenId) =>
      database.run(async (sql) => {
        const of = tokenId === undefined ? sql`` : sql`and token_id = ${cleanText(tokenId)}`;
        const rows = await sql<SignInRow[]>`
          select id, token_id as "tokenId", client, created_at as "createdAt", expires_at as "expiresAt"
          from sign_in where kind = 'session' and expires_at > now() ${of} order by created_at desc, id limit 1000`;
        return rows.map((row) => ({
          ...row,
          createdAt: new Date(row.createdAt),
          expiresAt: new Date(row.expiresAt),
        }));
      }),
    endSignIn: (id, tokenId) =>
      database.run(async (sql, attempt) => {
        const of = tokenId === undefined ? sql`` : sql`and token_id = ${cleanText(tokenId)}`;
        const gone = await sql`
          delete from sign_in where kind = 'session' and id = ${cleanText(id)} ${of} returning id`;
        return gone.length > 0 || attempt > 0;
      }),
    endSignInOf: (hash) =>
      database.run(async (sql) => {
        await sql`delete from sign_in where kind = 'session' and hash = ${hash}`;
      }),
  };
}

/** Stores a row, and deletes what is over and the oldest beyond the bound. */
async function add(
  sql: Sql,
  row: { kind: 'code' | 'session'; hash: string; tokenId: string; ttlMs: number; client: string },
): Promise<void> {
  const { kind, hash, tokenId, ttlMs } = row;
  const client = cleanText(row.client).slice(0, MAX_CLIENT);
  await sql`
    insert into sign_in (id, kind, hash, token_id, client, expires_at)
    values (${newId()}, ${kind}, ${hash}, ${tokenId}, ${client}, now() + ${ttlMs}::float8 * interval '1 millisecond')
    on conflict (hash) do nothing`;
  await sql`delete from sign_in where expires_at <= now()`;
  await sql`
    delete from sign_in where id in (
      select id from sign_in where kind = ${kind} and token_id = ${tokenId}
      order by created_at desc, id desc offset ${kind === 'code' ? MAX_CODES : MAX_SIGN_INS})`;
}
