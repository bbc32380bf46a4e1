/** The browsers that are notified by Web Push, and what they are to be told. */
import {
  LONG_TURN_MS,
  MAX_PUSH_SUBSCRIPTIONS,
  MAX_WAITING_PUSHES,
  type PushBrowser,
  type PushFacts,
  type PushNote,
  type PushStore,
} from '../../protocol/operator/push.ts';
import { newId } from '../../lib/ids.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';

/** Number of newest turns that are examined after a crash, and of notes that one search finds. */
const MAX_TURNS = 5_000;
const MAX_NOTES = 1_000;
/** How long a turn may wait for a person before its next fact, in milliseconds. */
const LONGEST_MS = 24 * 60 * 60_000;
/** Longest name of a browser, in UTF-16 units. */
const MAX_CLIENT = 200;

/** The `PushStore` over a database. */
export function createPushStore(database: Database): PushStore {
  return {
    addTarget: ({ id, tokenId, endpoint, keys, contact }, client) =>
      database.transaction(async (sql) => {
        // Two browsers that subscribe at once count each other.
        await sql`select pg_advisory_xact_lock(hashtextextended(${`push ${tokenId}`}, 0))`;
        const rows = await sql`
          insert into push_subscription (id, token_id, endpoint, p256dh, auth, contact, client)
          select ${id}, ${tokenId}, ${endpoint}, ${keys.p256dh}, ${keys.auth}, ${contact ?? null},
            ${cleanText(client).slice(0, MAX_CLIENT)}
          where (select count(*) from push_subscription where token_id = ${tokenId} and id <> ${id}) < ${MAX_PUSH_SUBSCRIPTIONS}
          on conflict (id) do update set p256dh = excluded.p256dh, auth = excluded.auth, contact = excluded.contact
          returning id`;
        return rows.length > 0;
      }),
    target: (id) =>
      database.run(async (sql) => {
        const [row] = await sql<
          {
            id: string;
            tokenId: string;
            endpoint: string;
            p256dh: string;
            auth: string;
            contact: string | null;
          }[]
        >`select p.id, p.token_id as "tokenId", endpoint, p256dh, auth, contact
          from push_subscription p join token t on t.id = p.token_id where p.id = ${id} and ${isValid(sql)}`;
        if (row === undefined) return undefined;
        const { p256dh, auth, contact, ...target } = row;
        return { ...target, keys: { p256dh, auth }, contact: contact ?? undefined };
      }),
    browsers: (tokenId) =>
      database.rows(
        (sql) => sql<PushBrowser[]>`
          select id, client, created_at as "createdAt" from push_subscription
          where token_id = ${tokenId} order by created_at, id`,
      ),
    removeTarget: (id, tokenId) =>
      database.exists(
        (sql) => sql`
          delete from push_subscription
          where id = ${cleanText(id)} and token_id = coalesce(${tokenId ?? null}, token_id) returning id`,
      ),
    hasTargets: () => database.exists((sql) => sql`select from push_subscription limit 1`),
    dueNotes: (of) => database.run((sql) => dueNotes(sql, of)),
    isPending: (approvalId) =>
      database.exists(
        (sql) => sql`select from approval where id = ${cleanText(approvalId)} and state = 'pending'`,
      ),
  };
}

function isValid(sql: Sql) {
  return sql`t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`;
}

/**
 * Answers go to the browsers of the token that owns the session; questions also to those of admins, who see all of them.
 * Selects by the ids of turns, which begin with their time.
 */
async function dueNotes(sql: Sql, of: PushFacts): ReturnType<PushStore['dueNotes']> {
  const since = 'since' in of ? of.since : 0;
  const these =
    'turnId' in of
      ? sql`id = ${cleanText(of.turnId)}`
      : sql`id >= ${newId(Math.max(0, since - LONGEST_MS)).slice(0, 13)}`;
  const rows = await sql<(PushNote & { target: string; isFull: boolean })[]>`
    with recent as (
      select id, session, state, reason, created_at, ended_at from turn where ${these} order by id desc limit ${MAX_TURNS}),
    facts as (
      select id as subject, session, 'turn_ended' as type, ended_at as moment from recent
      where state = 'done' and reason <> 'stopped' and ended_at - created_at >= ${LONG_TURN_MS}::float8 * interval '1 ms'
      union all select approval.id, recent.session, 'approval_needed', approval.created_at
        from recent join approval on approval.turn_id = recent.id where approval.state = 'pending')
    select p.id as target, type || ':' || subject as id, type, subject, facts.session as "sessionKey",
      floor(extract(epoch from moment) * 1000)::float8 as at,
      coalesce((select tail - head from lane where key = 'push:' || p.id), 0) >= ${MAX_WAITING_PUSHES} as "isFull"
    from facts join session s on s.key = facts.session
      join push_subscription p on p.created_at <= moment
      join token t on t.id = p.token_id and ${isValid(sql)}
    where moment >= to_timestamp(${since}::float8 / 1000)
      and (s.owner_token_id = p.token_id or (type = 'approval_needed' and t.scopes ? 'admin'))
      and (type = 'turn_ended' or t.scopes ?| array['admin', 'approve'])
      and not exists (
        select from lane_item i where i.lane = 'push:' || p.id and i.dedupe = type || ':' || subject)
    order by moment, subject limit ${MAX_NOTES}`;
  return rows.map(({ target, isFull, ...note }) => ({ target, note, isFull }));
}
