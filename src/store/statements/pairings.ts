/** Grants, and the pairing codes that strangers turn into one: created within a limit, used once, listed while valid. */
import type { AccessStore, Grant, PairingRecord } from '../../protocol/access.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';

/** Grants of the `AccessStore` over a database. */
export function createGrants(database: Database) {
  return {
    hasGrant: (channel, kind, id) =>
      database.exists(
        (sql) => sql`
          select from "grant" where channel = ${channel} and kind = ${kind} and id = ${cleanText(id)}`,
      ),
    addGrant: (channel, kind, id) =>
      database.write(
        (sql) => sql`
          insert into "grant" (channel, kind, id) values (${channel}, ${kind}, ${cleanText(id)}) on conflict do nothing`,
      ),
    removeGrant: (channel, kind, id) =>
      database.once(
        (sql) => sql`
          delete from "grant" where channel = ${channel} and kind = ${kind} and id = ${cleanText(id)} returning id`,
      ),
    grants: () =>
      database.rows(
        (sql) => sql<Grant[]>`
          select channel, kind, id, granted_at as "grantedAt" from "grant" order by granted_at`,
      ),
  } satisfies Partial<AccessStore>;
}

/** Pairing codes of the `AccessStore` over a database. */
export function createPairings(database: Database) {
  return {
    openPairing: (request) => database.transaction((sql, attempt) => openPairing(sql, request, attempt)),
    approvePairing: (codeHash, { firstOwns } = { firstOwns: false }) =>
      database.transaction((sql, attempt) => approvePairing(sql, { codeHash, firstOwns }, attempt)),
    pairings: () =>
      database.rows(
        (sql) => sql<PairingRecord[]>`
          select ${columns(sql)} from pairing where used_at is null and expires_at > now() order by expires_at`,
      ),
  } satisfies Partial<AccessStore>;
}

/** One at a time per channel, so that concurrent requests do not exceed its limit. */
async function openPairing(
  sql: Sql,
  request: Parameters<AccessStore['openPairing']>[0],
  attempt: number,
): Promise<boolean> {
  const { channel, codeHash, ttlMs, maxPending, yieldAfterMs = ttlMs } = request;
  const senderName = request.senderName === undefined ? null : cleanText(request.senderName);
  await sql`select pg_advisory_xact_lock(hashtextextended(${`parley pairing ${channel}`}, 0))`;
  await sql`delete from pairing where channel = ${channel} and expires_at <= now()`;
  const live = sql`channel = ${channel} and used_at is null`;
  // The oldest is replaced once it has lived long enough: strangers who ask for codes can delay others, not
  // keep them out.
  await sql`
    delete from pairing where ${live} and sender_id <> ${cleanText(request.senderId)}
      and (select count(*) from pairing where ${live}) >= ${maxPending}
      and not exists (select 1 from pairing where channel = ${channel} and sender_id = ${cleanText(request.senderId)})
      and sender_id = (select sender_id from pairing where ${live} order by expires_at, sender_id limit 1)
      and expires_at <= now() + (${ttlMs}::float8 - ${yieldAfterMs}::float8) * interval '1 millisecond'`;
  const rows = await sql`
    insert into pairing (channel, sender_id, sender_name, code_hash, expires_at)
    select ${channel}, ${cleanText(request.senderId)}, ${senderName}, ${codeHash},
      now() + ${ttlMs}::float8 * interval '1 millisecond'
    where (select count(*) from pairing where ${live}) < ${maxPending}
    on conflict do nothing returning code_hash`;
  if (rows.length > 0 || attempt === 0) return rows.length > 0;
  // The previous attempt may have stored this code.
  return (await sql`select 1 from pairing where code_hash = ${codeHash} and used_at is null`).length > 0;
}

/**
 * A used code is kept until it expires: its sender gets no other, and a repeated call finds its result. Locked where an
 * owner may be created, so that two approvals create only one.
 */
async function approvePairing(
  sql: Sql,
  { codeHash, firstOwns }: { codeHash: string; firstOwns: boolean },
  attempt: number,
): Promise<ApprovedPairing | undefined> {
  if (firstOwns) await sql`select pg_advisory_xact_lock(hashtextextended('parley first owner', 0))`;
  let [row] = await sql<ApprovedPairing[]>`
    with used as (
      update pairing set used_at = now() where code_hash = ${codeHash} and used_at is null and expires_at > now()
      returning *),
    granted as (
      insert into "grant" (channel, kind, id) select channel, 'dm', sender_id from used on conflict do nothing),
    owned as (
      insert into "grant" (channel, kind, id) select channel, 'owner', sender_id from used
      where ${firstOwns} and not exists (select from "grant" where kind = 'owner') returning id)
    select ${columns(sql)}, exists (select from owned) as "isOwner" from used`;
  if (row === undefined && attempt > 0) {
    [row] = await sql<ApprovedPairing[]>`
      select ${columns(sql)}, exists (
        select from "grant" g where g.kind = 'owner' and g.channel = pairing.channel and g.id = sender_id) as "isOwner"
      from pairing where code_hash = ${codeHash} and used_at is not null`;
  }
  return row && { ...row, senderName: row.senderName ?? undefined };
}

type ApprovedPairing = PairingRecord & { isOwner: boolean };

function columns(sql: Sql) {
  return sql`channel, sender_id as "senderId", sender_name as "senderName", expires_at as "expiresAt"`;
}
