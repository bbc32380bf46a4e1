/** Pairing codes: created within a bound, used once, listed while they are valid. */
import type { AccessStore, PairingRecord } from '../../contracts/access.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';

type PairingStore = Pick<AccessStore, 'openPairing' | 'approvePairing' | 'pairings'>;

/** Pairing codes of the `AccessStore` over a database. */
export function createPairings(database: Database): PairingStore {
  return {
    openPairing: (request) => database.transaction((sql, attempt) => openPairing(sql, request, attempt)),
    approvePairing: (codeHash) => database.run((sql, attempt) => approvePairing(sql, codeHash, attempt)),
    pairings: () =>
      database.run(async (sql) => {
        const rows = await sql<PairingRow[]>`
          select ${columns(sql)} from pairing where used_at is null and expires_at > now() order by expires_at`;
        return rows.map(toPairing);
      }),
  };
}

/** One at a time per channel, so that concurrent requests do not exceed its bound. */
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
  // The previous attempt may have stored this code.
  return (await sql`select 1 from pairing where code_hash = ${codeHash} and used_at is null`).length > 0;
}

/** A used code stays until it expires: its sender gets no other until then, and a repeated call finds what it did before. */
async function approvePairing(
  sql: Sql,
  codeHash: string,
  attempt: number,
): Promise<PairingRecord | undefined> {
  let [row] = await sql<PairingRow[]>`
    with used as (
      update pairing set used_at = now() where code_hash = ${codeHash} and used_at is null and expires_at > now()
      returning *),
    granted as (
      insert into "grant" (channel, kind, id) select channel, 'dm', sender_id from used on conflict do nothing)
    select ${columns(sql)} from used`;
  if (row === undefined && attempt > 0) {
    [row] = await sql<PairingRow[]>`
      select ${columns(sql)} from pairing where code_hash = ${codeHash} and used_at is not null`;
  }
  return row && toPairing(row);
}

interface PairingRow {
  channel: string;
  senderId: string;
  senderName: string | null;
  expiresAt: string;
}

function columns(sql: Sql) {
  return sql`channel, sender_id as "senderId", sender_name as "senderName", expires_at as "expiresAt"`;
}

function toPairing(row: PairingRow): PairingRecord {
  return { ...row, senderName: row.senderName ?? undefined, expiresAt: new Date(row.expiresAt) };
}
