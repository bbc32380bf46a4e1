/** The renewal of a sign-in: once for all calls that need it, whichever connection does it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { auth } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLogins } from '../../../src/mcp/index.ts';
import type { Logins } from '../../../src/mcp/oauth/logins.ts';
import { login } from '../../../src/mcp/oauth/login.ts';
import { confined } from '../../../src/mcp/oauth/origins.ts';
import { refreshOnce, renewal } from '../../../src/mcp/oauth/renewal.ts';
import { writeWhole } from '../../../src/settings/index.ts';
import { type FakeOauthServer, startFakeOauthServer } from '../../fakes/mcp/oauth-server.ts';

let server: FakeOauthServer;
let folder = '';
const logins = (): Logins => createLogins(folder, writeWhole);

beforeEach(async () => {
  server = await startFakeOauthServer();
  folder = await mkdtemp(path.join(tmpdir(), 'parley-logins-'));
  const say = (text: string): void => void fetch(/http\S+/.exec(text)?.[0] ?? '');
  const deps = { logins: logins(), request: fetch, say, ask: undefined };
  await login(deps, { name: 'notes', url: server.url }, AbortSignal.timeout(10_000));
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** A connection the way the gateway creates it: what a 401 on it does. */
function connection(): { renew(): Promise<string>; refresh(): string | undefined } {
  const provider = renewal(logins(), 'notes', server.url);
  if (provider === undefined) throw new Error('nobody has signed in');
  const own = { name: 'notes', url: server.url, headers: {} };
  const fetchFn = refreshOnce(confined(fetch, own, () => logins().read('notes', server.url)));
  return {
    renew: () => auth(provider, { serverUrl: server.url, fetchFn }),
    refresh: () => logins().read('notes', server.url)?.tokens.refresh_token,
  };
}

const renewals = (): number => server.asked.filter((route) => route === 'POST /token').length - 1;

it('uses each refresh token once, however many calls are refused at the same time', async () => {
  const one = connection();
  const before = one.refresh();
  const ends = await Promise.all([one.renew(), one.renew(), one.renew()]);
  expect(ends).toEqual(['AUTHORIZED', 'AUTHORIZED', 'AUTHORIZED']);
  // Two tokens for each request that was not refused: the sign-in, and the renewals.
  expect(server.tokens).toHaveLength(2 + 2 * renewals());
  expect(one.refresh()).not.toBe(before);
  expect(await one.renew()).toBe('AUTHORIZED');
});

it('continues with what another connection has renewed in the meantime', async () => {
  const [one, other] = [connection(), connection()];
  await one.renew();
  expect(await other.renew()).toBe('AUTHORIZED');
  expect(await one.renew()).toBe('AUTHORIZED');
  expect(renewals()).toBe(3);
});

it('asks for a new sign-in when the server has revoked it', async () => {
  const one = connection();
  server.revoke();
  await expect(one.renew()).rejects.toThrow('npx parley mcp login notes');
  expect(one.refresh()).toBeUndefined();
});
