/** Edited questions, and the turns behind messages on screen. */
import { addressOf, type SessionKey } from '../../protocol/message.ts';
import {
  EDITABLE_MESSAGES,
  type EditedQuestion,
  type EditOutcome,
  type QuestionStore,
} from '../../protocol/store/group-chats.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';
import { lockLane } from './stop.ts';

type Edit = Parameters<QuestionStore['editQuestion']>[1];

/** The `QuestionStore` over a database. */
export function createQuestions(database: Database): QuestionStore {
  return {
    editQuestion: (session, edit) => database.transaction((sql) => editQuestion(sql, session, edit)),
    editedQuestion: (turnId) =>
      database.row(
        (sql) => sql<EditedQuestion[]>`
          select i.payload #>> '{edited,content}' as content, (i.payload #>> '{edited,edits}')::int as edits,
            i.payload #>> '{message,senderId}' as "senderId"
          from turn t join lane_item i on i.lane = 'in:' || t.session and i.seq = t.lane_seq
          where t.id = ${cleanText(turnId)} and i.payload ? 'edited'`,
      ),
    unansweredQuestions: ({ channel, chatId, messageIds }) =>
      database.rows(
        (sql) => sql<{ session: SessionKey; turnId: string }[]>`
          select substr(l.key, 4) as session, i.payload ->> 'turnId' as "turnId"
          from lane l join lane_item i on i.lane = l.key and i.seq > l.head and i.done_at is null
          where l.class = 'in' and l.tail > l.head
            and ${cleanJson(messageIds)}::jsonb @> (i.payload #> '{message,messageId}')
            and i.payload #>> '{message,channel}' = ${channel}
            and ${cleanText(chatId)} in (i.payload #>> '{message,chatId}', i.payload #>> '{message,threadId}')`,
      ),
    async questionsAmong(session, messageIds) {
      const lane = `in:${session}`;
      const rows = await database.rows(
        (sql) => sql<{ id: string }[]>`
          select payload #>> '{message,messageId}' as id
          from lane_item join lane on lane.key = lane_item.lane
          where lane = ${lane} and seq > tail - ${EDITABLE_MESSAGES}
            and ${cleanJson(messageIds)}::jsonb @> (payload #> '{message,messageId}')`,
      );
      return rows.map(({ id }) => id);
    },
    sessionShowing: (chat, messageId) =>
      database.run(async (sql) => {
        const address = addressOf(chat);
        const [row] = await sql<{ session: SessionKey }[]>`
          select t.session from lane l
            join turn t on t.session = substr(l.key, 4) and t.lane_seq > l.head
            join delivery d on d.ref = t.id
          where l.class = 'in' and l.tail > l.head and t.state in ('running', 'parked')
            and (t.address = ${address} or starts_with(t.address, ${`${address}:`}))
            and (d.parts @> ${cleanJson([{ id: messageId }])}::jsonb
              or d.parts @> ${cleanJson([{ realId: messageId }])}::jsonb)
          limit 1`;
        return row?.session;
      }),
  };
}

/** The lane is locked first: a message that its owner has not begun cannot begin in the meantime. */
async function editQuestion(sql: Sql, session: SessionKey, edit: Edit): Promise<EditOutcome> {
  const { messageId, senderId } = edit;
  const content = cleanText(edit.content);
  const lane = `in:${session}`;
  const locked = await lockLane(sql, lane);
  if (locked === undefined) return { kind: 'nothing' };
  const [item] = await sql<{ seq: number; turnId: string; content: string; edited: EditedQuestion | null }[]>`
    select seq, payload ->> 'turnId' as "turnId", payload -> 'edited' as edited,
      payload #>> '{message,content}' as content
    from lane_item where lane = ${lane} and seq > ${locked.tail - EDITABLE_MESSAGES}
      and payload #>> '{message,messageId}' = ${cleanText(messageId)}
      and payload #>> '{message,senderId}' = ${cleanText(senderId)} and payload #> '{message,joined}' is null
    order by seq desc limit 1`;
  if (item === undefined || (item.edited?.content ?? item.content) === content) return { kind: 'nothing' };
  const firstWaiting = locked.head + (locked.owner === null ? 1 : 2);
  // A parked turn has begun, although no one holds its lane.
  const queued = await sql`select from turn where id = ${item.turnId} and state = 'queued'`;
  if (item.seq < firstWaiting || queued.length === 0) {
    const edited = cleanJson({ content, edits: (item.edited?.edits ?? 0) + 1 });
    await sql`
      update lane_item set payload = jsonb_set(payload, '{edited}', ${edited}::jsonb)
      where lane = ${lane} and seq = ${item.seq}`;
    return { kind: 'kept', turnId: item.turnId };
  }
  await sql`
    update lane_item set payload = jsonb_set(payload, '{message,content}', ${cleanJson(content)}::jsonb)
    where lane = ${lane} and seq = ${item.seq}`;
  await sql`
    update message set content = ${content}
    where session = ${session} and turn_id = ${item.turnId} and role = 'user'`;
  return { kind: 'changed' };
}
