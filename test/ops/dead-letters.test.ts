/** The command `dead-letters`: what it lists, what it requeues, and what it refuses. */
import { expect, it } from 'vitest';
import type { LaneKey } from '../../src/protocol/store/lanes.ts';
import { deadLettersCommand, MAX_DEAD_LETTERS } from '../../src/ops/dead-letters.ts';
import { describeStore, type TestStore } from '../database.ts';

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

describeStore('dead-letters', (databases) => {
  it('reports when there are none', async () => {
    const store = await databases.open();
    expect(await deadLettersCommand([])(store)).toBe('There are no dead letters.');
    expect(await deadLettersCommand(['replay', '--all'])(store)).toBe('Queued again: 0.');
  });

  it('lists id, time, attempts and error on one line each, whatever the error contains', async () => {
    const store = await databases.open();
    await giveUp(store, 'out:http:a#b', 1, 'first line\nsecond \u001b[31m line');
    const text = await deadLettersCommand([])(store);
    expect(text).toMatch(
      /^out:http:a#b#1 {2}\d{4}-\d\d-\d\dT[\d:.]+Z {2}failed attempts: 0, crashes: 0 {2}first line second \[31m line 1$/,
    );
  });

  it('requeues the one that is named, once', async () => {
    const store = await databases.open();
    await giveUp(store, 'out:http:a#b', 2);
    const replay = () => deadLettersCommand(['replay', 'out:http:a#b#1'])(store);
    expect(await replay()).toBe('out:http:a#b#1 is queued again.');
    await expect(replay()).rejects.toMatchObject({ code: 'unknown_dead_letter' });
    expect((await store.lanes.deadLetters(9)).map(({ seq }) => seq)).toEqual([2]);
  });

  it('requeues all of them in lane order', async () => {
    const store = await databases.open();
    await giveUp(store, 'out:telegram:1', 3);
    expect(await deadLettersCommand(['replay', '--all'])(store)).toBe('Queued again: 3.');
    const waiting = await store.sql`select dedupe from lane_item where done_at is null order by seq`;
    expect(waiting.map(({ dedupe }) => dedupe)).toEqual(['m1', 'm2', 'm3']);
  });

  it('lists and queues a limited number at a time, and says that there are more', async () => {
    const store = await databases.open();
    await store.sql`insert into lane (key, head, tail) values ('out:a:1', ${MAX_DEAD_LETTERS}, ${MAX_DEAD_LETTERS})`;
    const die = (from: number, to: number) => store.sql`
      insert into lane_item (lane, seq, dedupe, payload, dead, done_at)
      select 'out:a:1', n, n::text, '{}', true, now() from generate_series(${from}::int, ${to}::int) n`;
    await die(1, MAX_DEAD_LETTERS);
    expect(await deadLettersCommand([])(store)).not.toContain('Only the newest');
    await store.sql`update lane set head = head + 1, tail = tail + 1`;
    await die(MAX_DEAD_LETTERS + 1, MAX_DEAD_LETTERS + 1);
    const lines = (await deadLettersCommand([])(store)).split('\n');
    expect(lines).toHaveLength(MAX_DEAD_LETTERS + 1);
    expect(lines.at(-1)).toBe(`Only the newest ${MAX_DEAD_LETTERS} are listed.`);
    const all = () => deadLettersCommand(['replay', '--all'])(store);
    expect(await all()).toBe(`Queued again: ${MAX_DEAD_LETTERS}. There are more: run the command again.`);
    expect(await all()).toBe('Queued again: 1.');
  });

  it('shows one in full, with its text and every line of its error, and drops it', async () => {
    const store = await databases.open();
    const node = await store.lanes.register('home', 60_000);
    const said = { message: { content: 'What is this?\n\u001b[31mred' } };
    const [head] = (await store.lanes.append('in:http:a#b', 'm1', said, node)).heads;
    if (head === undefined) throw new Error('the lane is free');
    await store.lanes.finish(head, 'first line\nsecond line');
    const of = (action: string) => deadLettersCommand([action, 'in:http:a#b#1'])(store);
    expect(await of('show')).toMatch(
      /^lane +in:http:a#b\nnumber +1\ngiven up +\S+Z\nfailed attempts +0\ncrashes +0\nerror +first line\n  second line\n\nWhat is this\?\n\\u\{1b\}\[31mred$/,
    );
    expect((await store.lanes.deadLetters(9))[0]?.text).toBe('What is this?\n\u001b[31mred');
    expect(await of('drop')).toBe('in:http:a#b#1 is deleted.');
    for (const action of ['show', 'drop'])
      await expect(of(action)).rejects.toMatchObject({ code: 'unknown_dead_letter' });
    expect(await deadLettersCommand([])(store)).toBe('There are no dead letters.');
  });

  it('reports when a dead letter has no text', async () => {
    const store = await databases.open();
    await giveUp(store, 'hook:desk', 1);
    expect(await deadLettersCommand(['show', 'hook:desk#1'])(store)).toMatch(/\(It has no text\.\)$/);
  });

  it('refuses an unknown id and any other form of the command', async () => {
    const store = await databases.open();
    for (const id of ['out:telegram:1', 'out:telegram:1#', 'telegram:1#1', 'out:telegram:1#1', '#1'])
      await expect(deadLettersCommand(['replay', id])(store)).rejects.toMatchObject({
        code: 'unknown_dead_letter',
      });
    const forms = [
      ['replay'],
      ['replay', 'out:a:1#1', '--all'],
      ['--all'],
      ['drop'],
      ['drop', '--all'],
      ['show'],
      ['show', 'out:a:1#1', '--all'],
      ['replay', 'out:a:1#1', 'out:a:1#2'],
    ];
    for (const args of forms)
      expect(() => deadLettersCommand(args)).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});
