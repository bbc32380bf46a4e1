/** The command `dead-letters`: what it lists, what it queues again, and what it refuses. */
import { expect, it } from 'vitest';
import type { LaneKey } from '../../src/contracts/store/lanes.ts';
import { deadLettersCommand, MAX_DEAD_LETTERS } from '../../src/ops/dead-letters.ts';
import { describeEachDatabase, type TestStore } from '../database.ts';

/** Gives up `count` messages of a lane; their errors name them. */
async function giveUp({ lanes }: TestStore, lane: LaneKey, count: number, error = 'error'): Promise<void> {
  const node = await lanes.register(`home of ${lane}`, 60_000);
  for (let n = 1; n <= count; n += 1) {
    const [head] = (await lanes.append(lane, `m${n}`, { n }, node)).heads;
    if (head === undefined) throw new Error('the lane is free');
    await lanes.finish(head, `${error} ${n}`);
  }
  await lanes.unregister(node);
}

describeEachDatabase('dead-letters', (databases) => {
  it('says so when there are none', async () => {
    const { lanes } = await databases.open();
    expect(await deadLettersCommand(lanes, [], false)).toBe('There are no dead letters.');
    expect(await deadLettersCommand(lanes, ['replay'], true)).toBe('Queued again: 0.');
  });

  it('lists id, time, attempts and error on one line each, whatever the error holds', async () => {
    const store = await databases.open();
    await giveUp(store, 'out:http:a#b', 1, 'first line\nsecond \u001b[31m line');
    const text = await deadLettersCommand(store.lanes, [], false);
    expect(text).toMatch(
      /^out:http:a#b#1 {2}\d{4}-\d\d-\d\dT[\d:.]+Z {2}failed attempts: 0, crashes: 0 {2}first line second \[31m line 1$/,
    );
  });

  it('queues the one that is named again, once', async () => {
    const store = await databases.open();
    await giveUp(store, 'out:http:a#b', 2);
    const replay = () => deadLettersCommand(store.lanes, ['replay', 'out:http:a#b#1'], false);
    expect(await replay()).toBe('out:http:a#b#1 is queued again.');
    await expect(replay()).rejects.toMatchObject({ code: 'unknown_dead_letter' });
    expect((await store.lanes.deadLetters(9)).map(({ seq }) => seq)).toEqual([2]);
  });

  it('queues all again in the order of their lane', async () => {
    const store = await databases.open();
    await giveUp(store, 'out:telegram:1', 3);
    expect(await deadLettersCommand(store.lanes, ['replay'], true)).toBe('Queued again: 3.');
    const waiting = await store.sql`select dedupe from lane_item where done_at is null order by seq`;
    expect(waiting.map(({ dedupe }) => dedupe)).toEqual(['m1', 'm2', 'm3']);
  });

  it('lists and queues a bounded number at once, and says that there are more', async () => {
    const store = await databases.open();
    await store.sql`insert into lane (key, head, tail) values ('out:a:1', ${MAX_DEAD_LETTERS}, ${MAX_DEAD_LETTERS})`;
    const die = (from: number, to: number) => store.sql`
      insert into lane_item (lane, seq, dedupe, payload, dead, done_at)
      select 'out:a:1', n, n::text, '{}', true, now() from generate_series(${from}::int, ${to}::int) n`;
    await die(1, MAX_DEAD_LETTERS);
    expect(await deadLettersCommand(store.lanes, [], false)).not.toContain('Only the newest');
    await store.sql`update lane set head = head + 1, tail = tail + 1`;
    await die(MAX_DEAD_LETTERS + 1, MAX_DEAD_LETTERS + 1);
    const lines = (await deadLettersCommand(store.lanes, [], false)).split('\n');
    expect(lines).toHaveLength(MAX_DEAD_LETTERS + 1);
    expect(lines.at(-1)).toBe(`Only the newest ${MAX_DEAD_LETTERS} are listed.`);
    const all = () => deadLettersCommand(store.lanes, ['replay'], true);
    expect(await all()).toBe(`Queued again: ${MAX_DEAD_LETTERS}. There are more: run the command again.`);
    expect(await all()).toBe('Queued again: 1.');
  });

  it('refuses an unknown id and any other form of the command', async () => {
    const { lanes } = await databases.open();
    for (const id of ['out:telegram:1', 'out:telegram:1#', 'telegram:1#1', 'out:telegram:1#1', '#1'])
      await expect(deadLettersCommand(lanes, ['replay', id], false)).rejects.toMatchObject({
        code: 'unknown_dead_letter',
      });
    const forms: [string[], boolean][] = [
      [['replay'], false],
      [['replay', 'out:a:1#1'], true],
      [[], true],
      [['drop'], false],
      [['replay', 'out:a:1#1', 'out:a:1#2'], false],
    ];
    for (const [args, all] of forms)
      await expect(deadLettersCommand(lanes, args, all)).rejects.toMatchObject({ code: 'usage' });
  });
});
