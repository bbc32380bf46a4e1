/** Rows of `surface`, and the lock behind which they change. */
import { MAX_EARLIER_SESSIONS, type Surface } from '../../../../protocol/sessions/surfaces.ts';
import { cleanJson } from '../../../../lib/json/json.ts';
import type { Sql } from '../../../database/database.ts';
import { asSessionKey } from '../../session-rows.ts';

export interface SurfaceRow {
  address: string;
  place: Surface['place'];
  name: string | null;
  userId: string;
  linkedAt: string | Date;
}

export function surfaceColumns(sql: Sql) {
  return sql`select address, place, name, user_id as "userId", linked_at as "linkedAt" from surface`;
}

/** The surfaces of a session, oldest first. */
export async function surfacesOf(sql: Sql, session: string): Promise<Surface[]> {
  const rows = await sql<SurfaceRow[]>`
    ${surfaceColumns(sql)} where session = ${session} order by linked_at, is_home desc, address`;
  return rows.map(toSurface);
}

export function toSurface({ address, place, name, userId, linkedAt }: SurfaceRow): Surface {
  const named = name === null ? {} : { name };
  return { address: asSessionKey(address), place, ...named, userId, linkedAt: new Date(linkedAt) };
}

/** Locks the surfaces of a session against changes, so that two changes see each other. */
export async function lockSurfaces(sql: Sql, session: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`surfaces:${session}`}, 0))`;
}

/**
 * From the next message on a chat is in another session; the previous sessions are kept, so that repeats are still
 * recognized.
 */
export async function moveAddress(
  sql: Sql,
  address: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const [known] = await sql<{ earlier: string[] }[]>`
    select earlier from address where key = ${address} for update`;
  // The address's own session is always checked.
  const others = [from, ...(known?.earlier ?? [])].filter((one) => one !== address && one !== to);
  const earlier = cleanJson([...new Set(others)].slice(0, MAX_EARLIER_SESSIONS));
  await sql`
    insert into address (key, session, earlier) values (${address}, ${to}, ${earlier}::jsonb)
    on conflict (key) do update set session = excluded.session, earlier = excluded.earlier`;
}
