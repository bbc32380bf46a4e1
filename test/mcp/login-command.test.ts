/** `parley mcp login` and `logout`: what they require, and what they refuse. */
import type { Config } from '../../src/config.ts';
import { partial } from '../fakes/partial.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { mcpLoginCommand } from '../../src/commands/mcp-login.ts';
import { createLogins, loginsFolder } from '../../src/mcp/index.ts';
import { configureMcpServers, mcpRule } from '../../src/mcp/settings.ts';
import { writeWhole } from '../../src/settings/index.ts';

const url = 'http://127.0.0.1:1/mcp';

/** A home with a config.json that has a server with a `url` and a program. */
async function openHome() {
  const home = await mkdtemp(path.join(tmpdir(), 'parley-login-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const rule = mcpRule.parse({ servers: { notes: { url }, files: { command: 'files' } } });
  const logins = createLogins(loginsFolder(home), writeWhole);
  const config = partial<Config>({ home, mcpServers: configureMcpServers(rule, {}).servers });
  return { config, logins };
}

it.each([[['login']], [['logout']], [['login', 'notes', 'now']]])('refuses %j', (rest) => {
  expect(() => mcpLoginCommand(rest)).toThrow(`Write "npx parley mcp ${rest[0]} NAME"`);
});

it('names the servers that need a sign-in', async () => {
  const { config } = await openHome();
  for (const name of ['files', 'nothing'])
    await expect(mcpLoginCommand(['login', name])(undefined, config)).rejects.toThrow(
      `There is no server "${name}" with a "url" in mcp.servers of config.json; those with one: notes.`,
    );
});

it('reports that the server cannot be reached', async () => {
  const { config } = await openHome();
  await expect(mcpLoginCommand(['login', 'notes'])(undefined, config)).rejects.toThrow(
    /^Signing in failed: /,
  );
});

it('forgets a sign-in, which applies only to its own address', async () => {
  const { config, logins } = await openHome();
  const saved = {
    url,
    client: { client_id: 'me' },
    tokens: { access_token: 'a-secret', token_type: 'Bearer' },
  };
  logins.save('notes', saved);
  expect(logins.read('notes', url)).toEqual(saved);
  expect(logins.read('notes', `${url}/other`)).toBeUndefined();
  expect(await mcpLoginCommand(['logout', 'notes'])(undefined, config)).toBe('Signed out of notes.');
  expect(logins.read('notes', url)).toBeUndefined();
  expect(await mcpLoginCommand(['logout', 'notes'])(undefined, config)).toBe('Nobody is signed in to notes.');
});
