/** `parley token`: what it lists, creates, changes and revokes. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureFirstToken, tokenCommand } from '../../src/security/index.ts';
import { hashSecret } from '../../src/security/token-lookup.ts';
import { describeStore, type TestStore } from '../database.ts';

let home = '';
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'parley-token-'));
});
afterEach(() => rm(home, { recursive: true }));

const secretIn = (text: string): string => /parley_\S+/.exec(text)?.[0] ?? '';

describeStore('parley token', (databases) => {
  const run = ({ access }: TestStore, ...args: string[]): Promise<string> => tokenCommand(args)(access, home);
  const isValid = async ({ access }: TestStore, secret: string): Promise<boolean> =>
    (await access.tokensByHash([hashSecret(secret)])).length === 1;

  it('creates a token with scopes and an expiry, and lists it with its use and without its secret', async () => {
    const store = await databases.open();
    const made = await run(store, 'create', 'app', '--scope', 'approve,commands', '--expires', '30d');
    expect(made).toMatch(/^Token "app" \(chat, approve, commands, until \d{4}-.* UTC\), shown only once:/);
    const listed = await run(store);
    expect(listed).toMatch(
      / {2}chat,approve,commands {2}cli {2}app {2}\(created .* UTC, never used, expires .* UTC\)$/,
    );
    expect(listed).not.toContain(secretIn(made));
    const [token] = await store.access.tokens();
    await store.access.noteTokenUse(token?.tokenId ?? '', 0, '');
    await store.access.changeToken(token?.tokenId ?? '', { expiresInMs: 0 });
    expect(await run(store)).toMatch(/, used \d{4}-.* UTC, EXPIRED /);
    expect(await run(store, 'create', 'plain\u001b[2J\nfake')).toContain(
      'Token "plain [2J fake" (chat), shown',
    );
    expect(await run(store)).not.toContain('\u001b');
  });

  it('gives a token another secret, and changes its scopes and expiry; its id stays the same', async () => {
    const store = await databases.open();
    const first = secretIn(await run(store, 'create', 'app'));
    const [{ tokenId } = { tokenId: '' }] = await store.access.tokens();
    const rotated = await run(store, 'rotate', tokenId);
    expect(rotated).toContain('The old one stops working within a second.');
    expect([await isValid(store, first), await isValid(store, secretIn(rotated))]).toEqual([false, true]);
    const changed = await run(store, 'change', tokenId, '--scope', 'admin', '--expires', '12h');
    expect(changed).toMatch(new RegExp(`^${tokenId} {2}chat,admin {2}cli {2}app .*expires `, 'm'));
    expect(await run(store, 'change', tokenId, '--expires', 'never')).not.toContain('expires');
  });

  it('gives a token another name; its secret and rights stay', async () => {
    const store = await databases.open();
    const secret = secretIn(await run(store, 'create', 'app'));
    const [{ tokenId } = { tokenId: '' }] = await store.access.tokens();
    expect(await run(store, 'rename', tokenId, 'the app of Ada')).toContain('cli  the app of Ada  (created');
    expect(await isValid(store, secret)).toBe(true);
    await expect(run(store, 'rename', 'gone', 'x')).rejects.toThrow('There is no token gone');
    for (const wrong of [[tokenId], [tokenId, ' '], [tokenId, 'x'.repeat(101)]])
      await expect(run(store, 'rename', ...wrong)).rejects.toThrow('Expected: token rename ID NAME');
  });

  it('permanently revokes the generated token, with its file', async () => {
    const store = await databases.open();
    const start = () =>
      ensureFirstToken({ access: store.access, home, fromEnvironment: undefined, showToken: undefined });
    const { file = '' } = await start();
    const first = (await readFile(file, 'utf8')).trim();
    expect(await run(store, 'rotate')).toContain(`The new token is in ${file}`);
    const second = (await readFile(file, 'utf8')).trim();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect([await isValid(store, first), await isValid(store, second)]).toEqual([false, true]);
    const [{ tokenId } = { tokenId: '' }] = await store.access.tokens();
    expect(await run(store, 'revoke', tokenId)).toBe('Revoked; it stops working within a second.');
    expect(existsSync(file)).toBe(false);
    // Restored from a backup.
    await writeFile(file, second);
    await start();
    expect([await isValid(store, first), await isValid(store, second)]).toEqual([false, false]);
  });

  it('says where the token of the environment can be changed', async () => {
    const store = await databases.open();
    await ensureFirstToken({ access: store.access, home, fromEnvironment: 'my-own', showToken: undefined });
    const [{ tokenId } = { tokenId: '' }] = await store.access.tokens();
    await expect(run(store, 'rotate', tokenId)).rejects.toThrow(
      'give the variable another value and restart',
    );
    await expect(run(store, 'rotate')).rejects.toThrow('give the ID of a token');
    expect(await run(store, 'revoke', tokenId)).toContain('Give GATEWAY_TOKEN another value');
    await expect(run(store, 'revoke', tokenId)).rejects.toThrow('There is no token');
    expect(await run(store)).toBe('No tokens.');
  });
});

describe('incorrect use of parley token', () => {
  it.each([
    [['dance'], 'Expected: token'],
    [['create', 'a', 'b'], 'Expected: token'],
    [['--loud'], "Unknown option '--loud'"],
    [
      ['create', 'a', '--scope', 'chat,root'],
      'There is no scope "root". Scopes: chat, approve, commands, admin',
    ],
    [['create', 'a', '--expires', 'soon'], '--expires takes a time such as 30d'],
    [['create', 'a', '--expires', '0d'], '--expires takes'],
    [['create', 'a', '--expires', '9999d'], 'at most 3650d'],
  ])('%j is refused before the store is opened', (args, message) => {
    expect(() => tokenCommand(args)).toThrow(message);
  });

  it('without a name or an id explains what is expected', async () => {
    for (const args of [['create'], ['revoke'], ['change', 'x']]) {
      const never = new Proxy({}, { get: () => () => Promise.reject(new Error('asked the store')) });
      await expect(tokenCommand(args)(never as never, home)).rejects.toThrow('Expected: token');
    }
  });
});
