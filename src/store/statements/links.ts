/** Codes with which a chat joins the session of another: given, entered, agreed to by both sides. */
import {
  type AgreedLink,
  type EnteredCode,
  LINK_CODE_MS,
  LINK_TRIES,
  LINK_TRIES_MS,
  MAX_SURFACES,
  type OpenLink,
  sidesOf,
  type Surface,
  type SurfaceEnd,
  type SurfaceStore,
} from '../../protocol/sessions/surfaces.ts';
import { cleanText } from '../../lib/text.ts';
import type { Address, SessionKey } from '../../protocol/message.ts';
import { type Database, type Sql, withoutNulls } from '../database/database.ts';
import { asSessionKey } from '../tables/sessions.ts';
import { leave, lockSurfaces, moveAddress, selectSurfaces, surfacesOf } from './surfaces.ts';

interface LinkRow extends SurfaceEnd {
  hash: string;
  session: SessionKey;
  agreed: boolean;
  toAddress?: Address;
  toPlace?: SurfaceEnd['place'];
  toName?: string;
  toUserId?: string;
  toAgreed: boolean;
  ended?: 'joined' | 'declined' | 'replaced';
  expired: boolean;
}

/** Digits of the digest that name a link: far fewer than a code needs. */
const ID_LENGTH = 16;

/** The `SurfaceStore` over a database. */
export function createSurfaces(database: Database): SurfaceStore {
  return {
    surfaces: (session) => database.run((sql) => surfacesOf(sql, cleanText(session))),
    surface: (address) =>
      database.row((sql) => sql<Surface[]>`${selectSurfaces(sql)} where address = ${cleanText(address)}`),
    leave: (address) => database.transaction((sql) => leave(sql, cleanText(address))),
    giveCode: (hash, from) => database.transaction((sql) => giveCode(sql, hash, from)),
    enterCode: (hash, to) => database.transaction((sql) => enterCode(sql, hash, cleanEnd(to))),
    openLink: (address) => database.run(async (sql) => openOf(await openRow(sql, cleanText(address)))),
    agree: (by) =>
      database.transaction((sql) => agree(sql, { ...by, address: asSessionKey(cleanText(by.address)) })),
    decline: (address, id) =>
      database.transaction(async (sql) => {
        const row = await openRow(sql, cleanText(address), id);
        if (row !== undefined) await sql`update link set ended = 'declined' where hash = ${row.hash}`;
        return openOf(row);
      }),
  };
}

function cleanEnd({ address, place, name, userId }: SurfaceEnd): SurfaceEnd {
  return {
    address: asSessionKey(cleanText(address)),
    place,
    name: name === undefined ? undefined : cleanText(name),
    userId: cleanText(userId),
  };
}

/** Codes and tries that expired a day ago are deleted with each new code, so that neither table grows. */
async function giveCode(
  sql: Sql,
  hash: string,
  end: SurfaceEnd & { session: string },
): ReturnType<SurfaceStore['giveCode']> {
  const from = cleanEnd(end);
  const session = cleanText(end.session);
  await sql`delete from link where expires_at < now() - interval '1 day'`;
  if ((await surfacesOf(sql, session)).length >= MAX_SURFACES) return undefined;
  await sql`update link set ended = 'replaced' where address = ${from.address} and ended is null`;
  const [row] = await sql<{ expiresAt: Date }[]>`
    insert into link (hash, session, address, place, name, user_id, expires_at)
    values (${hash}, ${session}, ${from.address}, ${from.place}, ${from.name ?? null}, ${from.userId},
      now() + ${LINK_CODE_MS}::float8 * interval '1 millisecond')
    on conflict (hash) do update set hash = excluded.hash
    returning expires_at as "expiresAt"`;
  return row;
}

function select(sql: Sql) {
  return sql`
    select hash, session, address, place, name, user_id as "userId", agreed, to_address as "toAddress",
      to_place as "toPlace", to_name as "toName", to_user_id as "toUserId", to_agreed as "toAgreed", ended,
      expires_at <= now() as expired from link`;
}

/** The newest link of either side that was entered and has not expired, locked. */
async function openRow(sql: Sql, address: string, id?: string): Promise<LinkRow | undefined> {
  const withId = id === undefined ? sql`` : sql`and starts_with(hash, ${cleanText(id)})`;
  const rows = await sql<LinkRow[]>`
    ${select(sql)} where (address = ${address} or to_address = ${address}) and to_address is not null
      and ended is null and expires_at > now() ${withId}
    order by created_at desc, hash limit 1 for update`;
  return withoutNulls(rows)[0];
}

function openOf(row: LinkRow | undefined): OpenLink | undefined {
  if (row?.toAddress === undefined || row.toPlace === undefined || row.toUserId === undefined)
    return undefined;
  const { hash, session, address, place, name, userId, agreed, toAgreed } = row;
  const from = { address, place, name, userId };
  const to = { address: row.toAddress, place: row.toPlace, name: row.toName, userId: row.toUserId };
  // The conversation of a chat on the web is the one of its own name.
  const host = sidesOf({ from, to }).host === from ? session : to.address;
  return { id: hash.slice(0, ID_LENGTH), session: host, from, to, agreed: { from: agreed, to: toAgreed } };
}

async function enterCode(sql: Sql, hash: string, to: SurfaceEnd): Promise<EnteredCode> {
  // One at a time: simultaneous guesses are counted one after another.
  await sql`select pg_advisory_xact_lock(hashtextextended('link_try', 0))`;
  const tries = await triesOf(sql, to);
  const limited = { kind: 'limited', retryAfterMs: tries.retryAfterMs, reached: false } as const;
  const own = LINK_TRIES.person - tries.person;
  if (own <= 0) return limited;
  const [row] = withoutNulls(await sql<LinkRow[]>`${select(sql)} where hash = ${hash} for update`);
  // A right code is let in whatever others have tried: they must not lock anyone out.
  if (row === undefined) {
    await sql`insert into link_try (user_id, address) values (${to.userId}, ${to.address})`;
    const remaining = Math.min(own, LINK_TRIES.chat - tries.chat, LINK_TRIES.total - tries.total);
    if (remaining <= 0) return limited;
    if (remaining > 1) return { kind: 'unknown', triesLeft: remaining - 1 };
    return { kind: 'limited', retryAfterMs: LINK_TRIES_MS, reached: true };
  }
  if (row.ended === 'joined') return { kind: 'used' };
  if (row.ended !== undefined || row.expired) return { kind: 'expired' };
  if (row.toAddress !== undefined && row.toAddress !== to.address) return { kind: 'used' };
  const refusal = await refusalOf(sql, row, to);
  if (refusal !== undefined) return refusal;
  await sql`
    update link set ended = 'replaced'
    where to_address = ${to.address} and ended is null and hash <> ${hash}`;
  await sql`
    update link set to_address = ${to.address}, to_place = ${to.place}, to_name = ${to.name ?? null}, to_user_id = ${to.userId}
    where hash = ${hash}`;
  const link = openOf({
    ...row,
    toAddress: to.address,
    toPlace: to.place,
    toName: to.name,
    toUserId: to.userId,
  });
  return link === undefined
    ? { kind: 'expired' }
    : { kind: 'asked', link, again: row.toAddress !== undefined };
}

/** Why the two chats cannot share a conversation. */
async function refusalOf(sql: Sql, row: LinkRow, to: SurfaceEnd): Promise<EnteredCode | undefined> {
  const { host, guest } = sidesOf({ from: row, to });
  const [now] = await sql<{ here: string; host: string; guestShares: boolean }[]>`
    select coalesce((select session from address where key = ${to.address}), ${to.address}) as here,
      coalesce((select session from address where key = ${host.address}), ${host.address}) as host,
      exists (select from surface where address = ${guest.address}) as "guestShares"`;
  if (now === undefined || row.address === to.address || now.here === row.session) return { kind: 'same' };
  if (guest.address.startsWith('http:')) return { kind: 'web' };
  if (now.guestShares) return { kind: 'linked', giver: guest === row };
  const full = (await surfacesOf(sql, now.host)).length >= MAX_SURFACES;
  return full ? { kind: 'full', limit: MAX_SURFACES } : undefined;
}

async function triesOf(sql: Sql, { userId, address }: SurfaceEnd) {
  await sql`delete from link_try where at < now() - ${LINK_TRIES_MS}::float8 * interval '1 millisecond'`;
  const [row] = await sql<{ person: number; chat: number; total: number; retryAfterMs: number }[]>`
    select count(*) filter (where user_id = ${userId})::int as person,
      count(*) filter (where address = ${address})::int as chat, count(*)::int as total,
      coalesce((extract(epoch from max(at) - now()) * 1000)::float8 + ${LINK_TRIES_MS}::float8, 0) as "retryAfterMs"
    from link_try`;
  return row ?? { person: 0, chat: 0, total: 0, retryAfterMs: 0 };
}

async function agree(
  sql: Sql,
  { address, userId, owner, id }: Parameters<SurfaceStore['agree']>[0],
): Promise<AgreedLink> {
  const row = await openRow(sql, address, id);
  const link = openOf(row);
  if (row === undefined || link === undefined) return { kind: 'none' };
  const side = link.from.address === address ? 'from' : 'to';
  if (!owner && link[side].userId !== userId) return { kind: 'forbidden' };
  const agreed = { ...link.agreed, [side]: true };
  await sql`update link set agreed = ${agreed.from}, to_agreed = ${agreed.to} where hash = ${row.hash}`;
  if (!agreed.from || !agreed.to) return { kind: 'waiting', link: { ...link, agreed } };
  return await join(sql, row.hash, { ...link, agreed });
}

/** Both agreed: from the next message on the guest is in the session of its host. */
async function join(sql: Sql, hash: string, link: OpenLink): Promise<AgreedLink> {
  const { host, guest } = sidesOf(link);
  const [now] = await sql<{ session: string; before: string | null; shares: boolean }[]>`
    select coalesce((select session from address where key = ${host.address}), ${host.address}) as session,
      (select session from address where key = ${guest.address}) as before,
      exists (select from surface where address = ${guest.address}) as shares`;
  // Since the code was given, the first chat may have left its session, or the other may have joined another.
  if (now === undefined || now.session !== link.session || now.shares) {
    await sql`update link set ended = 'declined' where hash = ${hash}`;
    return { kind: 'none' };
  }
  await lockSurfaces(sql, link.session);
  if ((await surfacesOf(sql, link.session)).length >= MAX_SURFACES)
    return { kind: 'full', limit: MAX_SURFACES };
  await insertSurface(sql, link.session, host, { isHome: true, before: null });
  await insertSurface(sql, link.session, guest, { isHome: false, before: now.before });
  await moveAddress(sql, guest.address, { from: now.before ?? guest.address, to: link.session });
  await sql`update link set ended = 'joined' where hash = ${hash}`;
  const surfaces = await surfacesOf(sql, link.session);
  return { kind: 'joined', session: link.session, link, surfaces };
}

async function insertSurface(
  sql: Sql,
  session: string,
  { address, place, name, userId }: SurfaceEnd,
  { isHome, before }: { isHome: boolean; before: string | null },
): Promise<void> {
  await sql`
    insert into surface (address, session, place, name, user_id, is_home, before)
    values (${address}, ${session}, ${place}, ${name ?? null}, ${userId}, ${isHome}, ${before})
    on conflict (address) do nothing`;
}
