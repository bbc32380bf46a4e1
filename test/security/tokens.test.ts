/** HTTP tokens: what counts as one, how soon a revoked one dies, and where the very first is told. */
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureFirstToken, hashSecret } from '../../src/security/index.ts';
import { createAuthenticator, TOKEN_CACHE_MS } from '../../src/security/tokens.ts';
import { describeEachDatabase } from '../database.ts';

const SECRET = 'a-token-of-sixteen-and-more';

describe('a token in a header', () => {
  const asked: string[] = [];
  const clock = { ms: 0 };
  let known = true;
  const record = { tokenId: 't1', name: 'test', scopes: ['chat' as const], createdAt: new Date(0) };
  const authenticate = createAuthenticator(
    {
      tokenByHash(hash) {
        asked.push(hash);
        return Promise.resolve(known && hash === hashSecret(SECRET) ? record : undefined);
      },
    },
    () => clock.ms,
  );
  beforeEach(() => {
    known = true;
    clock.ms += 10 * TOKEN_CACHE_MS;
    asked.length = 0;
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
  ])('is none when it is %s', async (_name, header) => {
    expect(await authenticate(header)).toBeUndefined();
  });

  it('names its caller, and nothing of its secret', async () => {
    expect(await authenticate(`Bearer ${SECRET}`)).toEqual({ tokenId: 't1', scopes: ['chat'] });
    expect(asked).toEqual([hashSecret(SECRET)]);
  });

  it('dies within a second of its revocation', async () => {
    await authenticate(`Bearer ${SECRET}`);
    known = false;
    clock.ms += TOKEN_CACHE_MS - 1;
    expect(await authenticate(`Bearer ${SECRET}`)).toBeDefined();
    clock.ms += 1;
    expect(TOKEN_CACHE_MS).toBeLessThanOrEqual(1_000);
    expect(await authenticate(`Bearer ${SECRET}`)).toBeUndefined();
  });
});

describeEachDatabase('the first token', (databases) => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), 'parley-token-'));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  it('is written for its owner alone where there is no terminal, and stays the same', async () => {
    const { access } = await databases.open();
    const options = { access, home, fromEnvironment: undefined, announce: undefined };
    const { file = '' } = await ensureFirstToken(options);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const token = (await readFile(file, 'utf8')).trim();
    expect(await access.tokenByHash(hashSecret(token))).toMatchObject({ scopes: ['chat', 'admin'] });
    expect(await ensureFirstToken(options)).toEqual({ file });
    expect((await readFile(file, 'utf8')).trim()).toBe(token);
    expect(await access.tokens()).toHaveLength(1);
  });

  it('is told once on a terminal, and written nowhere', async () => {
    const { access, sql } = await databases.open();
    const told: string[] = [];
    const options = {
      access,
      home,
      fromEnvironment: undefined,
      announce: (token: string) => void told.push(token),
    };
    expect(await ensureFirstToken(options)).toEqual({});
    expect(await ensureFirstToken(options)).toEqual({});
    expect(told).toHaveLength(1);
    expect(JSON.stringify(await sql`select * from token`)).not.toContain(told[0]);
  });

  it('is the one of the environment when that names one', async () => {
    const { access } = await databases.open();
    await ensureFirstToken({ access, home, fromEnvironment: SECRET, announce: undefined });
    expect(await access.tokenByHash(hashSecret(SECRET))).toMatchObject({ name: 'GATEWAY_TOKEN' });
  });
});
