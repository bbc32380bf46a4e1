/** The ledger over a database: every transaction of a message's life, and the session store beside them. */
import type { Ledger, SessionStore } from '../../contracts/ledger.ts';
import { cleanText } from '../../lib/text.ts';
import { SESSION_START } from '../../contracts/records.ts';
import type { SessionStart } from '../../contracts/records.ts';
import { accept } from './accept.ts';
import type { Database, Sql } from '../database/database.ts';
import { createDeliveries } from './deliveries.ts';
import { createJournal } from './journal.ts';
import { createPlanSteps } from './plan-steps.ts';
import { createJoining } from './steering.ts';
import { over } from './lane-sql.ts';
import { deleteSession } from './delete-session.ts';
import { createSessions } from '../tables/sessions.ts';
import { planOf } from './turn-plan.ts';
import { finishTurn, openTurn } from './turns.ts';
import { noteUsage } from '../tables/usage.ts';

/** The `Ledger` over a database. */
export function createLedger(database: Database, newSessions: SessionStart = SESSION_START): Ledger {
  return {
    ...createSessionStore(database, newSessions),
    accept: (request) => accept(database, request, newSessions),
    openTurn: (fence, turnId, historyLimit, userId) =>
      database.run((sql) => openTurn(sql, fence, turnId, historyLimit, userId)),
    ...createJournal(database),
    ...createPlanSteps(database),
    finishTurn: (fence, finish) => database.run((sql) => finishTurn(sql, fence, finish)),
    ...createDeliveries(database),
    ...createJoining(database),
    planOf: (turnId) => database.run((sql) => planOf(sql, turnId)),
    noteUsage: (note) => noteUsage(database, note),
  };
}

function createSessionStore(database: Database, newSessions: SessionStart): SessionStore {
  return {
    newSessions,
    ...createSessions(database, newSessions),
    deleteSession: (key) => deleteSession(database, key),
    queue: (key) => database.run((sql) => queue(sql, `in:${cleanText(key)}`)),
    counts: () => database.run(counts),
  };
}

async function queue(sql: Sql, lane: string): ReturnType<SessionStore['queue']> {
  const [row] = await sql<{ busy: boolean; waiting: number }[]>`
    with found as (
      select *, owner is not null or exists (
        select from lane_item join turn on turn.id = lane_item.payload ->> 'turnId'
        where lane_item.lane = key and lane_item.seq = head + 1 and turn.state = 'parked') as busy
      from lane where key = ${lane} and tail > head)
    select busy, greatest(tail - greatest(${over(sql)}, case when busy then head + 1 else head end), 0)::int as waiting
    from found`;
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
