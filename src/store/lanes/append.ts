/** Appending one message to a lane: a repeated id is stored once and leaves no gap. */
import type { LaneKey, LaneStep } from '../../protocol/store/lanes.ts';
import { newId } from '../../lib/ids.ts';
import { cleanJson } from '../../lib/json/json.ts';
import type { Database, Sql } from '../database/database.ts';
import {
  bumpLane,
  claimedHeads,
  dedupeKey,
  type HeadRow,
  headsOf,
  liveNode,
  settleHeads,
} from './lane-sql.ts';
import { violatedKey } from '../database/retry.ts';

/** `LaneStore.append`: the tail rises and the message is stored in one statement, which a repeated `dedupe` rolls back. */
export function append(
  database: Database,
  lane: LaneKey,
  dedupe: string,
  payload: unknown,
  node: string | undefined,
): Promise<Appended> {
  const call = { lane, dedupe: dedupeKey(dedupe), payload: cleanJson(payload), node, claim: newId() };
  return database.run((sql, attempt) => appendOnce(sql, call, attempt));
}

type Appended = LaneStep & { seq: number; duplicate: boolean };

interface AppendCall {
  lane: LaneKey;
  dedupe: string;
  payload: string;
  node: string | undefined;
  claim: string;
}

async function appendOnce(sql: Sql, call: AppendCall, attempt: number): Promise<Appended> {
  try {
    const [row] = await sql<{ seq: number; heads: HeadRow[] }[]>`
      with ${liveNode(sql, call.node)},
      bumped as (${bumpLane(sql, sql`(select ${call.lane} as key) source`, call.claim)}),
      queued as (
        insert into lane_item (lane, seq, dedupe, payload)
        select key, tail, ${call.dedupe}, ${call.payload}::jsonb from bumped returning *),
      heads as (${headsOf(sql, sql`bumped`, call.claim, sql`queued`)})
      select seq, (select coalesce(jsonb_agg(to_jsonb(heads)), '[]') from heads) as heads from queued`;
    const heads = await settleHeads(sql, row?.heads ?? [], call.node ?? '', call.claim);
    return { seq: row?.seq ?? 0, duplicate: false, heads };
  } catch (error) {
    if (violatedKey(error) !== 'lane_item_dedupe') throw error;
    const [row] = await sql<{ seq: number }[]>`
      select seq from lane_item where lane = ${call.lane} and dedupe = ${call.dedupe}`;
    // It was deleted in the meantime: the next attempt stores it again.
    if (row === undefined) throw error;
    const heads = attempt > 0 ? await claimedHeads(sql, call.node ?? '', call.claim) : [];
    return { seq: row.seq, duplicate: true, heads };
  }
}
