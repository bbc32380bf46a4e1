/** The ledger over a database: every transaction in a message's life, and the session store. */
import type { Ledger, SessionStore } from '../../protocol/store/ledger.ts';
import { cleanText } from '../../lib/text.ts';
import { SESSION_START, type SessionStart } from '../../protocol/store/records.ts';
import { createAccept } from './accept.ts';
import { callerResults, waitingCalls } from '../lanes/caller-tools.ts';
import type { Database, Sql } from '../database/database.ts';
import { noteSettled } from '../lanes/budgets.ts';
import { createDeliveries } from '../lanes/deliveries.ts';
import { createJournal, sessionOfLane, trustSession } from '../lanes/journal.ts';
import { type Address, addressOf } from '../../protocol/message.ts';
import { createPlanSteps } from './plan-steps.ts';
import { createJoining } from './steering.ts';
import { dedupeKey, over } from '../lanes/lane-sql.ts';
import { deleteSession } from './delete-session.ts';
import { asSessionKey, createSessions } from '../tables/sessions.ts';
import { createSessionLists } from './session-list.ts';
import { acceptRetry } from './tries.ts';
import { planOf } from '../lanes/stop.ts';
import { createTurnFinish } from './finish-turn.ts';
import { openTurn } from './open-turn.ts';
import { noteUsage } from '../tables/usage.ts';

/** Connections to one database: for notes of platform ids alone, for searches alone, and for everything else. */
export interface LedgerDatabases {
  database: Database;
  notes: Database;
  searches: Database;
}

/** The `Ledger` over a database. */
export function createLedger(
  { database, notes, searches }: LedgerDatabases,
  newSessions: SessionStart = SESSION_START,
): Ledger {
  const accept = createAccept(database, newSessions);
  const finishTurn = createTurnFinish(database);
  return {
    ...createSessionStore(database, searches, newSessions),
    accept: (request) =>
      request.retryOf === undefined
        ? accept(request)
        : acceptRetry(database, { ...request, retryOf: request.retryOf }, newSessions),
    openTurn: (fence, turnId, historyLimit, userId) =>
      openTurn(database, fence, turnId, historyLimit, userId),
    ...createJournal(database),
    callerResults: (results) => database.transaction((sql) => callerResults(sql, results)),
    ...createPlanSteps(database),
    finishTurn: (fence, finish) => finishTurn({ fence, finish }),
    ...createDeliveries(database, notes),
    ...createJoining(database),
    turnAt: (fence) =>
      database.row(
        (sql) => sql<{ turnId: string; address: Address }[]>`
          select id as "turnId", address from turn where session = ${sessionOfLane(fence)} and lane_seq = ${fence.seq}`,
      ),
    thinkingOf: async (turnId) => {
      const rows = await database.rows(
        (sql) => sql<{ thinking: string }[]>`
          select payload ->> 'thinking' as thinking from context
          where turn_id = ${turnId} and kind = 'assistant' and payload ->> 'thinking' <> '' order by seq`,
      );
      return rows.map(({ thinking }) => thinking);
    },
    planOf: (turnId) => database.run((sql) => planOf(sql, turnId)),
    noteUsage: (note) =>
      note.settles === undefined ? noteUsage(database, note) : noteSettled(database, note),
  };
}

function createSessionStore(database: Database, searches: Database, newSessions: SessionStart): SessionStore {
  const sessions = createSessions(database, newSessions);
  return {
    newSessions,
    ...sessions,
    ...createSessionLists(database, searches),
    turn: async (turnId) => {
      const turn = await sessions.turn(turnId);
      if (turn?.state !== 'parked') return turn;
      const waitsFor = await database.run((sql) => waitingCalls(sql, turnId));
      return waitsFor === undefined ? turn : { ...turn, waitsFor };
    },
    deleteSession: (key) => deleteSession(database, key),
    newestFrom: (key, senderId) =>
      database.run((sql) => newestFrom(sql, `in:${cleanText(key)}`, cleanText(senderId))),
    trustSession: (key) => database.transaction((sql) => trustSession(sql, asSessionKey(cleanText(key)))),
    wasAccepted: ({ id, sessionKey, ...place }) =>
      database.exists(
        (sql) => sql`
          select from lane_item where dedupe = ${dedupeKey(id)} and lane = 'in:' || coalesce(
            ${sessionKey ?? null}, (select session from address where key = ${cleanText(addressOf(place))}),
            ${cleanText(addressOf(place))})`,
      ),
    queue: (key) => database.run((sql) => queue(sql, `in:${cleanText(key)}`)),
    counts: () => database.run(counts),
    sessionCount: (ownerTokenId, limit) =>
      database.run(async (sql) => {
        const [row] = await sql<{ count: number }[]>`
          select count(*)::int as count
          from (select from session where owner_token_id = ${cleanText(ownerTokenId)} limit ${limit}) owned`;
        return row?.count ?? 0;
      }),
    unfinishedTurns: (turnIds) =>
      database.run(async (sql) => {
        const rows = await sql<{ id: string }[]>`
          select id from turn where state in ('queued', 'running')
            and id in (select jsonb_array_elements_text(${JSON.stringify(turnIds)}::jsonb))`;
        return new Set(rows.map(({ id }) => id));
      }),
  };
}

/** Number of messages of a session that are searched for the newest one of a sender. */
const NEWEST_LOOKED_THROUGH = 50;

async function newestFrom(sql: Sql, lane: string, senderId: string): ReturnType<SessionStore['newestFrom']> {
  const [row] = await sql<NonNullable<Awaited<ReturnType<SessionStore['newestFrom']>>>[]>`
    with newest as (select seq, payload from lane_item where lane = ${lane} order by seq desc limit ${NEWEST_LOOKED_THROUGH})
    select turn.id as "turnId", turn.user_seq as seq, newest.payload -> 'message' ->> 'content' as content,
      (newest.payload -> 'message' ->> 'timestamp')::float8 as "sentAt"
    from newest join turn on turn.id = newest.payload ->> 'turnId'
    where newest.payload -> 'message' ->> 'senderId' = ${senderId} order by newest.seq desc limit 1`;
  return row;
}

async function queue(sql: Sql, lane: string): ReturnType<SessionStore['queue']> {
  const [row] = await sql<{ busy: boolean; waiting: number }[]>`
    with pending as (
      select item.seq, turn.state from lane_item item join turn on turn.id = item.payload ->> 'turnId'
      where item.lane = ${lane} and item.seq > (select head from lane where key = ${lane}) and item.done_at is null)
    select owner is not null or exists (select from pending where seq = head + 1 and state = 'parked') as busy,
      (select count(*)::int from pending
        where state <> 'parked' and seq > greatest(${over(sql)}, case when owner is null then head else head + 1 end)) as waiting
    from lane where key = ${lane} and tail > head`;
  return row ?? { busy: false, waiting: 0 };
}

async function counts(sql: Sql): ReturnType<SessionStore['counts']> {
  const [row] = await sql<Awaited<ReturnType<SessionStore['counts']>>[]>`
    select
      (select coalesce(sum(tail - ${over(sql)}), 0)::int from lane where tail > head and class = 'in') as pending,
      (select count(*)::int from lane where owner is not null and class = 'in') as running,
      (select count(*)::int from lane_item where dead) as "deadLetters",
      (select count(*)::int from session) as sessions,
      (select count(*)::int from node where lease_until > now()) as gateways`;
  return row ?? { pending: 0, running: 0, deadLetters: 0, sessions: 0, gateways: 0 };
}
