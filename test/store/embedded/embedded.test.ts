/** When the embedded database's thread dies, it restarts on the same socket with all committed data, as often as it takes. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type * as WorkerThreads from 'node:worker_threads';
import type { Worker } from 'node:worker_threads';
import postgres from 'postgres';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openEmbedded } from '../../../src/store/embedded/embedded.ts';
import { openStoreAt } from '../../../src/store/store.ts';
import { makeEmbeddedHome, silentLog } from '../../database.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';

const threads = vi.hoisted((): Worker[] => []);
vi.mock('node:worker_threads', async (original) => {
  const real = await original<typeof WorkerThreads>();
  class Watched extends real.Worker {
    constructor(...args: ConstructorParameters<typeof real.Worker>) {
      super(...args);
      threads.push(this);
    }
  }
  return { ...real, Worker: Watched };
});

/** Answers, and bytes of each: together far more than the thread's heap needs initially. */
const ANSWERS = 200;
const ANSWER_BYTES = 200_000;
/** Seven restarts and the pauses between them, on a busy machine. */
const SEVEN_STARTS_MS = 120_000;

describe('the embedded database', () => {
  let home: string;
  beforeEach(async () => {
    home = await makeEmbeddedHome();
    // The first home of all is made by a thread of its own.
    threads.length = 0;
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  it('restarts when its thread crashes, with all committed rows, while callers wait', async () => {
    const embedded = await openEmbedded(home, silentLog);
    const store = await openStoreAt(
      { socketPath: embedded.socketPath, schema: 'public' },
      { log: silentLog, migrate: true },
    );
    await store.access.addGrant('telegram', 'dm', '7');
    await threads[0]?.terminate();
    expect(await store.access.hasGrant('telegram', 'dm', '7')).toBe(true);
    expect(threads).toHaveLength(2);
    await store.close();
    await embedded.close();
    expect(threads.map((thread) => thread.threadId)).toEqual([-1, -1]);
  });

  it(
    'is there again after any number of restarts that failed, once what kept it down is gone',
    async () => {
      const lines: string[] = [];
      const embedded = await openEmbedded(home, testLog(lines), { restartMs: 1 });
      const store = await openStoreAt(
        { socketPath: embedded.socketPath, schema: 'public' },
        { log: silentLog, migrate: true },
      );
      await store.access.addGrant('telegram', 'dm', '7');
      const file = path.join(home, 'pg', 'PG_VERSION');
      const version = await readFile(file);
      await writeFile(file, '9.0');
      await threads[0]?.terminate();
      const failed = (): number =>
        lines.filter((line) => line.includes('embedded_database_restart_failed')).length;
      await vi.waitFor(() => expect(failed()).toBeGreaterThan(6), { timeout: SEVEN_STARTS_MS, interval: 20 });
      await writeFile(file, version);
      expect(await store.access.hasGrant('telegram', 'dm', '7')).toBe(true);
      await store.close();
      await embedded.close();
    },
    2 * SEVEN_STARTS_MS,
  );

  it('retains nothing of the answers it has sent', async () => {
    const embedded = await openEmbedded(home, silentLog);
    const sql = postgres({ path: embedded.socketPath, user: 'postgres', max: 1, fetch_types: false });
    const heapUsed = async () => (await threads[0]!.getHeapStatistics()).used_heap_size;
    await sql`select repeat('x', ${ANSWER_BYTES})`;
    const before = await heapUsed();
    for (let at = 0; at < ANSWERS; at += 1) await sql`select repeat('x', ${ANSWER_BYTES})`;
    expect((await heapUsed()) - before).toBeLessThan((ANSWERS * ANSWER_BYTES) / 2);
    await sql.end();
    await embedded.close();
  });

  it('stays closed when closed during a restart', async () => {
    const lines: string[] = [];
    const embedded = await openEmbedded(home, testLog(lines));
    await threads[0]?.terminate();
    await vi.waitFor(() => expect(lines.join('')).toContain('embedded_database_restarting'), {
      timeout: 10_000,
    });
    await embedded.close();
    expect(threads.every((thread) => thread.threadId === -1)).toBe(true);
  });
});
