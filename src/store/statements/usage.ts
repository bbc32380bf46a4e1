/** Stored sums of usage by hour and user: a report reads them for finished hours instead of the rows. */
import {
  ADDED_UP_ROWS,
  MAX_USAGE_GROUPS,
  type ModelUsage,
  OWN_PURPOSES,
  type Settlement,
  type UsageGroupSum,
  type UsagePurpose,
  type UsageQuery,
  type UsageStore,
  type UsageSum,
  type UsageSums,
} from '../../protocol/agent/usage.ts';
import { cleanText } from '../../lib/text.ts';
import { settled } from './budgets.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';
import { usageColumns, type UsageRows } from '../tables/usage.ts';
import { cleanJson } from '../../lib/json/json.ts';

const HOUR_MS = 3_600_000;
/** Fewer new rows than this are read individually: a sum of them would save nothing. */
export const MIN_ADDED_ROWS = 1_000;
/** How long writers of usage may have to wait for the lock that finds the last finished row, in milliseconds. */
const LOCK_MS = 200;
/** The user id of the sums over all users. */
const EVERYBODY = '';

/** The `UsageStore` over a database and the functions that read its rows alone, and the sums that it keeps. */
export function createUsage(database: Database, rows: UsageRows): UsageStore & UsageSums {
  return {
    addUp: () => addUp(database),
    sum: (query) =>
      query.session === undefined ? database.run((sql) => sumOfHours(sql, query)) : rows.sumOfSession(query),
    models: (query) => rows.largest(query, 'model', MAX_USAGE_GROUPS),
    async groups(query, by) {
      const limit = MAX_USAGE_GROUPS + 1;
      const largest =
        by === 'day'
          ? await database.run((sql) => sumsByDay(sql, query, limit))
          : await rows.largest(query, by, limit);
      const groups = largest.slice(0, MAX_USAGE_GROUPS);
      return { groups: by === 'day' ? groups.toReversed() : groups, more: largest.length > groups.length };
    },
  };
}

/** `UsageSums.addUp`. */
async function addUp(database: Database): Promise<number> {
  const isWorthwhile = await database.exists(
    (sql) => sql`select from usage where id > ${mark(sql)} order by id offset ${MIN_ADDED_ROWS - 1} limit 1`,
  );
  if (!isWorthwhile) return 0;
  // A row may be committed after one with a higher id. The holder of this lock sees no row in between.
  const last = await database.transaction(async (sql) => {
    await sql`select set_config('lock_timeout', ${`${LOCK_MS}ms`}, true)`;
    await sql`lock table usage in share mode`;
    const [row] = await sql<{ id: string }[]>`select coalesce(max(id), 0) as id from usage`;
    return row?.id ?? '0';
  });
  return await database.transaction((sql) => addRows(sql, last));
}

async function addRows(sql: Sql, last: string): Promise<number> {
  await lockSums(sql);
  const [row] = await sql<{ count: number }[]>`
    with fresh as materialized (
      select ${rowColumns(sql)} from usage u
      where id > ${mark(sql)} and id <= ${last}::bigint order by id limit ${ADDED_UP_ROWS}),
    owned as (
      select ${EVERYBODY} as owner, * from fresh
      union all select user_id, * from fresh where user_id <> ${EVERYBODY}),
    added as (
      insert into usage_sum as stored
        (user_id, hour, prompt_tokens, completion_tokens, model_ms, answers, estimated, up_to)
      select owner, date_trunc('hour', at, 'UTC'), sum(prompt_tokens), sum(completion_tokens), sum(model_ms),
        sum(answers), bool_or(estimated), (select max(id) from fresh)
      from owned group by 1, 2
      on conflict (user_id, hour) do update set
        prompt_tokens = stored.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = stored.completion_tokens + excluded.completion_tokens,
        model_ms = stored.model_ms + excluded.model_ms, answers = stored.answers + excluded.answers,
        estimated = stored.estimated or excluded.estimated, up_to = excluded.up_to)
    select count(*)::int as count from fresh`;
  return row?.count ?? 0;
}

/** Forgets the sums of a user whose rows lose their name in the same transaction. */
export async function forgetSums(sql: Sql, userId: string): Promise<void> {
  await lockSums(sql);
  await sql`delete from usage_sum where user_id = ${userId}`;
}

/** Until the end of the transaction no one else changes the sums; they can be read. */
async function lockSums(sql: Sql): Promise<void> {
  await sql`lock table usage_sum in share row exclusive mode`;
}

/** The id up to which rows are in the sums. */
function mark(sql: Sql): Fragment {
  return sql`(select coalesce(max(up_to), 0) from usage_sum)`;
}

/** The columns of a row to sum: a turn is the answer in its first row that counts as one. */
function rowColumns(sql: Sql): Fragment {
  return sql`id, user_id, at, prompt_tokens, completion_tokens, model_ms, estimated,
    (purpose not in ${sql([...OWN_PURPOSES])} and not exists (
      select from usage earlier where earlier.turn_id = u.turn_id and earlier.id < u.id
        and earlier.purpose not in ${sql([...OWN_PURPOSES])}))::int as answers`;
}

/** A CTE `part`: stored sums of the full hours in the span, and the rows that none of these contain. */
function parts(sql: Sql, { from, to, userId }: UsageQuery): Fragment {
  const first = Math.min(Math.ceil(from.getTime() / HOUR_MS) * HOUR_MS, to.getTime());
  const last = Math.max(Math.floor(to.getTime() / HOUR_MS) * HOUR_MS, first);
  const time = (ms: number): Fragment => sql`${new Date(ms).toISOString()}::timestamptz`;
  const user = userId === undefined ? EVERYBODY : cleanText(userId);
  const ofUser = userId === undefined ? sql`` : sql`and user_id = ${user}`;
  const edge = (begin: number, end: number): Fragment => sql`
    select ${rowColumns(sql)} from usage u
    where at >= ${time(begin)} and at < ${time(end)} ${ofUser} and id <= ${mark(sql)}`;
  return sql`
    fresh as materialized (
      select ${rowColumns(sql)} from usage u where id > ${mark(sql)} and id <= (select max(id) from usage) ${ofUser}),
    part as (
      select hour as at, prompt_tokens, completion_tokens, model_ms, answers, estimated from usage_sum
      where user_id = ${user} and hour >= ${time(first)} and hour < ${time(last)}
      union all
      select at, prompt_tokens, completion_tokens, model_ms, answers, estimated from (
        ${edge(from.getTime(), first)} union all ${edge(last, to.getTime())}
        union all select * from fresh where at >= ${time(from.getTime())} and at < ${time(to.getTime())}) counted)`;
}

/** Postgres returns sums of integers as text; these fit a double. */
function totals(sql: Sql): Fragment {
  return sql`coalesce(sum(prompt_tokens), 0)::float8 as "promptTokens",
    coalesce(sum(completion_tokens), 0)::float8 as "completionTokens", coalesce(sum(model_ms), 0)::float8 as "modelMs",
    coalesce(sum(answers), 0)::int as answers, coalesce(bool_or(estimated), false) as estimated`;
}

/** The usage in this span, of one user or of all. */
async function sumOfHours(sql: Sql, query: UsageQuery): Promise<UsageSum> {
  const [row] = await sql<UsageSum[]>`with ${parts(sql, query)} select ${totals(sql)} from part`;
  if (row === undefined) throw new Error('An aggregate returned no row.');
  return { ...row };
}

/** The same by day in UTC, the newest `limit` days, newest first. */
async function sumsByDay(sql: Sql, query: UsageQuery, limit: number): Promise<UsageGroupSum[]> {
  const rows = await sql<UsageGroupSum[]>`
    with ${parts(sql, query)}
    select to_char(day, 'YYYY-MM-DD') as key, summed.* from (
      select date_trunc('day', at at time zone 'UTC') as day, ${totals(sql)} from part
      group by 1 order by 1 desc limit ${limit}) summed
    order by day desc`;
  return rows.map(({ key, promptTokens, completionTokens, modelMs, answers, estimated }) => ({
    key,
    promptTokens,
    completionTokens,
    modelMs,
    answers,
    estimated,
  }));
}

/*** Rows of `usage` as part of the statement that ends the work they were spent on. */
interface Spent {
  turnId: string;
  session: string;
  userId: string;
  purpose: UsagePurpose;
  usage: readonly ModelUsage[];
  settles?: Settlement | undefined;
}

/**
 * Further CTEs with a leading comma: one row per model while the CTE `guard` has its one row, and the end of what was
 * reserved. Empty if no model was reached and nothing was reserved.
 */
export function usageRows(
  sql: Sql,
  { turnId, session, userId, purpose, usage, settles }: Spent,
  guard: ReturnType<Sql>,
) {
  const settlement =
    settles === undefined
      ? sql``
      : settled(
          sql,
          sql`(select ${settles.holder}::text as holder, ${settles.tokens}::bigint as tokens, ${settles.micros}::bigint as micros from ${guard}) s`,
        );
  if (usage.length === 0) return settlement;
  return sql`${settlement}, used as (${insertUsage(
    sql,
    sql`(select ${turnId} as turn_id, ${session} as session, ${cleanText(userId)} as user_id,
      ${cleanJson(usageRecords(usage))}::jsonb as usage from ${guard}) t`,
    purpose,
  )})`;
}

/** The body of a CTE that stores the usage of turns, or of other work: a FROM item `t`. */
export function insertUsage(sql: Sql, turns: ReturnType<Sql>, purpose: UsagePurpose) {
  return sql`
    insert into usage (turn_id, session, user_id, purpose, model, prompt_tokens, completion_tokens, model_ms, estimated)
    select t.turn_id, t.session, t.user_id, ${purpose}, u.model, u."promptTokens", u."completionTokens",
      u."modelMs", u.estimated
    from ${turns}, jsonb_to_recordset(t.usage)
      as u(model text, "promptTokens" int, "completionTokens" int, "modelMs" int, estimated boolean)`;
}

/** Usage as `insertUsage` reads it. */
export function usageRecords(usage: readonly ModelUsage[]) {
  return usage.map((row) => ({ ...usageColumns(row), estimated: row.estimated ?? false }));
}
