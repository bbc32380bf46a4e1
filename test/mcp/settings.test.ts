/** `mcp.servers` of config.json: what is refused, under which name, and how its variables are expanded. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig, secretsOf } from '../../src/config.ts';
import { MAX_SERVERS } from '../../src/mcp/settings.ts';
import { makeEmbeddedHome } from '../database.ts';

async function load(servers: unknown, env: Record<string, string> = {}) {
  const home = await makeEmbeddedHome();
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  writeFileSync(path.join(home, 'config.json'), JSON.stringify({ mcp: { servers } }), { mode: 0o600 });
  return loadConfig({ GATEWAY_HOME: home, ...env });
}

const RUNS = { command: 'notes-server' };

it.each<[what: string, servers: Record<string, unknown>, error: RegExp]>([
  [
    'neither a program nor an address',
    { notes: {} },
    /mcp\.servers\.notes: needs either "command" .* or "url"/,
  ],
  [
    'both',
    { notes: { ...RUNS, url: 'http://127.0.0.1' } },
    /mcp\.servers\.notes: needs either "command" .* or "url"/,
  ],
  [
    'headers of a program',
    { notes: { ...RUNS, headers: {} } },
    /notes\.headers: belongs to a server with "url"/,
  ],
  [
    'variables of an address',
    { notes: { url: 'https://a.example', env: {} } },
    /notes\.env: belongs to a server with "command"/,
  ],
  ['another protocol', { notes: { url: 'ftp://a.example' } }, /notes\.url: must be an http or https URL/],
  [
    'a password in an address',
    { notes: { url: 'https://me:secret@a.example' } },
    /notes\.url: may hold no user name or password/,
  ],
  ['a name that would split elsewhere', { my__notes: RUNS }, /mcp\.servers\.my__notes: has only a-z/],
  ['a name with a capital', { Notes: RUNS }, /mcp\.servers\.Notes: has only a-z/],
  ['a name that is too long', { ['n'.repeat(33)]: RUNS }, /has at most 32 characters/],
  ['the word for all servers', { mcp: RUNS }, /mcp\.servers\.mcp: is the word for the tools of all servers/],
  [
    'a field with a typing error',
    { notes: { ...RUNS, trust: true } },
    /mcp\.servers\.notes\.trust: there is no such field/,
  ],
  [
    'a name of a header with a line break',
    { notes: { url: 'https://a.example', headers: { 'X\r\nY': 'z' } } },
    /is not the name of a header/,
  ],
  [
    'a variable that is not set',
    { notes: { ...RUNS, env: { KEY: '${NOTES_KEY}' } } },
    /mcp\.servers\.notes\.env\.KEY: the environment variable NOTES_KEY is not set/,
  ],
])('refuses %s', async (_what, servers, error) => {
  await expect(load(servers)).rejects.toThrow(error);
});

it(`accepts at most ${MAX_SERVERS} servers`, async () => {
  const servers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`notes-${n}`, RUNS]));
  expect((await load(servers(MAX_SERVERS))).mcpServers).toHaveLength(MAX_SERVERS);
  await expect(load(servers(MAX_SERVERS + 1))).rejects.toThrow(/mcp\.servers: has at most 16 servers/);
});

it('inserts environment values where the file refers to them, and keeps them out of the log', async () => {
  const config = await load(
    {
      notes: { ...RUNS, args: ['--key=${NOTES_KEY}'], env: { DEBUG: '1' }, cwd: '/srv' },
      tracker: {
        url: 'https://a.example/mcp',
        headers: { authorization: 'Bearer ${TRACKER}' },
        tools: ['find'],
      },
    },
    { NOTES_KEY: 'key-of-the-notes', TRACKER: 'token-of-the-tracker' },
  );
  const [notes, tracker] = config.mcpServers;
  expect(notes?.connection).toEqual({
    kind: 'stdio',
    command: 'notes-server',
    args: ['--key=key-of-the-notes'],
    env: { DEBUG: '1' },
    cwd: '/srv',
  });
  expect(tracker).toMatchObject({
    connection: { kind: 'http', headers: { authorization: 'Bearer token-of-the-tracker' } },
    trusted: false,
    tools: ['find'],
    timeoutMs: 60_000,
  });
  expect(secretsOf(config).secrets).toEqual(
    expect.arrayContaining(['key-of-the-notes', 'token-of-the-tracker']),
  );
});
