/** Sessions and their messages: lists, pages, changes. */
import type { SessionStore } from '../../protocol/store/ledger.ts';
import { cleanText } from '../../lib/text.ts';
import type { MessageRecord, SessionRecord, SessionStart } from '../../protocol/store/records.ts';
import type { Database } from '../database/database.ts';
import { and, desc, eq, getTableColumns, isNull, lt, sql } from '../database/drizzle.ts';
import { address as addresses, message, session, turn } from '../database/schema.ts';
import type { SessionKey } from '../../protocol/message.ts';
import { toUsage, usageOfTurn } from './usage.ts';

/** A row of `session` as JSON, with the names of the table; a time is a text. */
export type SessionJson = Readonly<Record<string, unknown>>;

/** The session in such a row. */
export function sessionOfJson(json: SessionJson): SessionRecord {
  const columns = Object.entries(getTableColumns(session));
  return toSession(
    Object.fromEntries(columns.map(([name, column]) => [name, json[column.name]])) as SessionRow,
  );
}

type SessionRow = typeof session.$inferSelect;

/** What is known about the answers to a message's question: whether the model reads them, and which one its turn is. */
const triesOfMessage = {
  leftOut: turn.leftOut,
  first: sql<string>`coalesce(${turn.retryOf}, ${turn.id})`,
  // The model reads a question as long as it reads one of its answers: those before the question was asked in other words.
  othersRead: sql<boolean>`exists (
    select from turn other where other.retry_of = coalesce(${turn.retryOf}, ${turn.id}) and other.lane_seq > ${turn.laneSeq}
      and not other.left_out and not exists (
        select from turn again join message asked on asked.session = again.session and asked.turn_id = again.id
        where again.retry_of = other.retry_of and asked.role <> 'assistant'
          and again.lane_seq > ${turn.laneSeq} and again.lane_seq <= other.lane_seq))`,
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

function withMarks(record: MessageRecord, marks: Marks | null): MessageRecord {
  if (marks === null) return record;
  const { leftOut, first: of, othersRead, nth, count, model } = marks;
  const isAnswer = record.role === 'assistant';
  return {
    ...record,
    leftOut: leftOut === true && (isAnswer || !othersRead) ? true : undefined,
    model: isAnswer ? (model ?? undefined) : undefined,
    tries: count > 1 && (isAnswer || nth > 1) ? { of, nth, count } : undefined,
  };
}

/** Creates the functions of `SessionStore` that read and write rows of single tables. */
export function createSessions(database: Database, newSessions: SessionStart) {
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
  } satisfies Partial<SessionStore>;
}

function updateSessionIn(
  database: Database,
  find: SessionStore['session'],
  newSessions: SessionStart,
): SessionStore['updateSession'] {
  return async (key, values, make) => {
    const change = { ...values, profileChosen: values.profileId === undefined ? undefined : true };
    const isSame = Object.values(change).every((value) => value === undefined);
    const unchanged = isSame ? await find(key) : undefined;
    if (unchanged !== undefined || (isSame && make === undefined)) return unchanged;
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
      const [created] = await orm.insert(session).values(fresh).onConflictDoNothing().returning();
      // Another call created it in the meantime: the caller must check again who owns it.
      return created && toSession(created);
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
      return rows.toReversed().map(({ row, turn: marks }) => withMarks(toMessage(row), marks));
    });
}

function turnIn(database: Database): SessionStore['turn'] {
  return (turnId) =>
    database.query(async (orm) => {
      const final = and(eq(message.session, turn.session), eq(message.seq, turn.finalSeq));
      const turns = orm.select().from(turn).leftJoin(message, final);
      const sums = usageOfTurn(orm, cleanText(turnId));
      const query = turns.leftJoin(sums, eq(sums.turnId, turn.id));
      const [row] = await query.where(eq(turn.id, cleanText(turnId)));
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

function toSession({ freshSeq: _seq, messageSeq, ...row }: SessionRow): SessionRecord {
  return {
    ...row,
    key: asSessionKey(row.key),
    // Earlier versions did not record that someone had chosen one.
    profileChosen: row.profileChosen || row.profileId !== 'default',
    model: row.model ?? undefined,
    ownerTokenId: row.ownerTokenId ?? undefined,
    title: row.title ?? undefined,
    undoing: row.undoing ?? undefined,
    freshAt: new Date(row.freshAt ?? row.createdAt),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
    messageCount: messageSeq,
  };
}

function toMessage({
  session: _key,
  senderName,
  attachments,
  ...row
}: typeof message.$inferSelect): MessageRecord {
  return { ...row, senderName: senderName ?? undefined, attachments: attachments ?? undefined };
}

/** Keys in the tables were session keys when they were written. */
export function asSessionKey(key: string): SessionKey {
  const colon = key.indexOf(':');
  return `${key.slice(0, colon)}:${key.slice(colon + 1)}`;
}
