/** Rows of `usage`: written at the end of a turn or alone, read as sums. */
import { cleanText } from '../../lib/text.ts';
import type { Usage } from '../../contracts/provider.ts';
import { MAX_USAGE_GROUPS } from '../../contracts/usage.ts';
import type {
  ModelUsage,
  UsageGroup,
  UsageNote,
  UsageQuery,
  UsageStore,
  UsageSum,
} from '../../contracts/usage.ts';
import type { Database } from '../database/database.ts';
import { and, eq, gte, lt, type Orm, sql } from '../database/drizzle.ts';
import { usage } from '../database/schema.ts';

/** The columns common to all rows. */
export function usageColumns({ model, promptTokens, completionTokens, modelMs }: ModelUsage) {
  return {
    model: cleanText(model),
    promptTokens: Math.round(promptTokens),
    completionTokens: Math.round(completionTokens),
    modelMs: Math.round(modelMs),
  };
}

/** `Ledger.noteUsage`. */
export async function noteUsage(database: Database, note: UsageNote): Promise<void> {
  const { turnId, session, userId, tokenId, purpose, estimated = false } = note;
  const row = { turnId, session, userId, tokenId, purpose, estimated, ...usageColumns(note) };
  await database.query((orm) => orm.insert(usage).values(row));
}

/** Postgres returns sums of integers as text; these fit a double. */
const total = (column: ReturnType<typeof sql>) => sql<number>`coalesce(sum(${column}), 0)::float8`;

const sums = {
  promptTokens: total(sql`${usage.promptTokens}`).as('prompt_sum'),
  completionTokens: total(sql`${usage.completionTokens}`).as('completion_sum'),
  modelMs: total(sql`${usage.modelMs}`).as('ms_sum'),
  // What the gateway does for itself is no answer.
  answers:
    sql<number>`(count(distinct coalesce(${usage.turnId}, ${usage.id}::text)) filter (where ${usage.purpose} not in ('compression', 'title', 'facts')))::int`.as(
      'answers',
    ),
  estimated: sql<boolean>`coalesce(bool_or(${usage.estimated}), false)`.as('any_estimated'),
};

/** The usage of one turn as a table of one row, or none. */
export function usageOfTurn(orm: Orm, turnId: string) {
  const rows = orm.select({ turnId: usage.turnId, ...sums }).from(usage);
  return rows.where(eq(usage.turnId, turnId)).groupBy(usage.turnId).as('spent');
}

export function toUsage({ promptTokens, completionTokens, modelMs, estimated }: UsageSum): Usage {
  return { promptTokens, completionTokens, modelMs, ...(estimated && { estimated }) };
}

const KEYS = {
  day: sql<string>`to_char(${usage.at} at time zone 'UTC', 'YYYY-MM-DD')`,
  session: sql<string>`coalesce(${usage.session}, '')`,
  user: sql<string>`coalesce(${usage.userId}, '')`,
  channel: sql<string>`split_part(coalesce(${usage.session}, ''), ':', 1)`,
  model: sql<string>`${usage.model}`,
  purpose: sql<string>`${usage.purpose}`,
} satisfies Record<UsageGroup, unknown>;

/** The `UsageStore` over a database. */
export function createUsage(database: Database): UsageStore {
  return {
    sum: (query) =>
      database.query(async (orm) => {
        const [row] = await orm.select(sums).from(usage).where(chosen(query));
        return row ?? { promptTokens: 0, completionTokens: 0, modelMs: 0, answers: 0, estimated: false };
      }),
    groups: (query, by) =>
      database.query(async (orm) => {
        const rows = orm
          .select({ key: KEYS[by].as('key'), ...sums })
          .from(usage)
          .where(chosen(query));
        const order =
          by === 'day' ? sql`1 desc` : sql`sum(${usage.promptTokens} + ${usage.completionTokens}) desc, 1`;
        const found = await rows
          .groupBy(sql`1`)
          .orderBy(order)
          .limit(MAX_USAGE_GROUPS + 1);
        const groups = found.slice(0, MAX_USAGE_GROUPS);
        return { groups: by === 'day' ? groups.toReversed() : groups, more: found.length > groups.length };
      }),
  };
}

function chosen({ from, to, userId, session }: UsageQuery) {
  return and(
    gte(usage.at, from),
    lt(usage.at, to),
    userId === undefined ? undefined : eq(usage.userId, cleanText(userId)),
    session === undefined ? undefined : eq(usage.session, cleanText(session)),
  );
}
