/** What a gateway stores about people: its rows, and the command that lists, exports and deletes them. */
import { personCommand } from '../../../src/commands/person.ts';
import { loadConfig } from '../../../src/config.ts';
import type { GatewayFixture } from '../setup.ts';

/**
 * Rows of every table as text. Left out: what changes on its own, such as lanes and reports of nodes, and the tokens
 * themselves.
 */
export async function rowsOf({ sql }: GatewayFixture): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public'
      and tablename not in ('node', 'lane', 'mcp_status', 'node_settings', 'node_status', 'connection', 'token', 'removed_folder')`;
  const all = await Promise.all(
    tables.map(async ({ name }) =>
      (await sql`select * from ${sql(name)}`).map((row) => `${name} ${JSON.stringify(row)}`),
    ),
  );
  return all.flat();
}

/** What `parley person` prints with these arguments. */
export async function personText({ store, env }: GatewayFixture, args: string[]): Promise<string> {
  let text = '';
  for await (const piece of personCommand(args)(store, loadConfig(env))) text += piece;
  return text;
}
