/** What channels store about their platforms: connections, posted updates, settings of chats; and the chats that wrote. */
import {
  type ConnectionRecord,
  type ConnectionStore,
  KEPT_UPDATE_HOURS,
  MAX_WAITING_UPDATES,
  type UpdateStore,
} from '../../protocol/receive.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import { type Database, readClock, type Sql, withoutNulls } from '../database/database.ts';
import { type Address, chatOf, isAddress } from '../../protocol/message.ts';
import { type Contact, type ContactStore, MAX_CONTACTS_FOUND } from '../../protocol/delivery.ts';
import type { ChatSettingStore, KeyStore } from '../../protocol/channel.ts';

interface ConnectionRow {
  session?: string;
  sequence: number;
  detail: Record<string, unknown>;
  heardAt?: Date;
  day?: string;
  begunOnDay: number;
  begunAt?: Date;
  shortSessions: number;
}

/** The `ConnectionStore` over a database. A position in the future was written before the clock was set back: ignored. */
export function createConnections(database: Database): ConnectionStore {
  return {
    epochNow: () => database.run(readClock),
    connection: (key) =>
      database.run(async (sql) => {
        const rows = await sql<ConnectionRow[]>`
          select session, sequence::float8 as sequence, detail, day, begun_on_day as "begunOnDay",
            case when heard_at <= clock_timestamp() then heard_at end as "heardAt",
            begun_at as "begunAt", short_sessions as "shortSessions"
          from connection where key = ${key}`;
        return withoutNulls(rows).map(toRecord)[0];
      }),
    saveSession: (key, { id, sequence, detail }, heardAt) =>
      database.write(
        (sql) => sql`
          insert into connection as kept (key, session, sequence, detail, heard_at)
          values (${key}, ${id}, ${sequence}, ${cleanJson(detail)}::jsonb, ${isoOf(heardAt)})
          on conflict (key) do update set session = excluded.session, detail = excluded.detail,
            sequence = case when kept.session = excluded.session then greatest(kept.sequence, excluded.sequence)
              else excluded.sequence end,
            heard_at = case when kept.heard_at <= clock_timestamp() then greatest(kept.heard_at, excluded.heard_at)
              else excluded.heard_at end`,
      ),
    countSession: (key, { begunAt, day, shortSessions }, previous) =>
      database.run(async (sql, attempt) => {
        const at = isoOf(begunAt);
        const previousAt = previous === undefined ? null : isoOf(previous);
        const rows = await sql`
          insert into connection as kept (key, day, begun_on_day, begun_at, short_sessions)
          values (${key}, ${day}, 1, ${at}, ${shortSessions})
          on conflict (key) do update set day = excluded.day, begun_at = excluded.begun_at,
            begun_on_day = case when kept.day = excluded.day then kept.begun_on_day + 1 else 1 end,
            short_sessions = excluded.short_sessions
          where kept.begun_at is not distinct from ${previousAt}::timestamptz
          returning key`;
        if (rows.length > 0 || attempt === 0) return rows.length > 0;
        // The previous attempt may have counted this one.
        return (await sql`select 1 from connection where key = ${key} and begun_at = ${at}`).length > 0;
      }),
    heardChats: (channel, { since, limit }) =>
      database.run(async (sql) => {
        const prefix = `${channel}:`;
        const rows = await sql<{ address: Address; changedAt: Date; total: number }[]>`
          with heard as (
            select key as address, updated_at from session where starts_with(key, ${prefix})
            union all
            select a.key, s.updated_at from address a join session s on s.key = a.session
            where starts_with(a.key, ${prefix}))
          select address, max(updated_at) as "changedAt", (count(*) over ())::int as total from heard
          where updated_at >= ${isoOf(since)} group by address order by max(updated_at) desc, address limit ${limit}`;
        const chats = rows.map(({ address, changedAt }) => ({ address, changedAt: changedAt.getTime() }));
        return { chats, total: rows[0]?.total ?? 0 };
      }),
  };
}

function toRecord({ session, sequence, detail, heardAt, begunAt, ...row }: ConnectionRow): ConnectionRecord {
  return {
    ...row,
    session: session === undefined ? undefined : { id: session, sequence, detail },
    heardAt: heardAt?.getTime(),
    begunAt: begunAt?.getTime(),
  };
}

function isoOf(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The `UpdateStore` over a database. */
export function createUpdates(database: Database): UpdateStore {
  return {
    storeUpdate: (bot, { id, update }) =>
      database.run(async (sql, attempt) => {
        const inserted = await sql`
          insert into platform_update (bot, id, body)
          select ${bot}, ${id}::bigint, ${JSON.stringify(update)}
          where (select count(*) from (
            select from platform_update where bot = ${bot} and body is not null limit ${MAX_WAITING_UPDATES}) w
          ) < ${MAX_WAITING_UPDATES}
          on conflict do nothing returning id`;
        if (inserted.length > 0) return 'stored';
        const rows = await sql`select from platform_update where bot = ${bot} and id = ${id}::bigint`;
        if (rows.length === 0) return 'full';
        // The previous attempt may have stored it.
        return attempt === 0 ? 'repeated' : 'stored';
      }),
    waitingUpdates: (bot, limit) =>
      database.run(async (sql) => {
        const rows = await sql<{ id: string; body: string }[]>`
          select id, body from platform_update where bot = ${bot} and body is not null order by id limit ${limit}`;
        return rows.map(({ id, body }) => ({ id: Number(id), update: JSON.parse(body) }));
      }),
    finishUpdates: (bot, ids) =>
      database.run(async (sql) => {
        await sql`update platform_update set body = null where bot = ${bot} and id in ${sql([...ids])}`;
        await sql`
          delete from platform_update where bot = ${bot} and body is null
            and at < now() - make_interval(hours => ${KEPT_UPDATE_HOURS})`;
      }),
  };
}

/** The `ChatSettingStore` over a database. */
export function createChatSettings(database: Database): ChatSettingStore {
  return {
    chatSetting: (chat, name) =>
      database.run(async (sql) => {
        const [row] = await sql<{ value: string }[]>`
          select value from chat_setting
          where chat = ${chat} and name = ${name} and (until is null or until > now())`;
        return row?.value;
      }),
    setChatSetting: (chat, name, value, forMs) =>
      database.run(async (sql) => {
        if (value === undefined) {
          await sql`delete from chat_setting where chat = ${chat} and name = ${name}`;
          return;
        }
        await sql`
          insert into chat_setting (chat, name, value, until)
          values (${chat}, ${name}, ${value}, now() + make_interval(secs => ${forMs === undefined ? null : forMs / 1_000}::float8))
          on conflict (chat, name) do update set value = excluded.value, until = excluded.until`;
        // Temporary settings are stored for many threads: expired ones are deleted with the next one.
        if (forMs !== undefined) await sql`delete from chat_setting where until <= now()`;
      }),
  };
}

/** Under this name a chat's row has its `Contact` as JSON. */
const CONTACT = 'contact';

/** The `ContactStore` over a database. */
export function createContacts(database: Database): ContactStore {
  return {
    noteContact: (contact) =>
      database.write(
        (sql) => sql`
          insert into chat_setting as kept (chat, name, value)
          values (${chatOf(contact.address)}, ${CONTACT}, ${cleanJson(contact)})
          on conflict (chat, name) do update set value = excluded.value where kept.value <> excluded.value`,
      ),
    contact: (id) =>
      database.run(async (sql) => {
        const [row] = await sql<{ contact: Contact }[]>`
          with ${book(sql)}
          select contact from book where chat = ${bookKey(cleanText(id))} or contact ->> 'userId' = ${cleanText(id)}
          order by chat <> ${bookKey(cleanText(id))}, chat limit 1`;
        return row?.contact;
      }),
    contacts: (name) =>
      database.run(async (sql) => {
        const word = name === undefined ? null : cleanText(name).trim().toLowerCase();
        const rows = await sql<{ contact: Contact }[]>`
          with ${book(sql)},
          matching as (
            select contact, called, chat, ${word}::text is null or called = ${word} as whole from book
            where called <> '' and (${word}::text is null or strpos(' ' || called || ' ', ' ' || ${word} || ' ') > 0))
          select contact from matching where whole or not exists (select from matching where whole)
          order by called, chat limit ${MAX_CONTACTS_FOUND}`;
        return rows.map(({ contact }) => contact);
      }),
  };
}

/** CTE: all contacts, each with its name in lower case. */
function book(sql: Sql) {
  return sql`
    book as materialized (
      select chat, contact, lower(coalesce(contact ->> 'name', '')) as called
      from (select chat, value::jsonb as contact from chat_setting where name = ${CONTACT}) rows)`;
}

/** The address of the chat without its thread; another text as it is. */
function bookKey(address: string): string {
  return isAddress(address) ? chatOf(address) : address;
}

/** The `KeyStore` over a database. */
export function createKeys(database: Database): KeyStore {
  return {
    version: (device) =>
      database.run(async (sql) => {
        const [row] = await sql<{ version: number }[]>`
          select version::float8 as version from key_store where device = ${device}`;
        return row?.version ?? 0;
      }),
    records: (device) =>
      database.run(async (sql) => {
        // One statement, so that the records belong to the version.
        const rows = await sql<{ version: number; key: string | null; value: Uint8Array }[]>`
          select s.version::float8 as version, r.key, r.value
          from key_store s left join key_record r on r.device = s.device where s.device = ${device}`;
        const records = rows.flatMap(({ key, value }): [string, Uint8Array][] =>
          key === null ? [] : [[key, value]],
        );
        return { version: rows[0]?.version ?? 0, records: new Map(records) };
      }),
    changeKeys: (device, version, changes) =>
      database.run(async (sql) => {
        const all = [...changes].map(([key, value]) => [key, value && Buffer.from(value).toString('base64')]);
        const rows = await sql`
          with fence as (
            insert into key_store as kept (device, version)
            select ${device}, 1 where ${version} = 0 or exists (select from key_store where device = ${device})
            on conflict (device) do update set version = kept.version + 1 where kept.version = ${version}
            returning device),
          change as materialized (
            select f.device, c ->> 0 as key, decode(c ->> 1, 'base64') as value
            from fence f, json_array_elements(${JSON.stringify(all)}::json) c),
          removed as (
            delete from key_record r using change c
            where r.device = c.device and r.key = c.key and c.value is null),
          stored as (
            insert into key_record (device, key, value) select * from change where value is not null
            on conflict (device, key) do update set value = excluded.value)
          select from fence`;
        return rows.length > 0;
      }),
  };
}
