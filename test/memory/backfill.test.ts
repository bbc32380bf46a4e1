/** The pace of vectors: calls to the embedding model leave others their time. */
import { expect, it, onTestFinished } from 'vitest';
import { BACKFILL_BATCH, createBackfill } from '../../src/memory/backfill.ts';
import { silentLog } from '../database.ts';

it('makes no more calls a minute than it may, and all of them in the end', async () => {
  let texts = Array.from({ length: BACKFILL_BATCH * 3 }, (_, id) => ({ id, text: `text ${id}` }));
  const calls: number[] = [];
  const backfill = createBackfill({
    vectors: {
      withoutVector: async (_model, limit) => texts.slice(0, limit),
      setVectors: async (_model, vectors) => {
        texts = texts.filter(({ id }) => vectors.every((vector) => vector.id !== id));
      },
    },
    embed: async ({ input }) => {
      calls.push(performance.now());
      return { vectors: input.map(() => [1, 2]), promptTokens: 0 };
    },
    metered: (_call, run) => run(),
    model: () => 'm',
    remedy: () => '',
    events: { failed: 'failed', embedded: 'embedded', tooLong: 'too_long' },
    // One in 100 ms.
    callsPerMinute: 600,
    log: silentLog,
  });
  onTestFinished(() => backfill.close());
  backfill.wake();
  await expect.poll(() => texts.length, { timeout: 10_000 }).toBe(0);
  expect(calls).toHaveLength(3);
  const pauses = calls.slice(1).map((at, index) => at - (calls[index] ?? 0));
  for (const pause of pauses) expect(pause).toBeGreaterThanOrEqual(99);
});
