/** Tokens in the database: one per origin, revoked permanently, expired by its clock. */
import { expect, it } from 'vitest';
import { describeStore } from '../../database.ts';

const admin = (hash: string, name = 'first') => ({ hash, name, scopes: ['chat' as const, 'admin' as const] });

describeStore('tokens', (databases) => {
  it('are found by their hashes; a repeated hash changes only name and scopes', async () => {
    const { access } = await databases.open();
    const first = await access.putToken({ hash: 'h', name: 'laptop \0', scopes: ['chat'] });
    expect(first).toMatchObject({ origin: 'cli', expired: false, name: 'laptop \u2400' });
    const again = await access.putToken({ hash: 'h', name: 'desk', scopes: ['chat', 'approve'] });
    expect(again).toEqual({ ...first, name: 'desk', scopes: ['chat', 'approve'] });
    await access.putToken({ hash: 'i', name: 'other', scopes: ['chat'] });
    expect(await access.tokensByHash(['h', 'g'])).toEqual([{ ...again, hash: 'h' }]);
    expect(await access.tokensByHash(['h', 'i', "'; drop table token"])).toHaveLength(2);
    expect(await access.tokensByHash([])).toEqual([]);
    expect(await access.token(first.tokenId)).toEqual(again);
    expect(await access.revokeToken(first.tokenId)).toBe(true);
    expect(await access.revokeToken(first.tokenId)).toBe(false);
    expect(await access.token(first.tokenId)).toBeUndefined();
  });

  it('have one row each for the environment and a file: the next token replaces it, with the same id', async () => {
    const { access } = await databases.open();
    const one = await access.replaceToken('env', admin('a', 'GATEWAY_TOKEN'));
    const file = await access.replaceToken('file', admin('f'));
    const two = await access.replaceToken('env', admin('b', 'GATEWAY_TOKEN'));
    expect(two?.tokenId).toBe(one?.tokenId);
    expect(await access.tokensByHash(['a'])).toEqual([]);
    expect((await access.tokens()).map(({ origin }) => origin).toSorted()).toEqual(['env', 'file']);
    // The file's token now in the environment: everything that belongs to it stays with it.
    expect((await access.replaceToken('env', admin('f', 'GATEWAY_TOKEN')))?.tokenId).toBe(file?.tokenId);
    expect(await access.tokens()).toMatchObject([{ tokenId: file?.tokenId, origin: 'env' }]);
    await access.removeTokens('env');
    expect(await access.tokens()).toEqual([]);
  });

  it('are still a single one when gateways replace it at the same time', async () => {
    const store = await databases.open();
    const beside = await databases.open({ beside: store });
    const hashes = ['a', 'b', 'c', 'd'];
    await Promise.all(
      hashes.map((hash, n) => (n % 2 === 0 ? store : beside).access.replaceToken('env', admin(hash))),
    );
    expect(await store.access.tokens()).toHaveLength(1);
    expect(await store.access.tokensByHash(hashes)).toHaveLength(1);
    await store.access.removeTokens('env');
    const firsts = await Promise.all(
      hashes.map((hash, n) => (n % 2 === 0 ? store : beside).access.addFirstToken('file', admin(`f${hash}`))),
    );
    expect(firsts.filter(Boolean)).toHaveLength(1);
    expect(await store.access.tokens()).toHaveLength(1);
  });

  it('stay revoked even while the environment or file still contains them', async () => {
    const { access } = await databases.open();
    for (const origin of ['env', 'file'] as const) {
      const made = await access.replaceToken(origin, admin(origin));
      expect(await access.revokeToken(made?.tokenId ?? '')).toBe(true);
      expect(await access.revokeToken(made?.tokenId ?? '')).toBe(false);
      expect(await access.replaceToken(origin, admin(origin))).toBeUndefined();
      expect(await access.tokensByHash([origin])).toEqual([]);
      expect(await access.rotateToken(made?.tokenId ?? '', 'new')).toBeUndefined();
      // Another one can take its place, and the first stays dead after that.
      await access.replaceToken(origin, admin(`${origin}-2`));
      expect(await access.replaceToken(origin, admin(origin))).toBeUndefined();
    }
    expect((await access.tokens()).map(({ name }) => name)).toEqual(['first', 'first']);
  });

  it('expire by the clock of the database, and are listed as expired', async () => {
    const { access } = await databases.open();
    const made = await access.putToken({
      hash: 'h',
      name: 'guest',
      scopes: ['chat'],
      expiresInMs: 3_600_000,
    });
    expect(made.expiresAt?.getTime()).toBeGreaterThan(Date.now());
    expect(await access.tokensByHash(['h'])).toHaveLength(1);
    await access.changeToken(made.tokenId, { expiresInMs: 0 });
    expect(await access.tokensByHash(['h'])).toEqual([]);
    expect(await access.token(made.tokenId)).toBeUndefined();
    expect(await access.tokens()).toMatchObject([{ name: 'guest', expired: true }]);
    // An expired token does not block a first one.
    expect(await access.addFirstToken('cli', admin('first'))).toBe(true);
    const again = await access.changeToken(made.tokenId, { expiresInMs: null, scopes: ['chat', 'commands'] });
    expect(again).toMatchObject({ expired: false, scopes: ['chat', 'commands'] });
    expect(again).not.toHaveProperty('expiresAt');
    expect(await access.changeToken('nobody', { scopes: ['chat'] })).toBeUndefined();
  });

  it('keep their id and lose their secret when rotated; their last use is written occasionally', async () => {
    const { access } = await databases.open();
    const { tokenId } = await access.putToken({ hash: 'old', name: 'app', scopes: ['chat'] });
    await access.noteTokenUse(tokenId, 60_000, 'old');
    const [used] = await access.tokens();
    expect(used?.lastUsedAt).toBeInstanceOf(Date);
    await access.noteTokenUse(tokenId, 60_000, 'old');
    expect((await access.tokens())[0]).toEqual(used);
    await access.noteTokenUse(tokenId, 0, 'old');
    expect((await access.tokens())[0]?.lastUsedAt?.getTime()).toBeGreaterThan(
      used?.lastUsedAt?.getTime() ?? 0,
    );
    expect(await access.rotateToken(tokenId, 'new')).toMatchObject({ tokenId, name: 'app' });
    expect(await access.tokensByHash(['old', 'new'])).toMatchObject([{ hash: 'new', tokenId }]);
  });
});
