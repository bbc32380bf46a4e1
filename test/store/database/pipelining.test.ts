/** Statements pipelined on a connection: each gets its own answer and its own error. */
import { expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/database/database.ts';
import { describeStore } from '../../database.ts';

const STATEMENTS = 400;

describeStore('statements sent at once', (databases) => {
  it('each get their own answer, while one in seven fails', async () => {
    const { place } = await databases.open();
    const database = openDatabase(place);
    try {
      const answers = await Promise.allSettled(
        Array.from({ length: STATEMENTS }, (_, n) =>
          database.run(async (sql) => {
            const [row] = await sql<{ n: number }[]>`select ${n}::int / ${n % 7 === 0 ? 0 : 1}::int as n`;
            return row?.n;
          }),
        ),
      );
      const seen = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : 'failed'));
      expect(seen).toEqual(Array.from({ length: STATEMENTS }, (_, n) => (n % 7 === 0 ? 'failed' : n)));
    } finally {
      await database.close();
    }
  });

  it('do not wait for transactions that wait for each other', async ({ skip }) => {
    const { place } = await databases.open();
    if (place.socketPath !== undefined) skip('The embedded database runs nothing beside a transaction.');
    const database = openDatabase(place);
    const release = Promise.withResolvers<void>();
    try {
      const numbers = Array.from({ length: 40 }, (_, n) => n);
      const transactions = numbers.map((n) =>
        database.transaction(async (sql) => {
          await sql`select ${n}::int`;
          await release.promise;
          return n;
        }),
      );
      const [row] = await database.run((sql) => sql<{ n: number }[]>`select 1 as n`);
      expect(row?.n).toBe(1);
      release.resolve();
      expect(await Promise.all(transactions)).toEqual(numbers);
    } finally {
      release.resolve();
      await database.close();
    }
  });

  it('all complete, together with more transactions than there are connections', async () => {
    const { place } = await databases.open();
    const database = openDatabase(place);
    try {
      const numbers = Array.from({ length: 40 }, (_, n) => n);
      const transactions = numbers.map((n) =>
        database.transaction(async (sql) => {
          const [first] = await sql<{ n: number }[]>`select ${n}::int as n`;
          const [second] = await sql<{ n: number }[]>`select ${first?.n ?? -1}::int as n`;
          return second?.n;
        }),
      );
      const statements = numbers.map((n) =>
        database.run(async (sql) => {
          const [row] = await sql<{ n: number }[]>`select ${n}::int as n`;
          return row?.n;
        }),
      );
      expect(await Promise.all([...transactions, ...statements])).toEqual([...numbers, ...numbers]);
    } finally {
      await database.close();
    }
  });
});
