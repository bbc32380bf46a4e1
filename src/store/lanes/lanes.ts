/** The lanes: appending, ending and releasing heads, and dead letters. */
import { FencedError } from '../../protocol/errors.ts';
import {
  type DeadLetter,
  type Fence,
  type LaneKey,
  type LaneStep,
  type LaneStore,
  MAX_LETTER_CHARS,
} from '../../protocol/store/lanes.ts';
import type { AdministrationStore } from '../../protocol/operator/administration.ts';
import { cleanText } from '../../lib/text.ts';
import {
  advanceLane,
  append,
  claimOf,
  dueAfter,
  dueNow,
  endMessage,
  type HeadRow,
  headsOf,
  holds,
  headList,
  stepAfter,
} from './lane-sql.ts';
import { parkForCaller } from './caller-tools.ts';
import { createApprovals } from './approvals.ts';
import { type Database, type Sql, withoutNulls } from '../database/database.ts';
import { createNodes } from './nodes.ts';
import { replayDeadLetter, stopSession } from './stop.ts';

/** The `LaneStore` over a database; `heartbeats` are connections to it for heartbeats alone. */
export function createLanes(database: Database, heartbeats: Database): LaneStore {
  return {
    ...createNodes(database, heartbeats),
    ...createApprovals(database),
    parkForCaller: (fence, turn) => database.run((sql, attempt) => parkForCaller(sql, fence, turn, attempt)),
    append: (lane, dedupe, payload, node) => append(database, lane, dedupe, payload, node),
    finish: (fence, error, unreported = false) =>
      database.run((sql) =>
        finish(sql, fence, error === undefined ? undefined : cleanText(error), unreported),
      ),
    release: (fence, options) => database.run((sql, attempt) => release(sql, fence, options, attempt)),
    endDelay: (lane) => database.run((sql) => endDelay(sql, lane)),
    noteWaiting: (fence, isWaiting) => database.run((sql) => noteWaiting(sql, fence, isWaiting)),
    stop: (session, options) => database.transaction((sql) => stopSession(sql, session, options.fresh)),
    deadLetters: (limit, only) => database.run((sql) => deadLetters(sql, limit, only)),
    replayDeadLetter: (lane, seq) =>
      database.transaction((sql, attempt) => replayDeadLetter(sql, lane, seq, attempt)),
    purge: (olderThanMs, limit) => database.run((sql) => purge(sql, olderThanMs, limit)),
  };
}

/** The functions of `AdministrationStore` for dead letters. */
export function createLetterAdministration(database: Database) {
  return {
    dropDeadLetter: (lane, seq) =>
      database.once(
        (sql) => sql`
          delete from lane_item where lane = ${cleanText(lane)} and seq = ${seq} and dead returning seq`,
      ),
  } satisfies Partial<AdministrationStore>;
}

async function finish(
  sql: Sql,
  fence: Fence,
  dead: string | undefined,
  unreported: boolean,
): Promise<LaneStep> {
  const [row] = await sql<{ held: boolean; heads: HeadRow[] }[]>`
    with advanced as (${advanceLane(sql, fence, { unreported: sql`unreported + ${unreported ? 1 : 0}` })}),
    ended as (${endMessage(sql, fence, dead)}),
    heads as (${headsOf(sql, sql`advanced`, claimOf(fence))})
    select exists (select 1 from advanced) as held,
      ${headList(sql)}`;
  return await stepAfter(sql, fence, row);
}

async function release(
  sql: Sql,
  fence: Fence,
  options: Parameters<LaneStore['release']>[1],
  attempt: number,
): Promise<void> {
  const error = options.error === undefined ? null : cleanText(options.error);
  const waitedMs = error === null ? 0 : Math.round(options.delayMs);
  const [row] = await sql<{ held: boolean }[]>`
    with freed as (
      update lane set owner = null, ${dueAfter(sql, options.delayMs)}
      where ${holds(sql, fence)} returning key),
    counted as (
      update lane_item set attempts = attempts + ${options.attempt ? 1 : 0}, waited_ms = waited_ms + ${waitedMs},
        error = coalesce(${error}, error) from freed
      where lane_item.lane = freed.key and lane_item.seq = ${fence.seq})
    select exists (select 1 from freed) as held`;
  // On a repeat, the previous attempt freed the lane, or it has moved on since: either way it is released.
  if (row?.held !== true && attempt === 0) throw new FencedError(fence.lane);
}

async function endDelay(sql: Sql, lane: LaneKey): Promise<void> {
  await sql`update lane set ${dueNow(sql)} where key = ${lane} and owner is null and delay_ms is not null`;
}

/** When a suspect works again, its time alone starts again. */
async function noteWaiting(sql: Sql, fence: Fence, isWaiting: boolean): Promise<void> {
  const rows = await sql`
    update lane set waiting = ${isWaiting}, wake_at = now() where ${holds(sql, fence)} returning key`;
  if (rows.length === 0) throw new FencedError(fence.lane);
}

async function deadLetters(
  sql: Sql,
  limit: number,
  only?: { lane: LaneKey; seq: number },
): Promise<DeadLetter[]> {
  const which = only === undefined ? sql`true` : sql`lane = ${cleanText(only.lane)} and seq = ${only.seq}`;
  const rows = await sql<DeadLetter[]>`
    select lane, seq, coalesce(error, '') as error, attempts, crashes, done_at as "deadAt",
      left(coalesce(payload -> 'message' ->> 'content', payload ->> 'task'), ${MAX_LETTER_CHARS}) as text
    from lane_item where dead and ${which} order by done_at desc limit ${limit}`;
  return withoutNulls(rows);
}

async function purge(sql: Sql, olderThanMs: number, limit: number): Promise<number> {
  const age = sql`now() - ${olderThanMs}::float8 * interval '1 millisecond'`;
  const [row] = await sql<{ purged: number }[]>`
    with unlisted as (delete from removed_folder where removed_at < ${age}),
    old as (select lane, seq from lane_item where done_at < ${age} order by done_at limit ${limit}),
    forgotten as (
      delete from delivery where ref in (select ref from delivery where updated_at < ${age} limit ${limit})),
    gone as (delete from lane_item using old where lane_item.lane = old.lane and lane_item.seq = old.seq returning lane_item.lane),
    -- A subagent's lane carries one message only.
    emptied as (delete from lane using gone where lane.key = gone.lane and lane.class = 'agent')
    select count(*)::int as purged from gone`;
  return row?.purged ?? 0;
}
