/** Sessions and their messages: lists, pages, changes. */
import type { SessionStore } from '../../protocol/store/ledger.ts';
import { cleanText } from '../../lib/text.ts';
import type { MessageRecord, SessionStart } from '../../protocol/store/records.ts';
import type { Database } from '../database/database.ts';
import { and, desc, eq, isNull, lt, sql } from '../database/drizzle.ts';
import { address as addresses, message, session, turn } from '../database/schema.ts';
import { asSessionKey, toMessage, toSession } from './session-rows.ts';
import { toUsage, usageOfTurn } from './usage.ts';

/** What is known about the answers to a message's question: whether the model reads them, and which one its turn is. */
const triesOfMessage = {
  leftOut: turn.leftOut,
  first: sql<string>`coalesce(${turn.retryOf}, ${turn.id})`,
  // The model reads a question as long as it reads one of its answers.
  othersRead: sql<boolean>`exists (select from turn other where other.retry_of = ${turn.id} and not other.left_out)`,
  nth: sql<number>`(select count(*)::int from turn other
    where (other.retry_of = coalesce(${turn.retryOf}, ${turn.id}) or other.id = coalesce(${turn.retryOf}, ${turn.id}))
      and other.lane_seq <= ${turn.laneSeq})`,
  // The model of its last answer: a turn may have continued with another model.
  model: sql<string | null>`(select answered.payload ->> 'model' from context answered
    where answered.turn_id = ${turn.id} and answered.kind = 'assistant' and answered.payload ? 'model'
    order by answered.seq desc limit 1)`,
  count: sql<number>`(select count(*)::int + 1 from turn other where other.retry_of = coalesce(${turn.retryOf}, ${turn.id}))`,
};

interface Marks {
  leftOut: boolean | null;
  first: string;
  othersRead: boolean;
  nth: number;
  count: number;
  model: string | null;
}

type MessageMarks = Pick<MessageRecord, 'leftOut' | 'tries' | 'model'>;

function marksOf(marks: Marks | null, { role }: { role: string }): MessageMarks {
  if (marks === null) return {};
  const { leftOut, first: of, othersRead, nth, count, model } = marks;
  const isAnswer = role === 'assistant';
  return {
    ...(leftOut === true && (isAnswer || !othersRead) && { leftOut: true }),
    ...(isAnswer && model !== null && { model }),
    ...(isAnswer && count > 1 && { tries: { of, nth, count } }),
  };
}

type SessionsOfTables = Omit<
  SessionStore,
  | 'newSessions'
  | 'listSessions'
  | 'searchSessions'
  | 'deleteSession'
  | 'trustSession'
  | 'newestFrom'
  | 'queue'
  | 'counts'
  | 'sessionCount'
  | 'unfinishedTurns'
>;

/** Creates the functions of `SessionStore` that read and write rows of single tables. */
export function createSessions(database: Database, newSessions: SessionStart): SessionsOfTables {
  const find: SessionStore['session'] = (key) =>
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
    updateSession: updateSessionIn(database, find, newSessions),
    titleSession: (key, title) =>
      database.query(async (orm) => {
        const untitled = and(eq(session.key, cleanText(key)), isNull(session.title));
        const titled = orm
          .update(session)
          .set({ title: cleanText(title) })
          .where(untitled);
        return (await titled.returning({ key: session.key })).length > 0;
      }),
    messages: messagesIn(database),
    turn: turnIn(database),
  };
}

function updateSessionIn(
  database: Database,
  find: SessionStore['session'],
  newSessions: SessionStart,
): SessionStore['updateSession'] {
  return async (key, asked, make) => {
    const change = { ...asked, ...(asked.profileId !== undefined && { profileChosen: true }) };
    const isSame = Object.values(change).every((value) => value === undefined);
    const known = isSame ? await find(key) : undefined;
    if (known !== undefined || (isSame && make === undefined)) return known;
    return database.query(async (orm) => {
      const update = () =>
        orm
          .update(session)
          .set(change)
          .where(eq(session.key, cleanText(key)))
          .returning();
      const [row] = isSame ? [] : await update();
      if (row !== undefined || make === undefined) return row && toSession(row);
      const fresh = { key: cleanText(key), ...newSessions, ...make, ...change };
      const [made] = await orm.insert(session).values(fresh).onConflictDoNothing().returning();
      // Another call created it in the meantime: the caller must check again who owns it.
      return made && toSession(made);
    });
  };
}

function messagesIn(database: Database): SessionStore['messages'] {
  return (key, { limit, before }) =>
    database.query(async (orm) => {
      const older = before === undefined ? undefined : lt(message.seq, before);
      const newest = orm
        .select({ row: message, turn: triesOfMessage })
        .from(message)
        .leftJoin(turn, eq(turn.id, sql`split_part(${message.turnId}, '.', 1)`))
        .where(and(eq(message.session, cleanText(key)), older));
      const rows = await newest.orderBy(desc(message.seq)).limit(limit);
      return rows.toReversed().map(({ row, turn: marks }) => ({ ...toMessage(row), ...marksOf(marks, row) }));
    });
}

function turnIn(database: Database): SessionStore['turn'] {
  return (turnId) =>
    database.query(async (orm) => {
      const final = and(eq(message.session, turn.session), eq(message.seq, turn.finalSeq));
      const ended = orm.select().from(turn).leftJoin(message, final);
      const spent = usageOfTurn(orm, cleanText(turnId));
      const found = ended.leftJoin(spent, eq(spent.turnId, turn.id));
      const [row] = await found.where(eq(turn.id, cleanText(turnId)));
      if (row === undefined) return undefined;
      const { session: key, state, reason, failure } = row.turn;
      return {
        session: asSessionKey(key),
        state,
        reason: reason ?? undefined,
        failure: failure ?? undefined,
        final: row.message === null ? undefined : toMessage(row.message),
        usage: row.spent === null ? undefined : toUsage(row.spent),
      };
    });
}
