/** The chats that share a session: their rows, how one of them leaves, and their part in opening and ending a turn. */
import { type LeftSurface, MAX_EARLIER_SESSIONS, type Surface } from '../../protocol/sessions/surfaces.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { type Fragment, type Sql, withoutNulls } from '../database/database.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { TurnFinish } from '../../protocol/store/records.ts';
import { randomBytes } from 'node:crypto';

/** What reads rows of `surface` as `Surface`. */
export function selectSurfaces(sql: Sql) {
  return sql`select address, place, name, user_id as "userId", linked_at as "linkedAt" from surface`;
}

/** The surfaces of a session, oldest first. */
export async function surfacesOf(sql: Sql, session: string): Promise<Surface[]> {
  return withoutNulls(
    await sql<
      Surface[]
    >`${selectSurfaces(sql)} where session = ${session} order by linked_at, is_home desc, address`,
  );
}

/** Locks the surfaces of a session against changes, so that two changes see each other. */
export async function lockSurfaces(sql: Sql, session: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`surfaces:${session}`}, 0))`;
}

/** Moves a chat to another session from its next message on. Earlier sessions are kept, to recognize repeats. */
export async function moveAddress(
  sql: Sql,
  address: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const [row] = await sql<{ earlier: string[] }[]>`
    select earlier from address where key = ${address} for update`;
  // The address's own session is always checked.
  const others = [from, ...(row?.earlier ?? [])].filter((one) => one !== address && one !== to);
  const sessions = cleanJson([...new Set(others)].slice(0, MAX_EARLIER_SESSIONS));
  await sql`
    insert into address (key, session, earlier) values (${address}, ${to}, ${sessions}::jsonb)
    on conflict (key) do update set session = excluded.session, earlier = excluded.earlier`;
}

/** Expression: the chats that share the session with the one in which the turn was asked, as `OtherSurface`. */
export function otherSurfaces(
  sql: Sql,
  { session, address, turnId }: { session: Fragment; address: Fragment; turnId: Fragment },
): Fragment {
  return sql`
    (select coalesce(jsonb_agg(jsonb_build_object('address', s.address, 'place', s.place, 'name', s.name,
        'userId', s.user_id, 'placeholders', coalesce((select parts from delivery where ref = ${turnId} || '@' || s.address), '[]'))
        order by s.linked_at, s.address), '[]')
      from surface s where s.session = ${session} and s.address <> ${address})`;
}

/** Expression: the id in a part of an address, as `parseAddress` reads it. */
function idIn(sql: Sql, part: Fragment): Fragment {
  return sql`replace(replace(${part}, '=3A', ':'), '=3D', '=')`;
}

/** CTE `others`: the other chats that get the turn's end, with their payloads. Over HTTP the stored message is enough. */
export function deliveredElsewhere(
  sql: Sql,
  turnId: string,
  { message, groups, shownOn }: NonNullable<TurnFinish['elsewhere']>,
) {
  const chatPart = sql`split_part(address, ':', 2)`;
  const chat = idIn(sql, chatPart);
  const thread = idIn(
    sql,
    sql`substr(address, length(split_part(address, ':', 1)) + length(${chatPart}) + 3)`,
  );
  const isListed =
    groups === undefined
      ? sql``
      : sql`and (s.place = 'private' or s.address in (select jsonb_array_elements_text(${cleanJson(groups)}::jsonb)))`;
  return sql`,
    others as (
      select address, jsonb_build_object('ref', ${turnId} || '@' || address, 'message', body
        || jsonb_build_object('channel', split_part(address, ':', 1), 'chatId', ${chat})
        || case when ${thread} = '' then '{}' else jsonb_build_object('threadId', ${thread}) end) as payload
      from (
        select s.address, ${cleanJson(message)}::jsonb as body from closed join surface s on s.session = closed.session
        where s.address <> closed.address
          ${isListed}
        union all
        select shown.address, jsonb_build_object('content', shown.separated, 'media', '[]'::jsonb, 'buttons', '[]'::jsonb)
        from closed, jsonb_to_recordset(${cleanJson(shownOn)}::jsonb) as shown(address text, separated text)
        where exists (select from delivery where ref = ${turnId} || '@' || shown.address)
          and not exists (select from surface s where s.session = closed.session and s.address = shown.address)) ending
      where split_part(address, ':', 1) <> 'http')`;
}

/**
 * The chat whose conversation became the shared one starts a new one; any other returns to what it had before. The last
 * chat keeps the conversation and shares nothing any more.
 */
export async function leave(sql: Sql, address: string): Promise<LeftSurface | undefined> {
  const [shared] = await sql<
    { session: SessionKey }[]
  >`select session from surface where address = ${address}`;
  if (shared === undefined) return undefined;
  const { session } = shared;
  await lockSurfaces(sql, session);
  const [row] = await sql<(Surface & { isHome: boolean; before: string | null })[]>`
    delete from surface where address = ${address} and session = ${session}
    returning address, place, name, user_id as "userId", linked_at as "linkedAt", is_home as "isHome", before`;
  if (row === undefined) return undefined;
  const { isHome, before, ...surface } = row;
  const next = isHome ? `${address}~${randomBytes(4).toString('hex')}` : (before ?? address);
  await moveAddress(sql, address, { from: session, to: next });
  await sql`update link set ended = 'declined' where ended is null and (address = ${address} or to_address = ${address})`;
  const others = await surfacesOf(sql, session);
  if (others.length === 1) await sql`delete from surface where session = ${session}`;
  return { session, left: { ...surface, name: surface.name ?? undefined }, others };
}
