/** Stores conversations that come from another program, each whole, in one transaction. */
import type { Source } from '../../protocol/agent/risk.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { ContextEntry, SessionMarks } from '../../protocol/store/records.ts';
import { newId } from '../../lib/ids.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText, estimateTokens } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';
import { insertEntries, journalRecords } from '../lanes/journal.ts';

/** A question and its answer in another program. */
export interface ForeignTurn {
  /** Empty when that program wrote first. */
  question: string;
  /** Undefined when it was never answered. */
  answer?: string | undefined;
  /** The model that answered, by that program's name for it. */
  model?: string | undefined;
  at: Date;
}

/** A conversation of another program, and the session that it becomes. */
export interface ForeignChat {
  key: SessionKey;
  ownerTokenId: string;
  title: string;
  /** In their order. */
  turns: readonly ForeignTurn[];
  /** Sources of all its text: they taint the session. */
  sources: readonly Source[];
  marks?: SessionMarks | undefined;
  createdAt: Date;
  updatedAt: Date;
}

/** Stores conversations of other programs. Throws only `StoreError`. */
export interface ImportStore {
  /** False, and nothing changes, when there is a session with this key. */
  importChat(chat: ForeignChat): Promise<boolean>;
}

/** Turns in one statement. */
const TURNS_PER_STATEMENT = 100;

/** The `ImportStore` over a database. */
export function createImports(database: Database): ImportStore {
  return { importChat: (chat) => database.transaction((sql) => importChat(sql, chat)) };
}

async function importChat(sql: Sql, chat: ForeignChat): Promise<boolean> {
  const { ownerTokenId, turns, sources, marks, createdAt, updatedAt } = chat;
  const key = cleanText(chat.key);
  const records = recordsOf(turns, sources);
  const messageCount = records.at(-1)?.final_seq ?? records.at(-1)?.user_seq ?? 0;
  const rows = await sql`
    insert into session (key, owner_token_id, title, sources, message_seq, read_seq, created_at, updated_at)
    values (${key}, ${cleanText(ownerTokenId)}, ${cleanText(chat.title)}, ${cleanJson(sources)}::jsonb,
      ${messageCount}, ${messageCount}, ${createdAt.toISOString()}::timestamptz, ${updatedAt.toISOString()}::timestamptz)
    on conflict (key) do nothing returning key`;
  if (rows.length === 0) return false;
  if (marks !== undefined) await sql`update session set ${sql({ ...marks })} where key = ${key}`;
  await sql`insert into lane (key, head, tail) values (${`in:${key}`}, ${turns.length}, ${turns.length})`;
  for (let from = 0; from < records.length; from += TURNS_PER_STATEMENT)
    await insertTurns(sql, key, records.slice(from, from + TURNS_PER_STATEMENT));
  return true;
}

/** Turns as the statement reads them, with the numbers of their messages. */
function recordsOf(turns: readonly ForeignTurn[], sources: readonly Source[]) {
  let seq = 0;
  return turns.map(({ question, answer, model, at }, nth) => {
    const turnId = newId(at.getTime());
    if (question !== '') seq += 1;
    const userSeq = seq;
    if (answer !== undefined) seq += 1;
    const entries: ContextEntry[] = [];
    if (question !== '') entries.push({ kind: 'user', content: question, sources });
    if (answer !== undefined)
      entries.push({
        kind: 'assistant',
        content: answer,
        toolCalls: [],
        msgId: `${turnId}.1`,
        model,
        sources,
      });
    const rows = entries.map((entry, iteration) => ({
      iteration,
      entry,
      tokens: 'content' in entry ? estimateTokens(entry.content) : 0,
    }));
    return {
      turn_id: turnId,
      lane_seq: nth + 1,
      question,
      answer,
      user_seq: userSeq,
      final_seq: answer === undefined ? undefined : seq,
      at,
      entries: journalRecords(rows),
    };
  });
}

async function insertTurns(sql: Sql, key: string, records: ReturnType<typeof recordsOf>): Promise<void> {
  await sql`
    with r as (
      select * from jsonb_to_recordset(${cleanJson(records)}::jsonb) as r(
        turn_id text, lane_seq int, question text, answer text, user_seq int, final_seq int, at timestamptz, entries jsonb)),
    turns as (
      insert into turn (id, session, address, lane_seq, state, reason, user_seq, final_seq, created_at, ended_at)
      select turn_id, ${key}, ${key}, lane_seq, 'done', case when answer is null then 'stopped' else 'completed' end,
        user_seq, final_seq, at, at from r),
    questions as (
      insert into message (session, seq, turn_id, role, content, created_at)
      select ${key}, user_seq, turn_id, 'user', question, at from r where question <> ''),
    answers as (
      insert into message (session, seq, turn_id, role, content, created_at)
      select ${key}, final_seq, turn_id, 'assistant', answer, at from r where answer is not null)
    ${insertEntries(sql, sql`(select ${key} as session, lane_seq as seq, turn_id, entries from r) t`)}`;
}
