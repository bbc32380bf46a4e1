/** The very first token: told to a terminal or kept in a private file, never both, and never made twice. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ensureFirstToken, hashSecret } from '../../src/security/index.ts';
import { describeEachDatabase } from '../database.ts';

let home = '';
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'parley-token-'));
});
afterEach(() => rm(home, { recursive: true }));

describeEachDatabase('the first token', (databases) => {
  it('is shown once on the terminal and written to no file', async () => {
    const { access } = await databases.open();
    const told: string[] = [];
    const announce = (token: string): void => void told.push(token);
    const first = { access, home, fromEnvironment: undefined, announce };
    expect(await ensureFirstToken(first)).toEqual({});
    expect(await ensureFirstToken(first)).toEqual({});
    expect(told).toHaveLength(1);
    expect(await readdir(home)).toEqual([]);
    expect(await access.tokenByHash(hashSecret(told[0] ?? ''))).toMatchObject({ scopes: ['chat', 'admin'] });
  });

  it('is GATEWAY_TOKEN when that is set: none is made, shown or written', async () => {
    const { access } = await databases.open();
    const told: string[] = [];
    const fromEnvironment = 'a-token-of-my-own-choice';
    const announce = (token: string): void => void told.push(token);
    expect(await ensureFirstToken({ access, home, fromEnvironment, announce })).toEqual({});
    expect([...told, ...(await readdir(home))]).toEqual([]);
    expect(await access.tokenByHash(hashSecret(fromEnvironment))).toBeDefined();
    expect(await access.tokens()).toHaveLength(1);
  });
});
