/** Signing in through an identity proxy, as docs/signing-in.md sets it up: a real proxy process with its own address. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { MAX_PROXY_USER } from '../../../src/protocol/operator/sign-in.ts';
import { describeGateway, WAIT } from '../setup.ts';
import { pageSession } from '../page-session.ts';

/** The proxy's own address on loopback: what it does not send comes from 127.0.0.1. */
const PROXY = '127.0.0.2';
const PAGE = { 'x-parley-page': '1' };

/** The settings that the page shows, with the address of this proxy. */
const page = readFileSync(new URL('../../../docs/signing-in.md', import.meta.url), 'utf8');
const [, shown = ''] = /### Behind an identity proxy[^]*?```json\n([^]*?)```/.exec(page) ?? [];
const settings: {
  channels: object;
  proxySignIn: { userHeader: string; users: Record<string, string>; default?: string };
} = JSON.parse(shown.replace('127.0.0.1', PROXY));

const write = (home: string, file: object): Promise<void> =>
  writeFile(path.join(home, 'config.json'), JSON.stringify(file), { mode: 0o600 });

/**
 * Forwards each request to the port that its path begins with, under the public name, with the user's header replaced
 * by those that a test asks for.
 */
const PROGRAM = `
  const http = require('node:http');
  http.createServer((incoming, outgoing) => {
    const [, port, ...rest] = incoming.url.split('/');
    const users = JSON.parse(decodeURIComponent(incoming.headers['x-test-users'] ?? '[]'));
    const raw = incoming.rawHeaders;
    const headers = ['Host', 'chat.example.org'];
    for (let n = 0; n < raw.length; n += 2)
      if (!['host', 'x-forwarded-user', 'x-test-users'].includes(raw[n].toLowerCase())) headers.push(raw[n], raw[n + 1]);
    for (const user of users) headers.push('X-Forwarded-User', Buffer.from(user).toString('latin1'));
    const onward = { host: '127.0.0.1', localAddress: '${PROXY}', port, path: '/' + rest.join('/'), method: incoming.method };
    incoming.pipe(http.request({ ...onward, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(outgoing);
    }));
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
`;

const children: ChildProcess[] = [];
afterAll(async () => {
  for (const child of children) {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
});

async function startProxy(): Promise<string> {
  const child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [port]: unknown[] = await once(child.stdout, 'data');
  return `http://127.0.0.1:${String(port).trim()}`;
}
const proxy = startProxy();

describeGateway('signing in through a proxy', { furnish: (home) => write(home, settings) }, (fixture) => {
  const at = async (way: 'proxy' | 'direct', route: string): Promise<string> => {
    const { url } = fixture().gateway;
    return way === 'direct' ? url + route : `${await proxy}/${new URL(url).port}${route}`;
  };
  const signIn = async (
    users: readonly string[],
    headers: Record<string, string> = {},
    way: 'proxy' | 'direct' = 'proxy',
  ): Promise<Response> => {
    return await fetch(await at(way, '/v1/sign-in/proxy'), {
      method: 'POST',
      headers: { ...PAGE, 'x-test-users': encodeURIComponent(JSON.stringify(users)), ...headers },
    });
  };
  const ask = async (
    session: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<number> =>
    (await fetch(await at('proxy', '/v1/sessions'), { headers: { ...session, ...headers } })).status;
  const addToken = async (name: string, scopes: string[]): Promise<void> => {
    const made = await fixture().call('/v1/tokens', { json: { name, scopes } });
    expect(made.status).toBe(201);
  };

  it('gives the user whom the proxy names the rights of their token, with a cookie for the page only', async () => {
    await addToken('ada', ['admin']);
    await addToken('team', ['chat']);
    const response = await signIn(['ada@example.org']);
    expect(response.status).toBe(200);
    expect(response.headers.get('set-cookie')).toMatch(
      /^parley_session=[\w-]{22}; Path=\/; Max-Age=86400; HttpOnly; SameSite=Strict$/,
    );
    const session = await pageSession(response);
    expect(await ask(session)).toBe(200);
    expect(await ask({ cookie: session.cookie })).toBe(401);
    expect(await ask({ ...PAGE, cookie: session.cookie })).toBe(401);
    expect(await ask(session, { origin: 'https://evil.example' })).toBe(403);
    const config = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(await at('proxy', '/v1/settings'), { headers })).status;
    expect(await config(session)).toBe(200);
    const grace = await pageSession(await signIn(['grace@example.org']));
    expect([await ask(grace), await config(grace)]).toEqual([200, 403]);
    // A reloaded page continues its session; another person in the same browser does not.
    expect(await pageSession(await signIn(['ada@example.org'], session))).toEqual(session);
    expect((await pageSession(await signIn(['grace@example.org'], session))).cookie).not.toBe(session.cookie);
    const { signIns }: { signIns: { proxyUser: string }[] } = await (
      await fixture().call('/v1/sign-ins')
    ).json();
    expect(new Set(signIns.map(({ proxyUser }) => proxyUser))).toEqual(
      new Set(['ada@example.org', 'grace@example.org']),
    );
  });

  it('ignores the header from any other address, whatever X-Forwarded-For says, and logs that once', async () => {
    const spoofed = { 'x-forwarded-user': 'ada@example.org', 'x-forwarded-for': PROXY };
    for (let nth = 0; nth < 2; nth += 1) {
      const response = await signIn([], spoofed, 'direct');
      expect(response.headers.get('set-cookie')).toBeNull();
      expect(await response.json()).toEqual({
        signedIn: false,
        reason: 'This connection does not come from one of channels.http.trustedProxies.',
      });
    }
    expect(
      fixture()
        .log.join('')
        .match(/proxy_user_ignored/g),
    ).toHaveLength(1);
    // What a client sends through the proxy is replaced by it.
    const through = await signIn([], { 'x-forwarded-user': 'ada@example.org' });
    expect(await through.json()).toMatchObject({ signedIn: false });
    const forged = await signIn(['ada@example.org'], { origin: 'https://evil.example' });
    expect(forged.status).toBe(403);
  });

  it.each([
    ['twice', ['ada@example.org', 'grace@example.org'], 400, 'comes twice'],
    ['empty', [''], 400, 'is empty'],
    ['too long', ['x'.repeat(MAX_PROXY_USER + 1)], 400, 'is longer than 256 characters'],
    ['4 kB long', ['x'.repeat(4_096)], 400, 'is longer than 256 characters'],
    ['of a stranger', ['mallory@example.org'], 403, 'does not name you'],
    ['of a property that every object has', ['constructor'], 403, 'does not name you'],
  ])('refuses a header that is %s with the reason', async (_, users, status, why) => {
    const response = await signIn(users);
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(why)]);
    expect(response.headers.get('set-cookie')).toBeNull();
  });

  it('ends a session within a second when its user is removed, and lets everyone in with a default', async () => {
    const session = await pageSession(await signIn(['grace@example.org']));
    expect(await ask(session)).toBe(200);
    const { proxySignIn } = settings;
    const { 'grace@example.org': gone, ...users } = proxySignIn.users;
    expect(gone).toBe('team');
    await write(fixture().home, { ...settings, proxySignIn: { ...proxySignIn, users } });
    await expect.poll(() => ask(session), WAIT).toBe(401);
    expect((await signIn(['grace@example.org'])).status).toBe(403);
    await write(fixture().home, { ...settings, proxySignIn: { ...proxySignIn, users, default: 'team' } });
    await expect.poll(async () => (await signIn(['Žofie@example.org'])).status, WAIT).toBe(200);
    await write(fixture().home, { channels: settings.channels });
    await expect
      .poll(async () => await (await signIn(['ada@example.org'])).json(), WAIT)
      .toEqual({ signedIn: false, reason: 'proxySignIn in config.json is not set.' });
  });

  it("reports that a token's name is missing or ambiguous", async () => {
    const users = { 'ada@example.org': 'nobody', 'grace@example.org': 'team' };
    await write(fixture().home, { ...settings, proxySignIn: { users } });
    await expect.poll(async () => (await signIn(['ada@example.org'])).status, WAIT).toBe(403);
    expect(await (await signIn(['ada@example.org'])).text()).toContain('There is no valid token');
    await addToken('team', ['chat']);
    expect(await (await signIn(['grace@example.org'])).text()).toContain('There are 2 valid tokens');
  });
});
