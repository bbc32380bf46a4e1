/** What the tables hold about turns in shared conversations. */
import type postgres from 'postgres';

/** A turn, with the chat it was asked in. Times are epoch milliseconds. */
export interface SharedTurn {
  id: string;
  session: string;
  address: string;
  laneSeq: number;
  state: string;
  reason: string | null;
  question: string;
  /** Texts of its assistant messages. */
  answers: string[];
  createdAt: number;
  endedAt: number | null;
}

/** All turns, by session and order of acceptance. */
export async function sharedTurns(sql: postgres.Sql): Promise<SharedTurn[]> {
  return [
    ...(await sql<SharedTurn[]>`
      select id, session, address, lane_seq as "laneSeq", state, reason,
        (extract(epoch from created_at) * 1000)::float8 as "createdAt",
        (extract(epoch from ended_at) * 1000)::float8 as "endedAt",
        (select content from message where message.session = turn.session and seq = turn.user_seq) as question,
        coalesce((select jsonb_agg(content order by seq) from message where turn_id = turn.id and role = 'assistant'), '[]') as answers
      from turn order by session, lane_seq`),
  ];
}

/** Platform ids of what was delivered under each ref. */
export async function partsByRef(sql: postgres.Sql): Promise<Map<string, string[]>> {
  const rows = await sql<{ ref: string; ids: string[] }[]>`
    select ref, jsonb_agg(part ->> 'id') as ids from delivery, jsonb_array_elements(parts) part group by ref`;
  return new Map(rows.map(({ ref, ids }) => [ref, ids]));
}

/** The chats that currently share a session, and whether one that asks to join was asked about. */
export async function chatsOf(sql: postgres.Sql, session: string): Promise<string[]> {
  const rows = await sql<{ address: string }[]>`select address from surface where session = ${session}`;
  return rows.map(({ address }) => address);
}
