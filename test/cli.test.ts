/** The command line next to a running gateway and on its own, as people type it. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import packageFile from '../package.json' with { type: 'json' };
import { commandNames, helpOf } from '../src/commands/command-list.ts';
import { openStore } from '../src/store/open-store.ts';
import { hashSecret, newPairingCode } from '../src/security/token-lookup.ts';
import { chat, parley, startGatewayProcess } from './child.ts';
import { makeEmbeddedHome, silentLog } from './database.ts';

describe('the command line', () => {
  let home = '';
  beforeEach(async () => {
    home = await makeEmbeddedHome();
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  const run = (...args: string[]) => parley(args, { GATEWAY_HOME: home });

  it('explains itself with --help, and without a command', async () => {
    for (const args of [['--help'], []]) {
      const { code, stdout } = await run(...args);
      expect(code).toBe(0);
      for (const command of ['start', 'pair approve CODE', 'token create NAME', 'status'])
        expect(stdout).toContain(command);
    }
  });

  it('prints its version, and the help of each command', async () => {
    expect(await run('--version')).toMatchObject({ code: 0, stdout: `${packageFile.version}\n` });
    for (const name of commandNames()) expect(helpOf(name)).toContain(`  ${name}`);
    // The first line names the command in the form that works where it was started.
    const rest = (help: string) => help.slice(help.indexOf('\n'));
    expect(rest((await run('token', '--help')).stdout)).toBe(rest(helpOf('token')));
    expect(rest((await run('pair', '-h')).stdout)).toBe(rest(helpOf('pair')));
  });

  it('completes its commands in bash, and writes scripts for zsh and fish', async () => {
    const { stdout } = await run('completion', 'bash');
    const asked = `${stdout}\nCOMP_WORDS=(parley token ro) COMP_CWORD=2; _parley; echo "\${COMPREPLY[*]}"`;
    expect(execFileSync('bash', ['-c', asked], { encoding: 'utf8' })).toBe('rotate\n');
    for (const shell of ['zsh', 'fish']) {
      const script = (await run('completion', shell)).stdout;
      for (const name of commandNames()) expect(script).toContain(name);
    }
    expect(await run('completion', 'csh')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('bash|zsh|fish'),
    });
  });

  it('refuses an unknown command or option in one sentence, without touching the home', async () => {
    for (const args of [['dance'], ['token', '--loud'], ['--loud']]) {
      const { code, stderr } = await run(...args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/dance|loud/);
      expect(stderr.split('\n')).toHaveLength(2);
    }
    const nowhere = `${home}-nowhere`;
    expect((await parley(['dance'], { GATEWAY_HOME: nowhere })).code).toBe(1);
    expect(existsSync(nowhere)).toBe(false);
  });

  it('lets a person in while the gateway runs, with the code they were given', async () => {
    const gateway = await startGatewayProcess({ GATEWAY_HOME: home, OLLAMA_HOST: 'http://127.0.0.1:9' });
    const code = newPairingCode();
    const beside = await openStore({ home, log: silentLog, attach: true });
    await beside.access.openPairing({
      channel: 'telegram',
      senderId: '42',
      senderName: 'Ada',
      codeHash: hashSecret(code),
      ttlMs: 60_000,
      maxPending: 10,
    });
    expect((await run('pair')).stdout).toContain('pending  telegram 42 Ada');
    expect((await run('pair', 'approve', code)).stdout).toContain('Ada (telegram 42) may write');
    expect(await beside.access.hasGrant('telegram', 'dm', '42')).toBe(true);
    const again = await run('pair', 'approve', code);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('unknown, used or expired') });
    expect((await run('pair', 'revoke', 'telegram', '42')).stdout).toContain('Revoked');
    expect((await run('pair', 'group', 'telegram', '-1001')).stdout).toContain('group -1001');
    expect(await beside.access.hasGrant('telegram', 'group', '-1001')).toBe(true);
    await beside.close();
    const { stdout } = await run('status');
    expect(stdout).toContain('gateways      1 running');
    expect(stdout).toMatch(new RegExp(`page +${gateway.url}\\n`));
    expect(stdout).toMatch(/channels +http up\n/);
    expect(stdout).toContain(`home          ${home}`);
    expect(stdout).toContain('store         embedded');
    gateway.signal('SIGTERM');
    expect(await gateway.ended).toBe(0);
    const over = await run('status');
    expect(over).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('none is running with this home'),
    });
  });

  it('accepts a code only as it was shown: in capitals', async () => {
    const store = await openStore({ home, log: silentLog });
    const code = newPairingCode();
    const pairing = {
      channel: 'discord',
      senderId: '7',
      codeHash: hashSecret(code),
      ttlMs: 60_000,
      maxPending: 9,
    };
    await store.access.openPairing(pairing);
    await store.close();
    const small = await run('pair', 'approve', code.toLowerCase());
    expect(small).toMatchObject({ code: 1, stderr: expect.stringContaining('in capitals') });
    expect((await run('pair', 'approve', code)).code).toBe(0);
  });

  it('creates a token that works within a second, lists it without its secret, and revokes it', async () => {
    const gateway = await startGatewayProcess({ GATEWAY_HOME: home, OLLAMA_HOST: 'http://127.0.0.1:9' });
    const made = await run('token', 'create', 'laptop', '--scope', 'chat,commands');
    const secret = /parley_\S+/.exec(made.stdout)?.[0] ?? '';
    const ask = async () => (await chat(gateway.url, secret, { content: '/help' })).status;
    expect(await ask()).toBe(200);
    const listed = (await run('token')).stdout;
    expect(listed).not.toContain(secret);
    const id = listed
      .split('\n')
      .find((line) => line.includes('laptop'))
      ?.split(/\s+/)[0];
    expect((await run('token', 'revoke', id ?? '')).stdout).toContain('Revoked');
    await expect.poll(ask, { timeout: 5_000 }).toBe(401);
    expect(await run('token', 'revoke', 'nothing')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no token/),
    });
  });
});
