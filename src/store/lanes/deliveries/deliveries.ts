/** Deliveries: queueing a message for an address, and T7, which finishes it with the platform ids. */
import type { Fence, LaneStep } from '../../../protocol/store/lanes.ts';
import type { Ledger } from '../../../protocol/store/ledger.ts';
import type { SentMessage } from '../../../protocol/message.ts';
import { append } from '../append.ts';
import type { Database, Sql } from '../../database/database.ts';
import { noteParts } from './sent-parts.ts';
import {
  advanceLane,
  claimOf,
  endMessage,
  type HeadRow,
  headsOf,
  ownFinish,
  settleHeads,
} from '../lane-sql.ts';

export function createDeliveries(
  database: Database,
): Pick<Ledger, 'enqueue' | 'undelivered' | 'finishDelivery'> {
  return {
    async enqueue(address, payload, node) {
      const { heads } = await append(database, `out:${address}`, payload.key ?? payload.ref, payload, node);
      return { heads };
    },
    undelivered: (address) =>
      database.run(async (sql) => {
        const rows = await sql`select from lane where key = ${`out:${address}`} and tail > head`;
        return rows.length > 0;
      }),
    finishDelivery: (fence, ref, sent) => database.run((sql) => finishDelivery(sql, fence, ref, sent)),
  };
}

async function finishDelivery(
  sql: Sql,
  fence: Fence,
  ref: string,
  sent: SentMessage[] | undefined,
): Promise<LaneStep> {
  const [row] = await sql<{ held: boolean; heads: HeadRow[] }[]>`
    with advanced as (${advanceLane(sql, fence, { unreported: sql`0` })}),
    ended as (${endMessage(sql, fence)}),
    ${sent === undefined ? sql`` : sql`noted as (${noteParts(sql, ref, sent, sql`advanced`)}),`}
    heads as (${headsOf(sql, sql`advanced`, claimOf(fence))})
    select exists (select 1 from advanced) as held,
      (select coalesce(jsonb_agg(to_jsonb(heads)), '[]') from heads) as heads`;
  if (row?.held !== true) return { heads: await ownFinish(sql, fence) };
  return { heads: await settleHeads(sql, row.heads, fence.node, claimOf(fence)) };
}
