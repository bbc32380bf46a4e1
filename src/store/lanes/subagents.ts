/** Subagents: the journals of those that a turn is waiting for, and the `agent:` lanes of background ones. */
import { FencedError } from '../../protocol/errors.ts';
import type { Fence, LaneStep } from '../../protocol/store/lanes.ts';
import { cleanJson } from '../../lib/json/json.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { ContextRecord } from '../../protocol/store/records.ts';
import {
  agentLane,
  agentPrefix,
  BACKGROUND_SUBAGENT_MS,
  type RunningSubagent,
  type SubagentFinish,
  type SubagentPayload,
  type SubagentStart,
  type SubagentStore,
} from '../../protocol/agent/subagents.ts';
import type { Database, Sql } from '../database/database.ts';
import { insertRows, taintSession, writeRows } from './journal.ts';
import {
  advanceLane,
  bumpLane,
  claimedHeads,
  claimOf,
  dueNow,
  endMessage,
  type HeadRow,
  headList,
  headsOf,
  heldLane,
  holds,
  liveNode,
  ownFinish,
  settleHeads,
} from './lane-sql.ts';
import { cleanText } from '../../lib/text.ts';
import { lockLane } from './stop.ts';
import { usageRows } from '../statements/usage.ts';

type Finished = LaneStep & { seq: number | undefined };

/** The `SubagentStore` over a database. */
export function createSubagentStore(database: Database): SubagentStore {
  return {
    journal: (agentId) =>
      database.rows(
        (sql) => sql<ContextRecord[]>`
          select seq::float8 as seq, turn_id as "turnId", iteration, payload as entry, tokens
          from context where turn_id = ${agentId} order by context.seq`,
      ),
    write: (fence, { agentId, session }, rows) =>
      database.run((sql) => writeRows(sql, fence, agentId, rows, journalKeyOf(fence, session))),
    atWork: async (agentIds) => {
      if (agentIds.length === 0) return 0;
      const lanes = agentIds.map(agentLane);
      return await database.count(
        (sql) => sql`select key from lane where key in ${sql(lanes)} and tail > head`,
      );
    },
    working: (session) =>
      database.rows(
        (sql) => sql<RunningSubagent[]>`
          select payload ->> 'agentId' as "agentId", payload ->> 'profileId' as "profileId", payload ->> 'task' as task,
            ${leftMs(sql)} as "leftMs"
          from lane join lane_item on lane_item.lane = lane.key and lane_item.seq = lane.head + 1
          where class = 'agent' and tail > head and stop_seq <= head
            and starts_with(key, ${agentLane(agentPrefix(session))})
          order by "leftMs", key`,
      ),
    leftMs: (agentId) =>
      database.run(async (sql) => {
        const [row] = await sql<{ leftMs: number }[]>`
          select ${leftMs(sql)} as "leftMs" from lane_item where lane = ${agentLane(agentId)}`;
        return row?.leftMs ?? 0;
      }),
    stop: ({ agentId, session }) =>
      database.exists(
        (sql) => sql`
          update lane set stop_seq = tail, ${dueNow(sql)}
          where key = ${agentLane(agentId)} and starts_with(key, ${agentLane(agentPrefix(session))})
            and tail > head and stop_seq < tail
          returning key`,
      ),
    close: (fence, agent, end) => database.run((sql) => close(sql, fence, agent, end)),
    start: (fence, payload, limit, node) =>
      database.transaction((sql, attempt) => start(sql, fence, payload, limit, node, attempt)),
    finish: (fence, finish) => database.transaction((sql) => finishSubagent(sql, fence, finish)),
  };
}

/** A clock that was set back allows no more time than the limit. */
function leftMs(sql: Sql) {
  return sql`
    least((payload ->> 'deadline')::float8 - (extract(epoch from now()) * 1000)::float8,
      coalesce((payload ->> 'limitMs')::float8, ${BACKGROUND_SUBAGENT_MS}))`;
}

/** The session name under which journals of subagents are stored: no session has it, so no turn reads them as its history. */
const waitedFor = (session: string): string => `waited:${session}`;
const inBackground = (session: string): string => `background:${session}`;

function journalKeyOf(fence: Fence, session: string): string {
  return fence.lane.startsWith('agent:') ? inBackground(session) : waitedFor(session);
}

/** Ends and deletes all subagents of a session that is being deleted; those that are still running are fenced off. */
export async function deleteSubagents(sql: Sql, session: SessionKey): Promise<void> {
  const prefix = agentLane(agentPrefix(session));
  await sql`
    update lane set head = tail, stop_seq = tail, owner = null, epoch = epoch + 1, suspect_group = 0, ${dueNow(sql)}
    where class = 'agent' and tail > head and starts_with(key, ${prefix})`;
  // The ids of a session's subagents share a prefix: all ids between the first and the last possible one
  // belong to them.
  await sql`delete from lane_item where lane between ${prefix + '0'.repeat(16)} and ${prefix + 'f'.repeat(16)}`;
  // Notes on stopped subagents are among the session's own rows, without a turn.
  for (const shelf of [session, waitedFor(session), inBackground(session)]) {
    await sql`
      delete from context where turn_id in (
        select turn_id from context where session = ${shelf} and summarized_by is null and kind <> 'tool_intent')`;
  }
}

async function close(
  sql: Sql,
  fence: Fence,
  { agentId, session }: Parameters<SubagentStore['close']>[1],
  end: Parameters<SubagentStore['close']>[2],
): Promise<void> {
  const rows = insertRows(sql, fence, agentId, [end.result], sql`held`, journalKeyOf(fence, session));
  const [row] = await sql<{ held: boolean }[]>`
    with ${heldLane(sql, fence)},
    written as (${rows} returning 1)
    ${usageRows(sql, { ...end, session, purpose: 'subagent' }, sql`written`)}
    select exists (select 1 from held) as held`;
  if (row?.held !== true) throw new FencedError(fence.lane);
}

interface StartRow {
  held: boolean;
  stopped: boolean;
  known: boolean;
  queued: boolean;
  heads: HeadRow[];
}

/**
 * Locks the turn's lane, so that either a stop sees the new lane or this sees the stop. A separate statement takes the
 * lock before the one that counts, so that the second of two concurrent starts sees the first.
 */
async function start(
  sql: Sql,
  fence: Fence,
  payload: SubagentPayload,
  limit: number,
  node = '',
  attempt = 0,
): Promise<SubagentStart> {
  const { agentId, session } = payload;
  const lane = agentLane(agentId);
  await sql`select from lane where ${holds(sql, fence)} for no key update`;
  const [row] = await sql<StartRow[]>`
    with ${liveNode(sql, node)},
    held as (select key, stop_seq >= ${fence.seq} as stopped from lane where ${holds(sql, fence)}),
    known as (select key from lane where key = ${lane}),
    busy as (
      select key from lane where class = 'agent' and tail > head and starts_with(key, ${agentLane(agentPrefix(session))})),
    bumped as (${bumpLane(
      sql,
      sql`(select ${lane} as key from held where not stopped and not exists (select from known)
           and (select count(*) from busy) < ${limit}) source`,
      agentId,
    )}),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, ${agentId}, ${cleanJson(payload)}::jsonb || jsonb_build_object('deadline',
        (extract(epoch from now()) * 1000)::float8 + ${payload.limitMs}::float8) from bumped returning *),
    heads as (${headsOf(sql, sql`bumped`, agentId, sql`queued`)})
    select exists (select from held) as held, exists (select from held where stopped) as stopped,
      exists (select from known) as known, exists (select from queued) as queued,
      ${headList(sql)}`;
  if (row?.held !== true) throw new FencedError(fence.lane);
  if (row.known && attempt === 0) return { kind: 'known' };
  if (row.known) return { kind: 'started', heads: await claimedHeads(sql, node, agentId) };
  if (row.stopped) return { kind: 'stopped' };
  if (!row.queued) return { kind: 'full' };
  return { kind: 'started', heads: await settleHeads(sql, row.heads, node, agentId) };
}

/** `SubagentStore.finish`. The session's lane is locked before the subagent's, in the same order as in a stop. */
async function finishSubagent(sql: Sql, fence: Fence, finish: SubagentFinish): Promise<Finished> {
  await lockLane(sql, `in:${finish.session}`);
  const [lane] = await sql<{ stopped: boolean }[]>`
    select stop_seq >= ${fence.seq} as stopped from lane where ${holds(sql, fence)} for update`;
  if (lane === undefined) return await finishedBefore(sql, fence, finish);
  // A dead letter can be replayed: it continues where it was.
  if (finish.deadLetter === undefined) await sql`delete from context where turn_id = ${finish.agentId}`;
  return lane.stopped ? await endStopped(sql, fence, finish) : await endAnnounced(sql, fence, finish);
}

async function finishedBefore(sql: Sql, fence: Fence, finish: SubagentFinish): Promise<Finished> {
  const heads = await ownFinish(sql, fence);
  const [turn] = await sql<{ seq: number }[]>`
    select user_seq as seq from turn where id = ${finish.announcement.turnId}`;
  return { heads, seq: turn?.seq };
}

async function endStopped(sql: Sql, fence: Fence, finish: SubagentFinish): Promise<Finished> {
  const { agentId, session, stoppedNote } = finish;
  const { iteration, entry, tokens } = stoppedNote;
  const tail = sql`(select tail from lane where key = ${`in:${session}`})`;
  await sql`
    with advanced as (${advanceLane(sql, fence)}),
    ended as (${endMessage(sql, fence)}),
    noted as (
      insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
      select ${session}, tail, ${agentId}, ${iteration}, ${entry.kind}, 0, ${cleanJson(entry)}::jsonb, ${tokens}
      from lane where key = ${`in:${session}`} on conflict (turn_id, iteration, kind, part) do nothing)
    ${taintSession(sql, { session, laneSeq: tail }, [stoppedNote], sql`advanced`)}
    ${usageRows(sql, { ...finish, purpose: 'subagent' }, sql`advanced`)}
    select 1 from advanced`;
  return { heads: [], seq: undefined };
}

/** Claims the accepted message for the same node, if its session is free. */
async function endAnnounced(sql: Sql, fence: Fence, finish: SubagentFinish): Promise<Finished> {
  const { session, announcement, deadLetter } = finish;
  const { turnId, address, message } = announcement;
  const claim = claimOf(fence);
  const dead = deadLetter === undefined ? undefined : cleanText(deadLetter);
  const name = message.senderName === undefined ? null : cleanText(message.senderName);
  const [row] = await sql<{ seq: number | null; heads: HeadRow[] }[]>`
    with ${liveNode(sql, fence.node)},
    advanced as (${advanceLane(sql, fence)}),
    ended as (${endMessage(sql, fence, dead)}),
    talk as (
      update session set message_seq = message_seq + 1, updated_at = now()
      from advanced where session.key = ${session} returning session.key, message_seq),
    bumped as (${bumpLane(sql, sql`(select 'in:' || key as key from talk) source`, claim)}),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, ${`${message.id}:${fence.epoch}`}, ${cleanJson(announcement)}::jsonb from bumped returning *),
    begun as (
      insert into turn (id, session, address, lane_seq, user_seq)
      select ${turnId}, talk.key, ${address}, bumped.tail, talk.message_seq from talk, bumped),
    said as (
      insert into message (session, seq, turn_id, role, content, sender_name)
      select key, message_seq, ${turnId}, 'system', ${cleanText(message.content)}, ${name} from talk)
    ${usageRows(sql, { ...finish, purpose: 'subagent' }, sql`advanced`)},
    moved as (select * from advanced union all select * from bumped),
    heads as (${headsOf(sql, sql`moved`, claim, sql`queued`)})
    select (select message_seq from talk) as seq, ${headList(sql)}`;
  const heads = await settleHeads(sql, row?.heads ?? [], fence.node, claim);
  return { heads, seq: row?.seq ?? undefined };
}
