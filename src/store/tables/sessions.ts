/** Sessions and what people see of them: lists, pages, changes, forgetting. */
import { and, desc, eq, lt } from 'drizzle-orm';
import type { Ledger } from '../../contracts/ledger.ts';
import { cleanText } from '../../lib/text.ts';
import type { SessionStart } from '../../contracts/records.ts';
import { summariesOf } from '../lanes/contexts.ts';
import type { Database, Sql } from '../database/database.ts';
import { address as addresses, message, session, turn } from '../database/schema.ts';
import { asSessionKey, toMessage, toSession } from './session-rows.ts';
import { forgetSubagents } from '../lanes/subagents.ts';
import { lockLane } from '../lanes/stop.ts';
import { toUsage, usageOfTurn } from './usage.ts';

type SessionWords = Pick<
  Ledger,
  'sessionOf' | 'session' | 'sessions' | 'updateSession' | 'deleteSession' | 'messages' | 'turn'
>;

export function createSessions(database: Database, newSessions: SessionStart): SessionWords {
  const find: Ledger['session'] = (key) =>
    database.query(async (orm) => {
      const [row] = await orm
        .select()
        .from(session)
        .where(eq(session.key, cleanText(key)));
      return row === undefined ? undefined : toSession(row);
    });
  return {
    session: find,
    sessionOf: (address) =>
      database.query(async (orm) => {
        const [row] = await orm
          .select()
          .from(addresses)
          .where(eq(addresses.key, cleanText(address)));
        return row === undefined ? address : asSessionKey(row.session);
      }),
    sessions: ({ limit, ownerTokenId, before }) =>
      database.query(async (orm) => {
        const owned = ownerTokenId === undefined ? undefined : eq(session.ownerTokenId, ownerTokenId);
        const older = before === undefined ? undefined : lt(session.updatedAt, before);
        const newest = orm.select().from(session).where(and(owned, older));
        const rows = await newest.orderBy(desc(session.updatedAt), session.key).limit(limit);
        return rows.map(toSession);
      }),
    async updateSession(key, change, make) {
      if (Object.values(change).every((value) => value === undefined)) return find(key);
      return database.query(async (orm) => {
        const update = () =>
          orm
            .update(session)
            .set(change)
            .where(eq(session.key, cleanText(key)))
            .returning();
        const [row] = await update();
        if (row !== undefined || make === undefined) return row && toSession(row);
        const fresh = { key: cleanText(key), ...newSessions, ...make, ...change };
        const [made] = await orm.insert(session).values(fresh).onConflictDoNothing().returning();
        // Somebody else made it meanwhile: what may be done to it is asked anew.
        return made && toSession(made);
      });
    },
    deleteSession: (key) =>
      database.transaction((sql, attempt) => deleteSession(sql, cleanText(key), attempt)),
    messages: (key, { limit, before }) =>
      database.query(async (orm) => {
        const older = before === undefined ? undefined : lt(message.seq, before);
        const newest = orm
          .select()
          .from(message)
          .where(and(eq(message.session, cleanText(key)), older));
        const rows = await newest.orderBy(desc(message.seq)).limit(limit);
        return rows.toReversed().map(toMessage);
      }),
    turn: (turnId) =>
      database.query(async (orm) => {
        const final = and(eq(message.session, turn.session), eq(message.seq, turn.finalSeq));
        const ended = orm.select().from(turn).leftJoin(message, final);
        const spent = usageOfTurn(orm, cleanText(turnId));
        const found = ended.leftJoin(spent, eq(spent.turnId, turn.id));
        const [row] = await found.where(eq(turn.id, cleanText(turnId)));
        if (row === undefined) return undefined;
        const { session: key, state, reason } = row.turn;
        return {
          session: asSessionKey(key),
          state,
          reason: reason ?? undefined,
          final: row.message === null ? undefined : toMessage(row.message),
          usage: row.spent === null ? undefined : toUsage(row.spent),
        };
      }),
  };
}

/**
 * Forgets everything but the lane's own row: its epoch must never come again, or a turn that still runs could write
 * into a new session of the same name. That turn is fenced off.
 */
async function deleteSession(sql: Sql, key: string, attempt: number): Promise<boolean> {
  const lane = `in:${key}`;
  await lockLane(sql, lane);
  await sql`
    update lane set head = tail, stop_seq = tail, owner = null, epoch = epoch + 1, wake_at = now() where key = ${lane}`;
  await forgetSubagents(sql, asSessionKey(key));
  const turns = sql`select id from turn where session = ${key}`;
  await sql`delete from delivery where ref in (${turns})
    or ref in (select 'plan:' || id from plan where session = ${key})`;
  await sql`delete from approval where turn_id in (${turns})`;
  await sql`delete from context where turn_id in (${turns}) or turn_id = ${summariesOf(key)}`;
  await sql`delete from msg where lane = ${lane}`;
  await sql`delete from message where session = ${key}`;
  for (const table of ['plan', 'todo', 'scratchpad', 'schedule']) {
    await sql`delete from ${sql(table)} where session = ${key}`;
  }
  await sql`delete from turn where session = ${key}`;
  await sql`delete from address where session = ${key}`;
  const gone = await sql`delete from session where key = ${key} returning key`;
  // At a repetition the run before may have deleted it.
  return gone.length > 0 || attempt > 0;
}
