/** HTTP tokens: what counts as one, how soon a revoked one dies, and what a flood of wrong ones costs. */
import { partial } from '../fakes/partial.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { TokenRecord } from '../../src/protocol/access.ts';
import {
  createTokenLookup,
  hashSecret,
  MAX_LOOKED_UP,
  TOKEN_CACHE_MS,
  USE_NOTED_EVERY_MS,
} from '../../src/security/token-lookup.ts';

const SECRET = 'a-token-of-sixteen-and-more';
const record: TokenRecord = {
  tokenId: 't1',
  name: 'test',
  scopes: ['chat'],
  origin: 'cli',
  createdAt: new Date(0),
  expired: false,
};

describe('a token in a header', () => {
  const queries: string[][] = [];
  const noted: string[] = [];
  const clock = { ms: 0 };
  let known = true;
  const { authenticate, recheck } = createTokenLookup(
    partial({
      async tokensByHash(hashes) {
        queries.push([...hashes]);
        await new Promise((resolve) => setImmediate(resolve));
        return known && hashes.includes(hashSecret(SECRET)) ? [{ ...record, hash: hashSecret(SECRET) }] : [];
      },
      noteTokenUse: async (tokenId) => void noted.push(tokenId),
    }),
    () => clock.ms,
  );
  beforeEach(() => {
    known = true;
    clock.ms += 10 * TOKEN_CACHE_MS;
    queries.length = 0;
  });

  it.each([
    ['nothing', undefined],
    ['an empty value', ''],
    ['a scheme alone', 'Bearer'],
    ['a scheme and a space', 'Bearer '],
    ['another scheme', `Basic ${SECRET}`],
    ['a token without its scheme', SECRET],
    ['a tab between', `Bearer\t${SECRET}`],
    ['two spaces between', `Bearer  ${SECRET}`],
    ['a space behind', `Bearer ${SECRET} `],
    ['two tokens', `Bearer ${SECRET} ${SECRET}`],
    ['a line break', `Bearer ${SECRET}\n`],
    ['a NUL', `Bearer ${SECRET}\0`],
    ['one megabyte', `Bearer ${'a'.repeat(1_048_576)}`],
    ['another script', 'Bearer токен-на-кириллице'],
    ['a wrong token', `Bearer ${SECRET}x`],
    ['its digest', `Bearer ${hashSecret(SECRET)}`],
  ])('is rejected when it is %s', async (_name, header) => {
    expect(await authenticate(header)).toBeUndefined();
  });

  it('yields its caller, and never stores the secret', async () => {
    expect(await authenticate(`Bearer ${SECRET}`)).toEqual({ tokenId: 't1', name: 'test', scopes: ['chat'] });
    expect(queries).toEqual([[hashSecret(SECRET)]]);
  });

  it('stops working within a second of its revocation, and immediately when it is checked again', async () => {
    await authenticate(`Bearer ${SECRET}`);
    expect([...(await recheck([`Bearer ${SECRET}`, 'Bearer other', 'nothing'])).keys()]).toEqual([
      `Bearer ${SECRET}`,
    ]);
    known = false;
    expect((await recheck([`Bearer ${SECRET}`])).size).toBe(0);
    clock.ms += TOKEN_CACHE_MS - 1;
    expect(await authenticate(`Bearer ${SECRET}`)).toBeDefined();
    clock.ms += 1;
    expect(TOKEN_CACHE_MS).toBeLessThanOrEqual(1_000);
    expect(await authenticate(`Bearer ${SECRET}`)).toBeUndefined();
  });

  it('is found when valid in a flood of wrong ones, which costs few queries and is cached', async () => {
    const flood = Array.from({ length: 3 * MAX_LOOKED_UP }, (_, n) => authenticate(`Bearer wrong-${n}`));
    const right = authenticate(`Bearer ${SECRET}`);
    expect(await right).toBeDefined();
    expect(new Set(await Promise.all(flood))).toEqual(new Set([undefined]));
    expect(queries.length).toBeLessThanOrEqual(6);
    expect(Math.max(...queries.map((hashes) => hashes.length))).toBeLessThanOrEqual(MAX_LOOKED_UP);
    const before = queries.length;
    await Promise.all(Array.from({ length: 50 }, () => authenticate('Bearer wrong-1')));
    expect(queries).toHaveLength(before);
  });

  it('has its use recorded, at most every five minutes', async () => {
    clock.ms += USE_NOTED_EVERY_MS;
    noted.length = 0;
    for (let n = 0; n < 5; n += 1) {
      await authenticate(`Bearer ${SECRET}`);
      clock.ms += TOKEN_CACHE_MS;
    }
    expect(noted).toEqual(['t1']);
    clock.ms += USE_NOTED_EVERY_MS;
    await authenticate(`Bearer ${SECRET}`);
    expect(noted).toEqual(['t1', 't1']);
  });
});

describe('a lookup that fails', () => {
  it('fails for its callers, and the next one queries again', async () => {
    let broken = true;
    const { authenticate } = createTokenLookup(
      partial({
        tokensByHash: () => (broken ? Promise.reject(new Error('down')) : Promise.resolve([])),
        noteTokenUse: async () => undefined,
      }),
      () => 0,
    );
    await expect(authenticate('Bearer a')).rejects.toThrow('down');
    broken = false;
    expect(await authenticate('Bearer a')).toBeUndefined();
  });
});
