/** Connections of channels to their platforms, and the chats that a channel has received messages from. */
import type { ConnectionRecord, ConnectionStore } from '../../../../protocol/receive.ts';
import { cleanJson } from '../../../../lib/json/json.ts';
import { type Database, readClock } from '../../../database/database.ts';
import { asSessionKey } from '../../session-rows.ts';

interface ConnectionRow {
  session: string | null;
  sequence: string;
  detail: Record<string, unknown>;
  heardAt: string | null;
  day: string | null;
  begunOnDay: number;
  begunAt: string | null;
  shortSessions: number;
}

/**
 * The `ConnectionStore` over a database. A position in the future, written before the clock was set back, says nothing: it
 * is read as none, and replaced.
 */
export function createConnections(database: Database): ConnectionStore {
  return {
    epochNow: () => database.run(readClock),
    connection: (key) =>
      database.run(async (sql) => {
        const [row] = await sql<ConnectionRow[]>`
          select session, sequence, detail, day, begun_on_day as "begunOnDay",
            case when heard_at <= clock_timestamp() then heard_at end as "heardAt",
            begun_at as "begunAt", short_sessions as "shortSessions"
          from connection where key = ${key}`;
        return row && toRecord(row);
      }),
    saveSession: (key, { id, sequence, detail }, heardAt) =>
      database.run(async (sql) => {
        await sql`
          insert into connection as kept (key, session, sequence, detail, heard_at)
          values (${key}, ${id}, ${sequence}, ${cleanJson(detail)}::jsonb, ${isoOf(heardAt)})
          on conflict (key) do update set session = excluded.session, detail = excluded.detail,
            sequence = case when kept.session = excluded.session then greatest(kept.sequence, excluded.sequence)
              else excluded.sequence end,
            heard_at = case when kept.heard_at <= clock_timestamp() then greatest(kept.heard_at, excluded.heard_at)
              else excluded.heard_at end`;
      }),
    countSession: (key, { begunAt, day, shortSessions }, previous) =>
      database.run(async (sql, attempt) => {
        const at = isoOf(begunAt);
        const before = previous === undefined ? null : isoOf(previous);
        const counted = await sql`
          insert into connection as kept (key, day, begun_on_day, begun_at, short_sessions)
          values (${key}, ${day}, 1, ${at}, ${shortSessions})
          on conflict (key) do update set day = excluded.day, begun_at = excluded.begun_at,
            begun_on_day = case when kept.day = excluded.day then kept.begun_on_day + 1 else 1 end,
            short_sessions = excluded.short_sessions
          where kept.begun_at is not distinct from ${before}::timestamptz
          returning key`;
        if (counted.length > 0 || attempt === 0) return counted.length > 0;
        // The previous attempt may have counted this one.
        return (await sql`select 1 from connection where key = ${key} and begun_at = ${at}`).length > 0;
      }),
    heardChats: (channel, { since, limit }) =>
      database.run(async (sql) => {
        const prefix = `${channel}:`;
        const rows = await sql<{ address: string; changedAt: string; total: string }[]>`
          with heard as (
            select key as address, updated_at from session where starts_with(key, ${prefix})
            union all
            select a.key, s.updated_at from address a join session s on s.key = a.session
            where starts_with(a.key, ${prefix}))
          select address, max(updated_at) as "changedAt", count(*) over () as total from heard
          where updated_at >= ${isoOf(since)} group by address order by max(updated_at) desc, address limit ${limit}`;
        const chats = rows.map(({ address, changedAt }) => ({
          address: asSessionKey(address),
          changedAt: new Date(changedAt).getTime(),
        }));
        return { chats, total: Number(rows[0]?.total ?? 0) };
      }),
  };
}

function toRecord(row: ConnectionRow): ConnectionRecord {
  const { session, sequence, detail, heardAt, day, begunOnDay, begunAt, shortSessions } = row;
  return {
    session: session === null ? undefined : { id: session, sequence: Number(sequence), detail },
    heardAt: heardAt === null ? undefined : new Date(heardAt).getTime(),
    day: day ?? undefined,
    begunOnDay,
    begunAt: begunAt === null ? undefined : new Date(begunAt).getTime(),
    shortSessions,
  };
}

function isoOf(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
