/** Subagents: the journals of those that a turn is waiting for, and the `agent:` lanes of background ones. */
import { FencedError } from '../../../protocol/errors.ts';
import type { Fence } from '../../../protocol/store/lanes.ts';
import { cleanJson } from '../../../lib/json/json.ts';
import type { SessionKey } from '../../../protocol/message.ts';
import type { ContextRecord } from '../../../protocol/store/records.ts';
import {
  agentLane,
  agentPrefix,
  BACKGROUND_SUBAGENT_MS,
  type RunningSubagent,
  type SubagentPayload,
  type SubagentStart,
  type SubagentStore,
} from '../../../protocol/agent/subagents.ts';
import type { Database, Sql } from '../../database/database.ts';
import { insertRows, writeRows } from '../turn/journal.ts';
import {
  bumpLane,
  claimedHeads,
  dueNow,
  type HeadRow,
  headsOf,
  heldLane,
  holds,
  liveNode,
  settleHeads,
} from '../lane-sql.ts';
import { finishSubagent } from './subagent-finish.ts';
import { usageRows } from '../turn/usage-rows.ts';

/** The `SubagentStore` over a database. */
export function createSubagentStore(database: Database): SubagentStore {
  return {
    journal: (agentId) =>
      database.run(async (sql) => [
        ...(await sql<ContextRecord[]>`
          select seq::float8 as seq, turn_id as "turnId", iteration, payload as entry, tokens
          from context where turn_id = ${agentId} order by context.seq`),
      ]),
    write: (fence, { agentId, session }, rows) =>
      database.run((sql) => writeRows(sql, fence, agentId, rows, journalKeyOf(fence, session))),
    atWork: (agentIds) =>
      database.run(async (sql) => {
        if (agentIds.length === 0) return 0;
        const rows =
          await sql`select key from lane where key in ${sql(agentIds.map(agentLane))} and tail > head`;
        return rows.length;
      }),
    working: (session) =>
      database.run(async (sql) => {
        const rows = await sql<RunningSubagent[]>`
          select payload ->> 'agentId' as "agentId", payload ->> 'profileId' as "profileId", payload ->> 'task' as task,
            ${leftMs(sql)} as "leftMs"
          from lane join lane_item on lane_item.lane = lane.key and lane_item.seq = lane.head + 1
          where class = 'agent' and tail > head and stop_seq <= head
            and starts_with(key, ${agentLane(agentPrefix(session))})
          order by "leftMs", key`;
        return [...rows];
      }),
    leftMs: (agentId) =>
      database.run(async (sql) => {
        const [row] = await sql<{ leftMs: number }[]>`
          select ${leftMs(sql)} as "leftMs" from lane_item where lane = ${agentLane(agentId)}`;
        return row?.leftMs ?? 0;
      }),
    close: (fence, agent, end) => database.run((sql) => close(sql, fence, agent, end)),
    start: (fence, payload, limit, node) =>
      database.transaction((sql, attempt) => start(sql, { fence, payload, limit, node }, attempt)),
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
  const own = agentLane(agentPrefix(session));
  await sql`
    update lane set head = tail, stop_seq = tail, owner = null, epoch = epoch + 1, suspect_group = 0, ${dueNow(sql)}
    where class = 'agent' and tail > head and starts_with(key, ${own})`;
  // The ids of a session's subagents share a prefix: all ids between the first and the last possible one
  // belong to them.
  await sql`delete from lane_item where lane between ${own + '0'.repeat(16)} and ${own + 'f'.repeat(16)}`;
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

interface StartCall {
  fence: Fence;
  payload: SubagentPayload;
  limit: number;
  node: string | undefined;
}

interface StartRow {
  held: boolean;
  stopped: boolean;
  known: boolean;
  queued: boolean;
  heads: HeadRow[];
}

/**
 * The turn's lane is locked, so that a stop either sees the new lane or is seen here. A separate statement locks it
 * before the one that counts, so that of two concurrent starts the second sees the first.
 */
async function start(
  sql: Sql,
  { fence, payload, limit, node }: StartCall,
  attempt: number,
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
      (select coalesce(jsonb_agg(to_jsonb(heads)), '[]') from heads) as heads`;
  if (row?.held !== true) throw new FencedError(fence.lane);
  if (row.known && attempt === 0) return { kind: 'known' };
  if (row.known) return { kind: 'started', heads: await claimedHeads(sql, node ?? '', agentId) };
  if (row.stopped) return { kind: 'stopped' };
  if (!row.queued) return { kind: 'full' };
  return { kind: 'started', heads: await settleHeads(sql, row.heads, node ?? '', agentId) };
}
