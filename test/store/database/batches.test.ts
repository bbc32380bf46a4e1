/** Calls that share a statement: who comes along, and what becomes of the others when one of them fails. */
import { afterAll, describe, expect, it } from 'vitest';
import { StoreError } from '../../../src/protocol/errors.ts';
import { createBatches, MAX_BATCH } from '../../../src/store/database/batches.ts';
import { openDatabase } from '../../../src/store/database/database.ts';

/** A database without a server: the statements of these tests never reach it. */
const database = openDatabase({ url: 'postgres://postgres@127.0.0.1:1/none', schema: 'public' });
afterAll(() => database.close());

interface Statement {
  calls: readonly string[];
  attempt: number;
}

/** Batches of calls whose names are their keys up to the first dash; a statement with a call named `bad` fails. */
function batches(failure: () => Error = () => new Error('duplicate')) {
  const statements: Statement[] = [];
  const run = createBatches<string, string>(database, {
    keyOf: (call) => call.split('-')[0] ?? '',
    run: async (_sql, calls, attempt) => {
      statements.push({ calls, attempt });
      if (calls.includes('bad')) throw failure();
      return calls.map((call) => `${call} done`);
    },
  });
  return { run, statements };
}

describe('calls', () => {
  it('of one turn of the event loop are one statement, and each gets its own result', async () => {
    const { run, statements } = batches();
    expect(await Promise.all([run('a'), run('b')])).toEqual(['a done', 'b done']);
    expect(statements).toEqual([{ calls: ['a', 'b'], attempt: 0 }]);
  });

  it('with the same key follow each other in order', async () => {
    const { run, statements } = batches();
    await Promise.all([run('a-1'), run('a-2'), run('b'), run('a-3')]);
    expect(statements.map(({ calls }) => calls)).toEqual([['a-1', 'b'], ['a-2'], ['a-3']]);
  });

  it(`beyond ${MAX_BATCH} wait for the next statement`, async () => {
    const { run, statements } = batches();
    await Promise.all(Array.from({ length: MAX_BATCH + 1 }, (_, nth) => run(`${nth}`)));
    expect(statements.map(({ calls }) => calls.length)).toEqual([MAX_BATCH, 1]);
  });

  it('are repeated alone when their statement fails, so that only the faulty one fails', async () => {
    const { run, statements } = batches();
    const results = await Promise.allSettled([run('a'), run('bad'), run('c')]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(statements.slice(1)).toEqual(['a', 'bad', 'c'].map((call) => ({ calls: [call], attempt: 1 })));
  });

  it('fail together when the database is unreachable', async () => {
    const { run, statements } = batches(() => new StoreError('unavailable', 'away'));
    const results = await Promise.allSettled([run('a'), run('bad')]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(statements).toHaveLength(1);
  });
});
