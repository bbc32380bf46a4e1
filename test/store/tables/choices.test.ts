/** What the gateway chose on its own: one choice for all nodes, replaced only by a node that knows the current one. */
import { expect, it } from 'vitest';
import { describeStore } from '../../database.ts';

describeStore('a choice', (databases) => {
  it('is the first node’s, for every node', async () => {
    const store = await databases.open();
    const beside = await databases.open({ beside: store });
    expect(await store.choices.chosen('model')).toBeUndefined();
    const given = await Promise.all([
      store.choices.choose('model', 'a', undefined),
      beside.choices.choose('model', 'b', undefined),
    ]);
    expect(new Set(given).size).toBe(1);
    expect(await beside.choices.chosen('model')).toBe(given[0]);
  });

  it('is replaced once when two nodes both find it unavailable', async () => {
    const store = await databases.open();
    await store.choices.choose('model', 'gone', undefined);
    expect(await store.choices.choose('model', 'new', 'gone')).toBe('new');
    expect(await store.choices.choose('model', 'newer', 'gone')).toBe('new');
    expect(await store.choices.chosen('other')).toBeUndefined();
  });
});
