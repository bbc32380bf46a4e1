/** The secret by which the nodes of one database recognize each other on a third-party server. */
import { expect, it } from 'vitest';
import { describeStore } from '../../database.ts';

describeStore('the secret of the nodes', (databases) => {
  it('is created once, is the same for every node, and different in every other database', async () => {
    const store = await databases.open();
    const beside = await databases.open({ beside: store });
    const secrets = await Promise.all([store, beside, store].map((node) => node.fanoutSecret()));
    expect(secrets[0]?.subject).toMatch(/^[0-9a-f]{32}$/);
    expect(secrets[0]?.key).toHaveLength(32);
    expect(secrets[1]).toEqual(secrets[0]);
    expect(secrets[2]).toEqual(secrets[0]);
    const other = await (await databases.open()).fanoutSecret();
    expect(other.subject).not.toBe(secrets[0]?.subject);
    expect(other.key).not.toEqual(secrets[0]?.key);
  });
});
