/** Which migrations let gateways of the previous version continue: those that only add what these do not need. */
import { StoreError } from '../../contracts/errors.ts';
import { sleep } from '../../lib/async/sleep.ts';
import type { Sql } from './database.ts';

/**
 * Gateways that died keep their lease for ten seconds; how long the start waits, and how often it checks, in
 * milliseconds.
 */
const LEASE_ENDS_MS = 12_000;
const LOOK_MS = 500;

const ADDITIVE = [
  /^create table /i,
  /^create index /i,
  // A column that statements of the previous version do not name must be nullable or have a default.
  /^alter table \S+ add column (?!.*\bnot null\b)/is,
  /^alter table \S+ add column .*\bdefault\b/is,
  // The columns that these statements name may only become less restricted, not more.
  /^alter table \S+ alter column \S+ (drop not null|set default )/i,
];

/** True for a statement that does not affect gateways of the previous version. */
export function isAdditive(statement: string): boolean {
  const text = statement.trim();
  return text === '' || ADDITIVE.some((form) => form.test(text));
}

/**
 * Waits while other gateways run with the database, and throws `StoreError('gateways_run')` if they do not end within
 * `withinMs`: the given statements change what they use. Statements that only add may run at the same time.
 */
export async function refuseBesideOthers(
  sql: Sql,
  schema: string,
  statements: readonly string[],
  withinMs = LEASE_ENDS_MS,
): Promise<void> {
  if (statements.every(isAdditive)) return;
  const [table] = await sql<{ found: boolean }[]>`
    select to_regclass(${`"${schema}"."node"`}) is not null as found`;
  if (table?.found !== true) return;
  const until = performance.now() + withinMs;
  for (;;) {
    const [row] = await sql<{ live: number }[]>`
      select count(*)::int as live from ${sql(schema)}.node where lease_until > now()`;
    const live = row?.live ?? 0;
    if (live === 0) return;
    if (performance.now() > until)
      throw new StoreError(
        'gateways_run',
        `This version changes tables that the ${live} running gateways of the version before use, so they cannot run side by side: stop them all, then start this one. Nothing was changed.`,
      );
    await sleep(LOOK_MS);
  }
}
