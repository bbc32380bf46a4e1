/** The database clock steps back, as after a wrong start or a correction: rows stored earlier lie in the future. */
import { expect, it } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { describeStore } from '../../database.ts';

const LEASE_MS = 10_000;
const RETRY = { delayMs: 5_000, attempt: true };
const CAPACITY = [{ class: 'in', free: 10 } as const];

/** Makes the lanes' tables look as if the clock had been set back by two hours. */
async function stepBack(sql: Sql): Promise<void> {
  await sql`update lane set wake_at = wake_at + interval '2 hours'`;
  await sql`update node set lease_until = lease_until + interval '2 hours'`;
}

describeStore('lanes after the clock was set back', (databases) => {
  it('gives the next message of an old chat to the node that accepts it', async () => {
    const { lanes, sql } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const first = await lanes.append('in:a:1', 'one', {}, node);
    await lanes.finish(first.heads[0]!);
    await stepBack(sql);
    const second = await lanes.append('in:a:1', 'two', {}, node);
    expect(second.heads).toMatchObject([{ lane: 'in:a:1', seq: 2 }]);
  });

  it('sweeps waiting messages, including those of a node that died before', async () => {
    const { lanes, sql } = await databases.open();
    const dead = await lanes.register('other home', LEASE_MS);
    await lanes.append('in:a:1', 'one', {}, dead);
    await lanes.append('in:a:2', 'one', {});
    await stepBack(sql);
    const node = await lanes.register('home', LEASE_MS);
    expect((await lanes.sweep(node, CAPACITY)).map((head) => head.lane)).toEqual(['in:a:2']);
    await lanes.heartbeat(node, LEASE_MS);
    const [row] =
      await sql`select lease_until <= now() + interval '10 seconds' as soon from node where id = ${dead}`;
    expect(row?.['soon']).toBe(true);
  });

  it('lets a message waiting for its next try wait no longer than its retry delay', async () => {
    const { lanes, sql } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const { heads } = await lanes.append('in:a:1', 'one', {}, node);
    await lanes.release(heads[0]!, RETRY);
    await stepBack(sql);
    await sql`update node set lease_until = now() + interval '10 seconds'`;
    await lanes.heartbeat(node, LEASE_MS);
    const [row] =
      await sql`select wake_at <= now() + interval '5 seconds' as soon from lane where key = 'in:a:1'`;
    expect(row?.['soon']).toBe(true);
    expect(await lanes.sweep(node, CAPACITY)).toEqual([]);
  });
});
