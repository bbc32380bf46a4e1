/** Grants, pairing codes and tokens: raced, expired, used up. */
import { expect, it } from 'vitest';
import { describeEachDatabase } from '../../database.ts';

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

describeEachDatabase('access', (databases) => {
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

  it('holds at most the given number of codes per channel, also in a race', async () => {
    const { access } = await databases.open();
    const raced = await Promise.all(
      Array.from({ length: 8 }, (_, i) => access.openPairing(ask(`s${i}`, `h${i}`))),
    );
    expect(raced.filter(Boolean)).toHaveLength(3);
    expect(await access.openPairing(ask('9', 'other', { channel: 'discord' }))).toBe(true);
  });

  it('turns a code into a grant once, and an expired one never', async () => {
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

  it('finds tokens by their hash; a repeated hash changes name and scopes only', async () => {
    const { access } = await databases.open();
    const first = await access.putToken({ hash: 'h', name: 'laptop', scopes: ['chat'] });
    const again = await access.putToken({ hash: 'h', name: 'desk', scopes: ['chat', 'admin'] });
    expect(again).toEqual({ ...first, name: 'desk', scopes: ['chat', 'admin'] });
    expect(await access.tokenByHash('h')).toEqual(again);
    expect(await access.tokenByHash('g')).toBeUndefined();
    expect(await access.tokens()).toEqual([again]);
    expect(await access.revokeToken(first.tokenId)).toBe(true);
    expect(await access.revokeToken(first.tokenId)).toBe(false);
  });
});
