/** Rows of `usage`: written at the end of a turn or alone, read as sums. */
import { cleanText } from '../../lib/text.ts';
import type { Usage } from '../../protocol/agent/provider.ts';
import {
  type ModelUsage,
  OWN_PURPOSES,
  type UsageGroup,
  type UsageGroupSum,
  type UsageNote,
  type UsageQuery,
  type UsageSum,
} from '../../protocol/agent/usage.ts';
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
  answers:
    sql<number>`(count(distinct coalesce(${usage.turnId}, ${usage.id}::text)) filter (where ${usage.purpose} not in ${[...OWN_PURPOSES]}))::int`.as(
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
  session: sql<string>`coalesce(${usage.session}, '')`,
  user: sql<string>`coalesce(${usage.userId}, '')`,
  channel: sql<string>`split_part(coalesce(${usage.session}, ''), ':', 1)`,
  model: sql<string>`${usage.model}`,
  purpose: sql<string>`${usage.purpose}`,
} satisfies Record<Exclude<UsageGroup, 'day'>, unknown>;

/** What is read from the rows alone. Throws only `StoreError`. */
export interface UsageRows {
  sumOfSession(query: UsageQuery): Promise<UsageSum>;
  /** The groups with the most tokens, in descending order. */
  largest(query: UsageQuery, by: Exclude<UsageGroup, 'day'>, limit: number): Promise<UsageGroupSum[]>;
}

/** The `UsageRows` over a database. */
export function createUsageRows(database: Database): UsageRows {
  return {
    async sumOfSession(query) {
      const [row] = await database.query((orm) => orm.select(sums).from(usage).where(chosen(query)));
      return row ?? { promptTokens: 0, completionTokens: 0, modelMs: 0, answers: 0, estimated: false };
    },
    largest: (query, by, limit) => database.query((orm) => largestGroups(orm, query, by).limit(limit)),
  };
}

function largestGroups(orm: Orm, query: UsageQuery, by: keyof typeof KEYS) {
  const rows = orm
    .select({ key: KEYS[by].as('key'), ...sums })
    .from(usage)
    .where(chosen(query));
  return rows.groupBy(sql`1`).orderBy(sql`sum(${usage.promptTokens} + ${usage.completionTokens}) desc, 1`);
}

function chosen({ from, to, userId, session }: UsageQuery) {
  return and(
    gte(usage.at, from),
    lt(usage.at, to),
    userId === undefined ? undefined : eq(usage.userId, cleanText(userId)),
    session === undefined ? undefined : eq(usage.session, cleanText(session)),
  );
}
