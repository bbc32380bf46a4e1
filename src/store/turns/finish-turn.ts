/** The end of turns (T6): what they said and used is stored, and their answers are queued. */
import type { Fence, LaneStep } from '../../protocol/store/lanes.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { TurnFinish } from '../../protocol/store/records.ts';
import { createBatches } from '../database/batches.ts';
import type { Database, Sql } from '../database/database.ts';
import {
  insertEntries,
  journalRecords,
  mergedSources,
  sessionOfLane,
  sourcesOfRows,
} from '../lanes/journal.ts';
import { bumpLane, claimOf, dueNow, type HeadRow, headsOf, liveNode, stepAfter } from '../lanes/lane-sql.ts';
import { deliveredElsewhere } from '../statements/surfaces.ts';
import { addAttempts } from './traces.ts';
import { insertUsage, usageRecords } from '../statements/usage.ts';
import { settled } from '../statements/budgets.ts';

/** A turn that ends. */
interface TurnEnd {
  fence: Fence;
  finish: TurnFinish;
}

/** The end of a turn as the statement returns it. */
interface EndedRow {
  lane: string;
  held: boolean;
  shared: boolean;
  heads: HeadRow[];
}

/**
 * `Ledger.finishTurn`, one statement that writes nothing if the fence does not hold. Turns without a delivery that end
 * meanwhile share the next statement. Deliveries to other chats are planned only if the session has such chats.
 */
export function createTurnFinish(database: Database): (end: TurnEnd) => Promise<LaneStep> {
  const endTogether = createBatches<TurnEnd, LaneStep | undefined>(database, {
    keyOf: ({ fence }) => fence.lane,
    run: async (sql, batch) => {
      const rows = await endTurns(sql, batch);
      return await Promise.all(
        batch.map(async (end, nth) =>
          rows[nth]?.shared === true ? undefined : await stepAfter(sql, end.fence, rows[nth]),
        ),
      );
    },
  });
  return async (end) => {
    const step = isPlain(end.finish) ? await endTogether(end) : undefined;
    return step ?? (await database.run((sql) => endAlone(sql, end)));
  };
}

async function endAlone(sql: Sql, end: TurnEnd): Promise<LaneStep> {
  const { elsewhere: otherChats } = end.finish;
  // The deliveries to others are planned for every statement that could queue them.
  const isOwnChat = otherChats !== undefined && otherChats.shownOn.length === 0;
  const [row] = await endTurns(sql, [end], isOwnChat ? { ...end.finish, elsewhere: undefined } : end.finish);
  if (row?.shared !== true) return await stepAfter(sql, end.fence, row);
  const [retried] = await endTurns(sql, [end], end.finish);
  return await stepAfter(sql, end.fence, retried);
}

/** True for an end that only writes rows of its own session. */
function isPlain({
  outbound,
  elsewhere: otherChats,
  speak = false,
  entries,
  deadLetter,
}: TurnFinish): boolean {
  const queues = outbound !== undefined || speak || (otherChats?.shownOn.length ?? 0) > 0;
  return !queues && deadLetter === undefined && sourcesOfRows(entries).length === 0;
}

/** An end as the statement reads it. */
function recordOf({ fence, finish }: TurnEnd, unlessShared: boolean) {
  const { turnId, reason, failure, isError, attachments = [], deadLetter, entries, usage, trace } = finish;
  return {
    lane: fence.lane,
    node: fence.node,
    at_epoch: fence.epoch,
    seq: fence.seq,
    as_claim: claimOf(fence),
    session: sessionOfLane(fence),
    turn_id: turnId,
    reason,
    failure,
    content: cleanText(finish.content),
    is_error: isError,
    attachments: attachments.length === 0 ? undefined : attachments,
    user_id: cleanText(finish.userId),
    dead: deadLetter === undefined ? undefined : cleanText(deadLetter),
    entries: journalRecords(entries),
    usage: usageRecords(usage),
    settles: finish.settles,
    trace,
    unless_shared: unlessShared,
  };
}

/** The turns that settle what they have reserved. */
const settlingTurns = (sql: Sql) => sql`(
  select settles ->> 'holder' as holder, (settles ->> 'tokens')::bigint as tokens, (settles ->> 'micros')::bigint as micros
  from advanced where settles is not null) s`;

/** Ends heads of different lanes of one node, in order. `single` is the finish of a single turn, with what it queues. */
async function endTurns(sql: Sql, batch: readonly TurnEnd[], single?: TurnFinish): Promise<EndedRow[]> {
  const unlessShared = ({ finish }: TurnEnd): boolean =>
    finish.elsewhere !== undefined && single?.elsewhere === undefined;
  const records = batch.map((end) => recordOf(end, unlessShared(end)));
  const queues = single !== undefined && queuesMore(single);
  const head = sql`greatest(e.seq, lane.stop_seq, lane.joined_seq)`;
  const rows = await sql<EndedRow[]>`
    with ${liveNode(sql, batch[0]?.fence.node)},
    ending as (
      select e.*, unless_shared and exists (select from surface where surface.session = e.session) as shared
      from jsonb_to_recordset(${cleanJson(records)}::jsonb) as e(
        lane text, node text, at_epoch int, seq int, as_claim text, session text, turn_id text, reason text,
        failure jsonb, content text, is_error boolean, attachments jsonb, user_id text, dead text, entries jsonb,
        usage jsonb, settles jsonb, trace jsonb, unless_shared boolean)),
    advanced as (
      update lane set
        head = ${head},
        owner = case when lane.tail > ${head} then lane.owner end,
        epoch = case when lane.tail > ${head} then lane.epoch + 1 else lane.epoch end,
        claim = e.as_claim,
        suspect_group = 0,
        waiting = false,
        ${dueNow(sql)}
      from ending e
      where lane.key = e.lane and lane.owner = e.node and lane.epoch = e.at_epoch and lane.head = e.seq - 1 and not e.shared
      returning lane.*, e.*),
    ended as (
      update lane_item set done_at = now(), done_epoch = t.at_epoch, error = t.dead, dead = t.dead is not null
      from advanced t where lane_item.lane = t.lane and lane_item.seq = t.seq),
    talk as (
      update session set
        message_seq = session.message_seq + case when t.content = '' then 0 else 1 end,
        updated_at = case when t.content = '' then session.updated_at else now() end,
        sources = ${single === undefined ? sql`session.sources` : mergedSources(sql, sql`t.seq`, single.entries)}
      from advanced t where session.key = t.session returning t.*, session.message_seq, session.voice),
    closed as (
      update turn set state = 'done', reason = t.reason, ended_at = now(), failure = t.failure,
        final_seq = case when t.content <> '' then t.message_seq end
      from talk t where turn.id = t.turn_id returning turn.address, turn.session, t.voice),
    written as (${insertEntries(sql, sql`advanced t`)}),
    said as (
      insert into message (session, seq, turn_id, role, content, is_error, attachments)
      select session, message_seq, turn_id, 'assistant', content, is_error, attachments from talk where content <> ''),
    used as (${insertUsage(sql, sql`advanced t`, 'turn')})
    ${batch.some(({ finish }) => finish.settles !== undefined) ? settled(sql, settlingTurns(sql)) : sql``},
    traced as (${addAttempts(sql, sql`advanced t`)})
    ${single === undefined ? sql`` : queuedDelivery(sql, single, claimOf(batch[0]!.fence))},
    moved as (
      select key, owner, epoch, head, tail, claim, unreported, stop_seq from advanced
      ${queues ? sql`union all select key, owner, epoch, head, tail, claim, unreported, stop_seq from bumped` : sql``}),
    heads as (${headsOf(sql, sql`moved`, sql`select as_claim from ending`, queues ? sql`queued` : undefined)})
    select ending.lane, advanced.key is not null as held, ending.shared,
      (select coalesce(jsonb_agg(to_jsonb(heads)), '[]') from heads
        where ${single === undefined ? sql`heads.lane = ending.lane` : sql`true`}) as heads
    from ending left join advanced on advanced.key = ending.lane`;
  const byLane = new Map(rows.map((row) => [row.lane, row]));
  return batch.flatMap(({ fence }) => byLane.get(fence.lane) ?? []);
}

/** What follows a turn: its deliveries, and the speech of its answer. */
function queuesMore({ outbound, elsewhere: otherChats, speak = false }: TurnFinish): boolean {
  return outbound !== undefined || otherChats !== undefined || speak;
}

/** The turn's address names the lanes of its delivery and of its speech; the turn's id is the dedupe key. */
function queuedDelivery(sql: Sql, finish: TurnFinish, claim: string) {
  const { turnId, outbound, elsewhere: otherChats, speak = false } = finish;
  if (!queuesMore(finish)) return sql``;
  const lane = sql`(
    select 'out:' || address as key from closed where ${outbound !== undefined}
    ${otherChats === undefined ? sql`` : sql`union all select 'out:' || address from others`}
    union all select 'speech:' || address from closed where ${speak} and voice) source`;
  const payload = sql`case class when 'out' then ${cleanJson(outbound ?? null)}::jsonb else ${cleanJson({ turnId, userId: finish.userId })}::jsonb end`;
  return sql`
    ${otherChats === undefined ? sql`` : deliveredElsewhere(sql, turnId, otherChats)},
    bumped as (${bumpLane(sql, lane, claim)}),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, ${turnId},
        ${otherChats === undefined ? payload : sql`coalesce((select o.payload from others o where 'out:' || o.address = key), ${payload})`}
      from bumped returning *)`;
}
