/** The chats that share a session: their list, and how one of them leaves. */
import { randomBytes } from 'node:crypto';
import type { LeftSurface, SurfaceStore } from '../../../../protocol/sessions/surfaces.ts';
import { cleanText } from '../../../../lib/text.ts';
import type { Database, Sql } from '../../../database/database.ts';
import { asSessionKey } from '../../session-rows.ts';
import { createLinks } from './links.ts';
import {
  lockSurfaces,
  moveAddress,
  surfaceColumns,
  type SurfaceRow,
  surfacesOf,
  toSurface,
} from './surface-rows.ts';

/** The `SurfaceStore` over a database. */
export function createSurfaces(database: Database): SurfaceStore {
  return {
    ...createLinks(database),
    surfaces: (session) => database.run((sql) => surfacesOf(sql, cleanText(session))),
    surface: (address) =>
      database.run(async (sql) => {
        const rows = await sql<SurfaceRow[]>`${surfaceColumns(sql)} where address = ${cleanText(address)}`;
        return rows.map(toSurface)[0];
      }),
    leave: (address) => database.transaction((sql) => leave(sql, cleanText(address))),
  };
}

/**
 * The chat whose own conversation became the shared one starts a new one under a separate name; any other returns to
 * what it had before. A chat that is left alone shares nothing any more, and keeps the conversation.
 */
export async function leave(sql: Sql, address: string): Promise<LeftSurface | undefined> {
  const [found] = await sql<{ session: string }[]>`select session from surface where address = ${address}`;
  if (found === undefined) return undefined;
  const { session } = found;
  await lockSurfaces(sql, session);
  const [gone] = await sql<(SurfaceRow & { isHome: boolean; before: string | null })[]>`
    delete from surface where address = ${address} and session = ${session}
    returning address, place, name, user_id as "userId", linked_at as "linkedAt", is_home as "isHome", before`;
  if (gone === undefined) return undefined;
  const next = gone.isHome ? `${address}~${randomBytes(4).toString('hex')}` : (gone.before ?? address);
  await moveAddress(sql, address, { from: session, to: next });
  await sql`update link set ended = 'declined' where ended is null and (address = ${address} or to_address = ${address})`;
  const others = await surfacesOf(sql, session);
  if (others.length === 1) await sql`delete from surface where session = ${session}`;
  return { session: asSessionKey(session), left: toSurface(gone), others };
}
