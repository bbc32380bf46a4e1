/** Two real processes on one Postgres: they share the work and take over from each other, killed or frozen. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type postgres from 'postgres';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { describeStore, type TestStore } from '../database.ts';

const CHILD = fileURLToPath(new URL('node-child.ts', import.meta.url));
const ROUNDS = 6;
const PER_ROUND = 50;
const MESSAGES = ROUNDS * PER_ROUND;
const LANES = 15;
const WORK_MS = 60;
const LONG = { timeout: 30_000, interval: 50 };

const children: ChildProcess[] = [];

describeStore('two processes', (databases) => {
  describe('on one database', () => {
    afterEach(async () => {
      for (const child of children.splice(0)) await kill(child);
    });

    it('lose, reorder and repeat nothing when they are killed and frozen in turn', async () => {
      const store = await databases.open();
      await store.sql`
        create table diary (id bigserial, lane text, seq int, epoch int, node text, instance text)`;
      const nodes = [await boot(store, 'a'), await boot(store, 'b')];
      for (let round = 0; round < ROUNDS; round += 1) {
        await feed(store, round * PER_ROUND);
        const victim = round % 2;
        await progress(store.sql, round * PER_ROUND + 10);
        if (round < 4) {
          await kill(nodes[victim]!);
          nodes[victim] = await boot(store, 'ab'[victim]!);
        } else await freeze(store, nodes[victim]!, 'ab'[victim]!);
      }
      await progress(store.sql, MESSAGES);

      const ends = await store.sql`
        select lane, seq, done_epoch, attempts, error from lane_item order by lane, seq`;
      expect(ends).toHaveLength(MESSAGES);
      expect(ends.filter((row) => row['attempts'] > 0 || row['error'] !== null)).toEqual([]);
      const runs = await store.sql`select lane, seq, epoch, instance from diary order by lane, epoch`;
      const broken = runs.filter((run, at) => {
        const before = runs[at - 1];
        if (before === undefined || before['lane'] !== run['lane']) return false;
        return before['seq'] > run['seq'] || before['epoch'] === run['epoch'];
      });
      expect(broken, 'later claims never go back, and each is run once').toEqual([]);
      const ran = new Set(runs.map((run) => `${run['lane']}#${run['seq']}@${run['epoch']}`));
      expect(ends.filter((end) => !ran.has(`${end['lane']}#${end['seq']}@${end['done_epoch']}`))).toEqual([]);
      for (const instance of ['a', 'b']) {
        expect(runs.filter((run) => run['instance'] === instance).length).toBeGreaterThan(MESSAGES / 10);
      }
      expect(runs.length, 'something was under way at the kills').toBeGreaterThan(MESSAGES);
    }, 90_000);
  });
});

async function boot(store: TestStore, instance: string): Promise<ChildProcess> {
  const args = [CHILD, store.place.url ?? '', store.place.schema, instance, String(WORK_MS)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Stops the process in the middle of work until its lanes are taken over, then lets it wake up as a zombie. */
async function freeze(store: TestStore, child: ChildProcess, instance: string): Promise<void> {
  const held = async (): Promise<number> => {
    const rows = await store.sql`select from lane join node on node.id = owner where instance = ${instance}`;
    return rows.length;
  };
  await vi.waitFor(async () => {
    child.kill('SIGSTOP');
    if ((await held()) > 0) return;
    child.kill('SIGCONT');
    throw new Error('it held nothing just then');
  }, LONG);
  await vi.waitFor(async () => expect(await held()).toBe(0), LONG);
  child.kill('SIGCONT');
}

/** Accepts the messages of one round. */
async function feed(store: TestStore, first: number): Promise<void> {
  for (let index = first; index < first + PER_ROUND; index += 1) {
    await store.lanes.append(`in:t:${index % LANES}`, `m${index}`, { index });
  }
}

/** Waits until this many messages have ended. */
async function progress(sql: postgres.Sql, ended: number): Promise<void> {
  await vi.waitFor(async () => {
    const [row] = await sql`select count(*)::int as count from lane_item where done_at is not null`;
    expect(row?.['count']).toBeGreaterThanOrEqual(ended);
  }, LONG);
}
