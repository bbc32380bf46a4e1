/** The end of a turn (T6): what it said and used is stored, and its answer is queued. */
import type { Fence, LaneStep } from '../../../contracts/store/lanes.ts';
import { cleanJson } from '../../../lib/json/json.ts';
import { cleanText } from '../../../lib/text.ts';
import type { TurnFinish } from '../../../contracts/store/records.ts';
import type { Sql } from '../../database/database.ts';
import { insertRows, sessionOfLane } from './journal.ts';
import {
  advanceLane,
  bumpLane,
  claimOf,
  endMessage,
  type HeadRow,
  headsOf,
  liveNode,
  ownFinish,
  settleHeads,
} from '../lane-sql.ts';
import { deliveredElsewhere } from '../../tables/statements/surfaces/turn-surfaces.ts';
import { mergedSources } from '../session-sources.ts';
import { tracedAttempt } from './turn-trace.ts';
import { usageRows } from './usage-rows.ts';

/**
 * `Ledger.finishTurn`, one statement: nothing is written if the fence does not hold. A turn that was shown only in
 * its own chat is ended without the expensive deliveries to others, unless its session now has other chats.
 */
export async function finishTurn(sql: Sql, fence: Fence, finish: TurnFinish): Promise<LaneStep> {
  if (finish.elsewhere === undefined || finish.elsewhere.shownOn.length > 0) {
    return await endTurn(sql, fence, finish);
  }
  return await endTurn(sql, fence, { ...finish, elsewhere: undefined }, finish);
}

/** `ifShared` is the finish to use instead if its session has several chats. */
async function endTurn(sql: Sql, fence: Fence, finish: TurnFinish, ifShared?: TurnFinish): Promise<LaneStep> {
  const claim = claimOf(fence);
  const queues = queuesMore(finish);
  const session = sessionOfLane(fence);
  const shared = ifShared ? sql`exists (select from surface where session = ${session})` : sql`false`;
  const [row] = await sql<{ held: boolean; shared: boolean; heads: HeadRow[] }[]>`
    with ${liveNode(sql, fence.node)},
    advanced as (${advanceLane(sql, fence, { unless: shared })}),
    ended as (${endMessage(sql, fence, finish.deadLetter === undefined ? undefined : cleanText(finish.deadLetter))}),
    talk as (
      update session set message_seq = message_seq + ${finish.content === '' ? 0 : 1},
        updated_at = ${finish.content === '' ? sql`session.updated_at` : sql`now()`},
        sources = ${mergedSources(sql, sql`${fence.seq}`, finish.entries)}
      from advanced where session.key = ${session} returning session.key, message_seq, voice),
    closed as (
      update turn set state = 'done', reason = ${finish.reason}, ended_at = now(),
        failure = ${finish.failure === undefined ? null : cleanJson(finish.failure)}::jsonb,
        final_seq = ${finish.content === '' ? sql`null` : sql`talk.message_seq`}
      from talk where id = ${finish.turnId} returning address, session, talk.voice),
    written as (${insertRows(sql, fence, finish.turnId, finish.entries, sql`advanced`)})
    ${finalMessage(sql, finish)}
    ${usageRows(sql, { ...finish, session, purpose: 'turn' }, sql`advanced`)}
    ${tracedAttempt(sql, finish.turnId, finish.trace, sql`advanced`)}
    ${queuedDelivery(sql, finish, claim)},
    moved as (select * from advanced ${queues ? sql`union all select * from bumped` : sql``}),
    heads as (${headsOf(sql, sql`moved`, claim, queues ? sql`queued` : undefined)})
    select exists (select 1 from advanced) as held, ${shared} as shared,
      (select coalesce(jsonb_agg(to_jsonb(heads)), '[]') from heads) as heads`;
  if (ifShared && row?.shared === true) return await endTurn(sql, fence, ifShared);
  if (row?.held !== true) return { heads: await ownFinish(sql, fence) };
  return { heads: await settleHeads(sql, row.heads, fence.node, claim) };
}

/** A turn with an empty answer stores no message. */
function finalMessage(sql: Sql, finish: TurnFinish) {
  if (finish.content === '') return sql``;
  const { attachments: files = [] } = finish;
  return sql`, said as (
    insert into message (session, seq, turn_id, role, content, is_error, attachments)
    select key, message_seq, ${finish.turnId}, 'assistant', ${cleanText(finish.content)}, ${finish.isError},
      ${files.length === 0 ? null : cleanJson(files)}::jsonb from talk)`;
}

/** What follows a turn: its deliveries, and the speech of its answer. */
function queuesMore({ outbound, elsewhere, speak = false }: TurnFinish): boolean {
  return outbound !== undefined || elsewhere !== undefined || speak;
}

/** The turn's address names the lanes of its delivery and of its speech; the turn's id is the dedupe key. */
function queuedDelivery(sql: Sql, finish: TurnFinish, claim: string) {
  const { turnId, outbound, elsewhere, speak = false } = finish;
  if (!queuesMore(finish)) return sql``;
  const lane = sql`(
    select 'out:' || address as key from closed where ${outbound !== undefined}
    ${elsewhere === undefined ? sql`` : sql`union all select 'out:' || address from others`}
    union all select 'speech:' || address from closed where ${speak} and voice) source`;
  const payload = sql`case class when 'out' then ${cleanJson(outbound ?? null)}::jsonb else ${cleanJson({ turnId })}::jsonb end`;
  return sql`
    ${elsewhere === undefined ? sql`` : deliveredElsewhere(sql, turnId, elsewhere)},
    bumped as (${bumpLane(sql, lane, claim)}),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, ${turnId},
        ${elsewhere === undefined ? payload : sql`coalesce((select o.payload from others o where 'out:' || o.address = key), ${payload})`}
      from bumped returning *)`;
}
