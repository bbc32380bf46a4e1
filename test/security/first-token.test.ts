/** The very first token: printed to a terminal or stored in a private file, never both, and never created twice. */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ensureFirstToken } from '../../src/security/index.ts';
import { hashSecret } from '../../src/security/token-lookup.ts';
import { describeStore } from '../database.ts';

let home = '';
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'parley-token-'));
});
afterEach(() => rm(home, { recursive: true }));

describeStore('the first token', (databases) => {
  it('is shown once on the terminal and written to no file or table', async () => {
    const { access, sql } = await databases.open();
    const shown: string[] = [];
    const showToken = (token: string): void => void shown.push(token);
    const first = { access, home, fromEnvironment: undefined, showToken };
    expect(await ensureFirstToken(first)).toEqual({});
    expect(await ensureFirstToken(first)).toEqual({});
    expect(shown).toHaveLength(1);
    expect(await readdir(home)).toEqual([]);
    const scopes = ['chat', 'approve', 'commands', 'admin'];
    expect(await access.tokensByHash([hashSecret(shown[0] ?? '')])).toMatchObject([
      { scopes, origin: 'cli' },
    ]);
    expect(JSON.stringify(await sql`select * from token`)).not.toContain(shown[0]);
  });

  it('is written to a file that only its owner can read when there is no terminal, and stays the same', async () => {
    const { access } = await databases.open();
    const options = { access, home, fromEnvironment: undefined, showToken: undefined };
    const { file = '' } = await ensureFirstToken(options);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const token = (await readFile(file, 'utf8')).trim();
    expect(await access.tokensByHash([hashSecret(token)])).toMatchObject([{ origin: 'file' }]);
    expect(await ensureFirstToken(options)).toEqual({});
    expect((await readFile(file, 'utf8')).trim()).toBe(token);
    expect(await access.tokens()).toHaveLength(1);
  });

  it('is GATEWAY_TOKEN when that is set: none is created, shown or written; another value replaces it', async () => {
    const { access } = await databases.open();
    const shown: string[] = [];
    const showToken = (token: string): void => void shown.push(token);
    const start = (fromEnvironment: string) => ensureFirstToken({ access, home, fromEnvironment, showToken });
    expect(await start('a-token-of-my-own-choice')).toEqual({});
    const [before] = await access.tokens();
    expect(await start('another-of-my-own-choice')).toEqual({});
    expect([...shown, ...(await readdir(home))]).toEqual([]);
    expect(await access.tokensByHash([hashSecret('a-token-of-my-own-choice')])).toEqual([]);
    expect(await access.tokens()).toMatchObject([
      { tokenId: before?.tokenId, origin: 'env', name: 'GATEWAY_TOKEN' },
    ]);
  });

  it('stays revoked after a start, in the environment and in its file, and another is created', async () => {
    const { access } = await databases.open();
    const start = (fromEnvironment?: string) =>
      ensureFirstToken({ access, home, fromEnvironment, showToken: undefined });
    const { file = '' } = await start();
    const old = (await readFile(file, 'utf8')).trim();
    const [{ tokenId } = { tokenId: '' }] = await access.tokens();
    // Revoked from another home, or by hand: the file is still there.
    await access.revokeToken(tokenId);
    expect(await start()).toEqual({ file, revoked: file });
    expect((await readFile(file, 'utf8')).trim()).not.toBe(old);
    expect(await access.tokensByHash([hashSecret(old)])).toEqual([]);
    await start('a-token-of-my-own-choice');
    const own = (await access.tokens()).find(({ origin }) => origin === 'env');
    await access.revokeToken(own?.tokenId ?? '');
    expect(await start('a-token-of-my-own-choice')).toEqual({ revoked: 'GATEWAY_TOKEN' });
    expect(await access.tokensByHash([hashSecret('a-token-of-my-own-choice')])).toEqual([]);
    expect(existsSync(file)).toBe(true);
  });

  it('keeps everything that belongs to it when it moves from the environment into the file', async () => {
    const { access } = await databases.open();
    const start = (fromEnvironment?: string) =>
      ensureFirstToken({ access, home, fromEnvironment, showToken: undefined });
    const { file = '' } = await start();
    const [first] = await access.tokens();
    await start((await readFile(file, 'utf8')).trim());
    expect(await access.tokens()).toMatchObject([{ tokenId: first?.tokenId, origin: 'env' }]);
    await start();
    expect(await access.tokens()).toMatchObject([{ tokenId: first?.tokenId, origin: 'file' }]);
  });
});
