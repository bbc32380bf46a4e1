/** What starting a turn costs the server: its statement is planned once, and never scans a whole table. */
import { expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../../src/store/database/database.ts';
import { openTurn } from '../../../src/store/turns/open-turn.ts';
import { describeStore } from '../../database.ts';
import { request } from '../requests.ts';
import { accepted, LEASE_MS, only } from '../lanes/turns.ts';

const STARTS = 20;

describeStore('the start of a turn', (databases) => {
  it('is planned once for all turns, however many messages of other sessions arrive', async () => {
    const { ledger, lanes, place } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const { turnId, ...step } = accepted(await ledger.accept(request('m1', {}, node)));
    const head = only(step);
    const database = openDatabase({ ...place, poolSize: 1 });
    onTestFinished(() => database.close());
    const start = async (): Promise<void> => {
      for (let nth = 0; nth < STARTS; nth += 1) await openTurn(database, head, turnId, 400);
    };
    await start();
    await database.run(async (sql) => {
      await sql`
      insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
      select 'http:other-' || n % 50, n, 'turn-' || n, 0, 'user', 0, '{"kind":"user","content":"hello"}', 2
      from generate_series(1, 20000) n`;
      await sql`analyze context`;
    });
    await start();
    const plans = await database.row(
      (sql) => sql<{ once: number; again: number }[]>`
        select generic_plans::int as once, custom_plans::int as again from pg_prepared_statements
        where statement like '%begun as (%update turn set state%' and name not like 'pg_%'
        order by generic_plans desc limit 1`,
    );
    // A server makes five custom plans before it settles on a generic one.
    expect(plans).toEqual({ once: 2 * STARTS - 5, again: 5 });
  });
});
