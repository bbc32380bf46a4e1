/** Administration over HTTP: what an admin token sees and changes, and that no other token can. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { describeGateway, OWNER, WAIT } from '../setup.ts';

const file = { limits: { messagesPerMinute: 30 } };

describeGateway('administration', { telegram: true, file }, (fixture) => {
  const send = async (method: string, route: string, json?: unknown, token = OWNER) => {
    const answer = await fixture().call(route, { method, token, ...(json !== undefined && { json }) });
    return { status: answer.status, body: await answer.json() };
  };
  const read = async (route: string) => (await send('GET', route)).body;
  const configFile = (): string => path.join(fixture().home, 'config.json');

  it('is for admin tokens only', async () => {
    const token = 'only-chats-and-nothing-else-1';
    await fixture().store.access.putToken({ hash: hashSecret(token), name: 'friend', scopes: ['chat'] });
    const routes = ['health', 'access', 'tokens', 'profiles', 'memories', 'dead-letters', 'log', 'config'];
    const answers = routes.map(async (route) => (await send('GET', `/v1/${route}`, undefined, token)).status);
    expect(await Promise.all(answers)).toEqual(routes.map(() => 403));
    expect((await send('POST', '/v1/tokens', { name: 'mine', scopes: ['admin'] }, token)).status).toBe(403);
    const change = { version: 'x', changes: [{ path: ['persona'], value: 'mine' }] };
    expect((await send('PATCH', '/v1/config', change, token)).status).toBe(403);
  });

  it('approves a user who was given a code, grants and revokes rights', async () => {
    fixture().telegram.says('9301', 'hello', '9301');
    const shown = await vi.waitFor(() => {
      const [, code] = /\b([A-Z0-9]{8})\b/.exec(fixture().telegram.screen('9301').join(' ')) ?? [];
      if (code === undefined) throw new Error('no code is on the screen');
      return code;
    }, WAIT);
    expect((await read('/v1/access')).pairings).toMatchObject([{ channel: 'telegram', senderId: '9301' }]);
    expect((await send('POST', '/v1/access/pairings', { code: 'WRONG-ONE' })).status).toBe(400);
    const approved = await send('POST', '/v1/access/pairings', { code: shown, firstOwns: false });
    expect(approved.body).toEqual({ channel: 'telegram', id: '9301', isOwner: false });
    const grant = { channel: 'telegram', kind: 'owner', id: '9301' };
    expect((await send('POST', '/v1/access/grants', grant)).status).toBe(201);
    const wrong = await send('POST', '/v1/access/grants', { ...grant, id: '@ada' });
    expect(wrong.body.error).toMatchObject({
      code: 'bad_grant',
      message: expect.stringContaining('numeric id'),
    });
    expect((await read('/v1/access')).grants).toMatchObject([{ kind: 'dm' }, { kind: 'owner' }]);
    for (const kind of ['owner', 'dm'])
      expect((await send('DELETE', `/v1/access/grants/telegram/${kind}/9301`)).status).toBe(200);
    expect((await send('DELETE', '/v1/access/grants/telegram/dm/9301')).status).toBe(404);
  });

  it('creates a token whose secret is shown once, and revokes it, but never the token of the request', async () => {
    const made = await send('POST', '/v1/tokens', { name: 'script', scopes: ['approve'], expiresInDays: 30 });
    expect(made.body).toMatchObject({ name: 'script', scopes: ['chat', 'approve'], expired: false });
    const { id, secret } = made.body;
    expect((await send('GET', '/v1/sessions', undefined, secret)).status).toBe(200);
    const { tokens } = await read('/v1/tokens');
    expect(JSON.stringify(tokens)).not.toContain(secret);
    expect(fixture().log.join('')).not.toContain(secret);
    const own = tokens.find((token: { own: boolean }) => token.own);
    expect((await send('DELETE', `/v1/tokens/${own.id}`)).body.error.code).toBe('own_token');
    expect((await send('DELETE', `/v1/tokens/${id}`)).status).toBe(200);
    expect((await send('DELETE', `/v1/tokens/${id}`)).status).toBe(404);
    await vi.waitFor(async () => {
      expect((await send('GET', '/v1/sessions', undefined, secret)).status).toBe(401);
    }, WAIT);
  });

  it('renames a token and gives it another secret, which invalidates the old one', async () => {
    const { body: made } = await send('POST', '/v1/tokens', { name: 'old name' });
    const renamed = await send('PATCH', `/v1/tokens/${made.id}`, { name: 'new name' });
    expect(renamed.body).toEqual({ id: made.id, name: 'new name' });
    const { body: rotated } = await send('POST', `/v1/tokens/${made.id}/rotate`);
    expect(rotated).toMatchObject({ id: made.id, name: 'new name', scopes: ['chat'], lastUsedAt: null });
    expect((await send('GET', '/v1/sessions', undefined, rotated.secret)).status).toBe(200);
    await vi.waitFor(async () => {
      expect((await send('GET', '/v1/sessions', undefined, made.secret)).status).toBe(401);
    }, WAIT);
    expect((await send('PATCH', '/v1/tokens/none', { name: 'x' })).status).toBe(404);
    expect((await send('POST', '/v1/tokens/none/rotate')).status).toBe(404);
    const own = (await read('/v1/tokens')).tokens.find((token: { own: boolean }) => token.own);
    const refused = await send('POST', `/v1/tokens/${own.id}/rotate`);
    expect(refused.body.error).toMatchObject({
      code: 'bad_token',
      message: expect.stringContaining('GATEWAY_TOKEN'),
    });
  });

  it("lists everyone's facts in pages, and deletes one", async () => {
    const fact = { session: 'http:a', untrusted: false } as const;
    for (const [key, user] of [
      ['k1', 'telegram:1'],
      ['k2', 'telegram:2'],
      ['k3', 'telegram:1'],
    ] as const)
      await fixture().store.memories.remember(user, { ...fact, key, text: `fact ${key}` });
    const first = await read('/v1/memories?limit=2');
    expect(first.memories.map(({ text }: { text: string }) => text)).toEqual(['fact k3', 'fact k2']);
    const rest = await read(`/v1/memories?limit=2&before=${first.next}`);
    expect(rest).toMatchObject({ memories: [{ text: 'fact k1', userId: 'telegram:1' }], next: null });
    expect((await read('/v1/memories?user=telegram:2')).memories).toHaveLength(1);
    expect((await send('DELETE', `/v1/memories/${first.next}`)).status).toBe(200);
    expect((await send('DELETE', '/v1/memories/x')).status).toBe(404);
    expect((await read('/v1/memories')).memories).toHaveLength(2);
  });

  it('changes, pauses and runs a schedule', async () => {
    await fixture().post('plans', 'hello');
    await fixture().idle('http:plans');
    const made = await send('POST', '/v1/schedules', {
      session: 'http:plans',
      task: 'old',
      everyMinutes: 60,
    });
    const { id } = made.body;
    const paused = await send('PATCH', `/v1/schedules/${id}`, { paused: true });
    expect(paused.body).toMatchObject({ nextAt: null });
    const edited = await send('PATCH', `/v1/schedules/${id}`, { task: 'tell me the tides', paused: false });
    expect(edited.body).toMatchObject({ task: 'tell me the tides', nextAt: expect.any(String) });
    const daily = await send('PATCH', `/v1/schedules/${id}`, { cron: '@daily' });
    expect(daily.body.timing).toMatchObject({ kind: 'cron', expression: '@daily' });
    expect((await send('PATCH', `/v1/schedules/${id}`, { cron: 'never' })).status).toBe(400);
    expect((await send('POST', `/v1/schedules/${id}/run`)).status).toBe(202);
    await fixture().modelCall('tell me the tides');
    await fixture().idle('http:plans');
    expect((await read('/v1/schedules')).schedules[0].lastAt).not.toBeNull();
    expect((await send('POST', '/v1/schedules/none/run')).status).toBe(404);
    expect((await send('PATCH', '/v1/schedules/none', { paused: true })).status).toBe(404);
  });

  it('shows health, profiles and dead letters', async () => {
    expect(await read('/v1/health')).toMatchObject({ ready: true, channels: { telegram: { state: 'up' } } });
    expect((await read('/v1/profiles')).profiles[0]).toMatchObject({ id: 'default' });
    expect(await read('/v1/dead-letters')).toEqual({ letters: [], more: false });
    const letter = { lane: 'in:http:none', seq: 1 };
    expect((await send('POST', '/v1/dead-letters/retry', letter)).status).toBe(404);
    expect((await send('POST', '/v1/dead-letters/drop', letter)).status).toBe(404);
    expect((await send('POST', '/v1/dead-letters/drop', { lane: 'x', seq: 1 })).status).toBe(400);
    expect((await send('GET', '/v1/log?lines=501')).status).toBe(400);
    expect(await read('/v1/log?level=warn')).toEqual({ lines: expect.any(Array) });
  });

  it('never changes over HTTP which programs run, however the change is written', async () => {
    const own = { command: 'node', args: ['server.js'], env: { A: '1' } };
    const written = { mcp: { servers: { own, far: { url: 'http://127.0.0.1:9/mcp' } } } };
    const attempts = [
      { path: ['mcp', 'servers', 'x'], value: { command: '/bin/sh', args: ['-c', 'id'] } },
      { path: ['mcp', 'servers', 'own', 'command'], value: '/bin/sh' },
      { path: ['mcp', 'servers', 'own', 'args', 0], value: '-e' },
      { path: ['mcp', 'servers', 'own', 'args'] },
      { path: ['mcp', 'servers', 'own', 'env', 'NODE_OPTIONS'], value: '--import=/tmp/x.mjs' },
      { path: ['mcp', 'servers', 'own', 'cwd'], value: '/tmp' },
      { path: ['mcp', 'servers', 'far'], value: { command: 'sh' } },
      { path: ['mcp', 'servers'], value: { own: { ...own, args: [] } } },
      { path: ['mcp'], value: { servers: { y: { command: 'sh' } } } },
      { path: ['tools', 'exec'], value: true },
      { path: ['tools'], value: { exec: true } },
    ];
    // Also while something else in the file is wrong, which would hide what the file comes to mean.
    for (const content of [written, { ...written, nonsense: 1 }]) {
      const text = JSON.stringify(content);
      await writeFile(configFile(), text);
      for (const change of attempts) {
        const { version } = await read('/v1/config');
        const { status, body } = await send('PATCH', '/v1/config', { version, changes: [change] });
        expect({ change, status, code: body.error?.code }).toEqual({
          change,
          status: 400,
          code: 'bad_config',
        });
        expect(body.error.message).toMatch(/(mcp\.servers\.\w+\.\w+|tools\.exec): .*config set/);
        expect(await readFile(configFile(), 'utf8')).toBe(text);
      }
    }
    await writeFile(configFile(), JSON.stringify(written));
    for (const change of [
      { path: ['mcp', 'servers', 'own', 'timeoutMs'], value: 5_000 },
      { path: ['mcp', 'servers', 'far', 'url'], value: 'http://127.0.0.1:10/mcp' },
      { path: ['tools', 'exec'], value: false },
      { path: ['mcp', 'servers', 'own'] },
    ]) {
      const { version } = await read('/v1/config');
      expect((await send('PATCH', '/v1/config', { version, changes: [change] })).status).toBe(200);
    }
    await writeFile(configFile(), '{}');
  });

  it('changes config.json with its comments, reports what applies when, and refuses stale and wrong changes', async () => {
    await writeFile(configFile(), '{\n  // Ours.\n  "limits": { "messagesPerMinute": 30 }\n}\n');
    const before = await read('/v1/config');
    expect(before.written).toEqual({ limits: { messagesPerMinute: 30 } });
    expect(before.schema.properties.limits.properties.messagesPerMinute).toMatchObject({ type: 'integer' });
    const variables = new Map(
      before.environment.map(({ name, isSet }: { name: string; isSet: boolean }) => [name, isSet]),
    );
    expect([variables.get('GATEWAY_TOKEN'), variables.get('BRAVE_API_KEY')]).toEqual([true, false]);
    expect(JSON.stringify(before)).not.toContain(OWNER);
    const { version } = before;
    const wrong = await send('PATCH', '/v1/config', {
      version,
      changes: [
        { path: ['limits', 'messagesPerMinute'], value: 'many' },
        { path: ['turns', 'concurrency'], value: 0 },
      ],
    });
    expect(wrong.body.error.message).toMatch(/limits\.messagesPerMinute[\s\S]*turns\.concurrency/);
    const changes = [
      { path: ['limits', 'messagesPerMinute'], value: 40 },
      { path: ['turns', 'concurrency'], value: 12 },
    ];
    const done = await send('PATCH', '/v1/config', { version, changes });
    expect(done.body).toMatchObject({
      kind: 'changed',
      atOnce: ['limits.messagesPerMinute'],
      needsRestart: ['turns.concurrency'],
    });
    expect(await readFile(configFile(), 'utf8')).toContain('// Ours.');
    await vi.waitFor(async () => {
      const { values, needsRestart } = await read('/v1/settings');
      expect([values.limits.messagesPerMinute, needsRestart]).toEqual([40, ['turns.concurrency']]);
    }, WAIT);
    const stale = await send('PATCH', '/v1/config', { version, changes });
    expect([stale.status, stale.body.error.code]).toEqual([409, 'config_changed']);
    const unset = { version: done.body.version, changes: [{ path: ['turns', 'concurrency'] }] };
    expect((await send('PATCH', '/v1/config', unset)).body.needsRestart).toEqual(['turns.concurrency']);
    expect((await read('/v1/config')).written.turns).toEqual({});
  });
});
