/** Grants, pairing codes and tokens. */
import { and, asc, eq, gt, isNull } from 'drizzle-orm';
import type { AccessStore, PairingRecord, TokenRecord } from '../../contracts/access.ts';
import { newId } from '../../lib/ids.ts';
import { cleanText } from '../../lib/text.ts';
import { sql as expression } from 'drizzle-orm';
import type { Database, Sql } from '../database/database.ts';
import { grant, pairing, token } from '../database/schema.ts';

/** The `AccessStore` over a database. */
export function createAccess(database: Database): AccessStore {
  return { ...createGrants(database), ...createPairings(database), ...createTokens(database) };
}

type GrantWords = Pick<AccessStore, 'hasGrant' | 'addGrant' | 'removeGrant' | 'grants'>;

function createGrants(database: Database): GrantWords {
  const is = (channel: string, kind: 'dm' | 'group', id: string) =>
    and(eq(grant.channel, channel), eq(grant.kind, kind), eq(grant.id, cleanText(id)));
  return {
    hasGrant: (channel, kind, id) =>
      database.query(
        async (orm) =>
          (
            await orm
              .select()
              .from(grant)
              .where(is(channel, kind, id))
          ).length > 0,
      ),
    addGrant: (channel, kind, id) =>
      database.query(async (orm) => {
        await orm
          .insert(grant)
          .values({ channel, kind, id: cleanText(id) })
          .onConflictDoNothing();
      }),
    removeGrant: (channel, kind, id) =>
      database.query(async (orm, attempt) => {
        const gone = await orm
          .delete(grant)
          .where(is(channel, kind, id))
          .returning();
        return gone.length > 0 || attempt > 0;
      }),
    grants: () => database.query((orm) => orm.select().from(grant).orderBy(asc(grant.grantedAt))),
  };
}

type PairingWords = Pick<AccessStore, 'openPairing' | 'approvePairing' | 'pairings'>;

function createPairings(database: Database): PairingWords {
  return {
    openPairing: (request) => database.transaction((sql, attempt) => openPairing(sql, request, attempt)),
    approvePairing: (codeHash) => database.run((sql, attempt) => approvePairing(sql, codeHash, attempt)),
    pairings: () =>
      database.query(async (orm) => {
        const live = and(isNull(pairing.usedAt), gt(pairing.expiresAt, expression`now()`));
        const rows = await orm.select().from(pairing).where(live).orderBy(asc(pairing.expiresAt));
        return rows.map(({ channel, senderId, senderName, expiresAt }) => ({
          channel,
          senderId,
          senderName: senderName ?? undefined,
          expiresAt,
        }));
      }),
  };
}

/** One at a time per channel, so that raced strangers do not exceed its bound. */
async function openPairing(
  sql: Sql,
  request: Parameters<AccessStore['openPairing']>[0],
  attempt: number,
): Promise<boolean> {
  const { channel, codeHash, ttlMs, maxPending } = request;
  const senderName = request.senderName === undefined ? null : cleanText(request.senderName);
  await sql`select pg_advisory_xact_lock(hashtextextended(${`parley pairing ${channel}`}, 0))`;
  await sql`delete from pairing where channel = ${channel} and expires_at <= now()`;
  const stored = await sql`
    insert into pairing (channel, sender_id, sender_name, code_hash, expires_at)
    select ${channel}, ${cleanText(request.senderId)}, ${senderName}, ${codeHash},
      now() + ${ttlMs}::float8 * interval '1 millisecond'
    where (select count(*) from pairing where channel = ${channel} and used_at is null) < ${maxPending}
    on conflict do nothing returning code_hash`;
  if (stored.length > 0 || attempt === 0) return stored.length > 0;
  // The run before may have stored this very code.
  return (await sql`select 1 from pairing where code_hash = ${codeHash} and used_at is null`).length > 0;
}

/** A used code stays until it expires: its sender asks for no other meanwhile, and a repeated call finds its own work. */
async function approvePairing(
  sql: Sql,
  codeHash: string,
  attempt: number,
): Promise<PairingRecord | undefined> {
  const columns = sql`channel, sender_id as "senderId", sender_name as "senderName", expires_at as "expiresAt"`;
  type Row = { channel: string; senderId: string; senderName: string | null; expiresAt: string };
  let [row] = await sql<Row[]>`
    with used as (
      update pairing set used_at = now() where code_hash = ${codeHash} and used_at is null and expires_at > now()
      returning *),
    granted as (
      insert into "grant" (channel, kind, id) select channel, 'dm', sender_id from used on conflict do nothing)
    select ${columns} from used`;
  if (row === undefined && attempt > 0) {
    [row] = await sql<
      Row[]
    >`select ${columns} from pairing where code_hash = ${codeHash} and used_at is not null`;
  }
  if (row === undefined) return undefined;
  return { ...row, senderName: row.senderName ?? undefined, expiresAt: new Date(row.expiresAt) };
}

type TokenWords = Pick<AccessStore, 'tokenByHash' | 'putToken' | 'revokeToken' | 'tokens'>;

function createTokens(database: Database): TokenWords {
  const toRecord = ({ id, name, scopes, createdAt }: typeof token.$inferSelect): TokenRecord => ({
    tokenId: id,
    name,
    scopes,
    createdAt,
  });
  return {
    tokenByHash: (hash) =>
      database.query(async (orm) => {
        const [row] = await orm.select().from(token).where(eq(token.hash, hash));
        return row === undefined ? undefined : toRecord(row);
      }),
    putToken: ({ hash, name, scopes }) =>
      database.query(async (orm) => {
        const set = { name: cleanText(name), scopes };
        const put = orm.insert(token).values({ id: newId(), hash, ...set });
        const [row] = await put.onConflictDoUpdate({ target: token.hash, set }).returning();
        if (row === undefined) throw new Error('an upsert gives its row');
        return toRecord(row);
      }),
    revokeToken: (tokenId) =>
      database.query(async (orm, attempt) => {
        const gone = await orm
          .delete(token)
          .where(eq(token.id, cleanText(tokenId)))
          .returning();
        return gone.length > 0 || attempt > 0;
      }),
    tokens: () =>
      database.query(async (orm) =>
        (await orm.select().from(token).orderBy(asc(token.createdAt))).map(toRecord),
      ),
  };
}
