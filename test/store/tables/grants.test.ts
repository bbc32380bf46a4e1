/** Grants and pairing codes: raced, expired, used up. */
import { expect, it } from 'vitest';
import { describeStore } from '../../database.ts';

const HOUR_MS = 3_600_000;
const ask = (senderId: string, codeHash: string, change = {}) => ({
  channel: 'telegram',
  senderId,
  senderName: 'Eve \0',
  codeHash,
  ttlMs: HOUR_MS,
  maxPending: 3,
  ...change,
});

describeStore('access', (databases) => {
  it('keeps grants by channel, kind and id', async () => {
    const { access } = await databases.open();
    await access.addGrant('telegram', 'dm', '7');
    await access.addGrant('telegram', 'dm', '7');
    expect(await access.hasGrant('telegram', 'dm', '7')).toBe(true);
    expect(await access.hasGrant('telegram', 'group', '7')).toBe(false);
    expect(await access.hasGrant('discord', 'dm', '7')).toBe(false);
    expect(await access.grants()).toMatchObject([{ channel: 'telegram', kind: 'dm', id: '7' }]);
    expect(await access.removeGrant('telegram', 'dm', '7')).toBe(true);
    expect(await access.removeGrant('telegram', 'dm', '7')).toBe(false);
  });

  it('stores one code per stranger and hour, even when asked twice at once', async () => {
    const { access } = await databases.open();
    const raced = await Promise.all(['h1', 'h2', 'h3'].map((hash) => access.openPairing(ask('7', hash))));
    expect(raced.filter(Boolean)).toHaveLength(1);
    expect(await access.openPairing(ask('7', 'h4'))).toBe(false);
    expect(await access.pairings()).toMatchObject([{ senderId: '7', senderName: 'Eve \u2400' }]);
  });

  it('holds at most the given number of codes per channel, even in a race', async () => {
    const { access } = await databases.open();
    const raced = await Promise.all(
      Array.from({ length: 8 }, (_, i) => access.openPairing(ask(`s${i}`, `h${i}`))),
    );
    expect(raced.filter(Boolean)).toHaveLength(3);
    expect(await access.openPairing(ask('9', 'other', { channel: 'discord' }))).toBe(true);
  });

  it('turns a code into a grant once, and never an expired one', async () => {
    const { access } = await databases.open();
    await access.openPairing(ask('7', 'hash'));
    const raced = await Promise.all([1, 2, 3].map(() => access.approvePairing('hash')));
    expect(raced.filter((record) => record !== undefined)).toMatchObject([
      { channel: 'telegram', senderId: '7' },
    ]);
    expect(await access.hasGrant('telegram', 'dm', '7')).toBe(true);
    expect(await access.pairings()).toEqual([]);
    expect(await access.approvePairing('unknown')).toBeUndefined();
    await access.openPairing(ask('8', 'old', { ttlMs: 0 }));
    expect(await access.approvePairing('old')).toBeUndefined();
    expect(await access.openPairing(ask('8', 'new'))).toBe(true);
  });

  it('lets another stranger’s code replace the oldest once it is old enough, and never sooner', async () => {
    const { access, sql } = await databases.open();
    const yieldAfterMs = 600_000;
    for (const n of [1, 2, 3])
      expect(await access.openPairing(ask(`s${n}`, `h${n}`, { yieldAfterMs }))).toBe(true);
    expect(await access.openPairing(ask('s4', 'h4', { yieldAfterMs }))).toBe(false);
    await sql`update pairing set expires_at = expires_at - interval '11 minutes' where sender_id = 's2'`;
    // A user who already has a code does not get a second one.
    expect(await access.openPairing(ask('s2', 'h5', { yieldAfterMs }))).toBe(false);
    expect(await access.openPairing(ask('s4', 'h4', { yieldAfterMs }))).toBe(true);
    expect((await access.pairings()).map(({ senderId }) => senderId).toSorted()).toEqual(['s1', 's3', 's4']);
    expect(await access.approvePairing('h2')).toBeUndefined();
  });
});
