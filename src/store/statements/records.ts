/** Turns with all their rows, for a signed record. */
import type { RecordedTurn, RecordStore } from '../../protocol/operator/record.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database } from '../database/database.ts';

/** The `RecordStore` over a database. */
export function createRecords(database: Database): RecordStore {
  return {
    recordedTurns: (session, { after, limit }) =>
      database.run(async (sql) => {
        const rows = await sql<RecordedTurn[]>`
          select t.lane_seq as "laneSeq", to_jsonb(t) as turn,
            (select coalesce(jsonb_agg(to_jsonb(m) order by m.seq), '[]') from message m
              where m.session = t.session and m.turn_id = t.id) as messages,
            (select coalesce(jsonb_agg(to_jsonb(c) order by c.seq), '[]') from context c
              where c.turn_id = t.id) as journal,
            (select coalesce(jsonb_agg(to_jsonb(a) order by a.created_at, a.id), '[]') from approval a
              where a.turn_id = t.id) as approvals
          from turn t where t.session = ${cleanText(session)} and t.lane_seq > ${after}
          order by t.lane_seq limit ${limit}`;
        return [...rows];
      }),
  };
}
