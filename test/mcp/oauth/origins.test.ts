/** A server that was signed in to, and then names other addresses for its sign-in: none of them is asked. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { connect } from '../../../src/mcp/connection.ts';
import { createLogins } from '../../../src/mcp/index.ts';
import { login } from '../../../src/mcp/oauth/login.ts';
import { confined, recorded } from '../../../src/mcp/oauth/origins.ts';
import { createServiceFetch } from '../../../src/security/index.ts';
import { writeWhole } from '../../../src/settings/index.ts';
import { silentLog } from '../../database.ts';
import { startFakeOauthServer } from '../../fakes/mcp/oauth-server.ts';

const KEY = 'the-key-of-the-operator';
let folder = '';
const service = createServiceFetch();
beforeEach(async () => void (folder = await mkdtemp(path.join(tmpdir(), 'parley-origins-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A server that records what arrives; `answer` makes its answers. */
async function listen(
  answer: (origin: string) => RequestListener,
): Promise<{ origin: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${keyOf(request)}`);
    answer(origin)(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  return { origin, asked };
}

const keyOf = ({ headers }: IncomingMessage): string => String(headers['x-api-key'] ?? 'no key');

const connection = (url: string) =>
  connect(
    {
      settings: {
        name: 'notes',
        connection: { kind: 'http', url, headers: { 'X-Api-Key': KEY } },
        trusted: false,
        tools: undefined,
        timeoutMs: 5_000,
        secrets: [KEY],
      },
      version: '1',
      environment: {},
      folder,
      service,
      logins: createLogins(folder, writeWhole),
      log: silentLog,
      clock: systemClock,
    },
    { onListChanged: () => undefined, onQuestion: () => undefined },
    AbortSignal.timeout(20_000),
  );

/** Everything that a metadata document can name, at this origin. */
const metadataOf = (origin: string) => ({
  resource: `${origin}/mcp`,
  authorization_servers: [origin],
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/admin/delete-everything`,
  registration_endpoint: `${origin}/register`,
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
});

it.each([
  ['with the authorization server that it was made at', { issuer: 'https://login.example/' }, 'unavailable'],
  ['of an older version, without one', {}, 'login_needed'],
])('a sign-in %s stays where it was made', async (_, issuer, refusal) => {
  const inside = await listen((origin) => (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadataOf(origin)));
  });
  const server = await listen(() => (_request, response) => {
    const header = { 'www-authenticate': `Bearer resource_metadata="${inside.origin}/meta"` };
    response.writeHead(401, header).end();
  });
  const url = `${server.origin}/mcp`;
  const tokens = { access_token: 'a', token_type: 'Bearer', refresh_token: 'the-refresh-token', ...issuer };
  const stored = { url, client: { client_id: 'c', ...issuer }, tokens };
  await writeFile(path.join(folder, 'notes.json'), JSON.stringify(stored));
  await expect(connection(url)).rejects.toMatchObject({ code: refusal });
  expect(inside.asked).toEqual([]);
  // The server itself gets its key, and no refresh token at an address of its choice.
  expect(server.asked[0]).toBe(`POST /mcp ${KEY}`);
  expect(server.asked.filter((route) => /token|delete/.test(route))).toEqual([]);
});

it('stores where a person signed in and where the tokens came from', async () => {
  const server = await startFakeOauthServer();
  onTestFinished(() => server.close());
  const say = (text: string): void => void fetch(/http\S+/.exec(text)?.[0] ?? '');
  const logins = createLogins(folder, writeWhole);
  const deps = { logins, request: service.request, say, ask: undefined };
  await login(deps, { name: 'notes', url: server.url }, AbortSignal.timeout(10_000));
  const { origin } = new URL(server.url);
  const stored = JSON.parse(await readFile(path.join(folder, 'notes.json'), 'utf8'));
  expect(stored).toMatchObject({ origins: [origin], tokenUrl: `${origin}/token` });
  expect(logins.read('notes', server.url)).toMatchObject({ origins: [origin], tokenUrl: `${origin}/token` });
});

it('gives an authorization server of its own origin no header that is for the server, and the refresh token at one address', async () => {
  const issuer = await listen(() => (_request, response) => void response.writeHead(200).end('{}'));
  const server = { name: 'notes', url: 'http://127.0.0.1:9/mcp', headers: { 'X-Api-Key': KEY } };
  const tokens = { access_token: 'a', token_type: 'Bearer', refresh_token: 'r' };
  const tokenUrl = `${issuer.origin}/token`;
  const signedIn = {
    url: server.url,
    client: { client_id: 'c' },
    tokens,
    origins: [issuer.origin],
    tokenUrl,
  };
  const request = confined(service.request, server, () => signedIn);
  const renewal = (): RequestInit => ({
    method: 'POST',
    headers: { 'X-Api-Key': KEY },
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'r' }),
  });
  await request(`${issuer.origin}/meta`, { headers: { 'X-Api-Key': KEY } });
  await request(tokenUrl, renewal());
  await expect(request(`${issuer.origin}/other`, renewal())).rejects.toMatchObject({ code: 'login_needed' });
  await expect(request('http://127.0.0.1:9/token', renewal())).rejects.toMatchObject({
    code: 'login_needed',
  });
  await expect(request('http://127.0.0.1:10/meta')).rejects.toThrow('where nobody has signed in');
  expect(issuer.asked).toEqual(['GET /meta no key', 'POST /token no key']);
});

it('is not led from an encrypted server to an unencrypted address, such as one of this machine', async () => {
  const inside = await listen(() => (_request, response) => void response.writeHead(200).end());
  const { request } = recorded(service.request, 'https://notes.example/mcp');
  await expect(request(`${inside.origin}/meta`)).rejects.toMatchObject({ code: 'login_failed' });
  expect(inside.asked).toEqual([]);
});

it.each(['http://notes.example/mcp', 'http://10.0.0.7:8080/mcp', 'http://127.0.0.1.example/mcp'])(
  'is not made without encryption through a network, and one that was made there is not used: %s',
  async (url) => {
    const asked: string[] = [];
    const say = (text: string): void => void asked.push(text);
    const request: typeof service.request = async (address) => {
      asked.push(String(address));
      return new Response();
    };
    const logins = createLogins(folder, writeWhole);
    const made = login(
      { logins, request, say, ask: undefined },
      { name: 'notes', url },
      AbortSignal.timeout(10_000),
    );
    await expect(made).rejects.toThrow('is not encrypted');
    expect(asked).toEqual([]);
    const tokens = { access_token: 'a', token_type: 'Bearer' };
    logins.save('notes', { url, client: { client_id: 'c' }, tokens });
    expect(logins.read('notes', url)).toBeUndefined();
  },
);

it('shows no address of an authorization server at which people would sign in without encryption', async () => {
  const server = await listen((origin) => (request, response) => {
    const metadata = { ...metadataOf(origin), authorization_endpoint: 'http://login.example/authorize' };
    const isKnown = (request.url ?? '').startsWith('/.well-known/') || request.method === 'POST';
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(
        request.method === 'POST'
          ? { client_id: 'c', redirect_uris: ['http://127.0.0.1/callback'] }
          : metadata,
      ),
    );
  });
  const shown: string[] = [];
  const say = (text: string): void => void shown.push(text);
  const deps = { logins: createLogins(folder, writeWhole), request: service.request, say, ask: undefined };
  const made = login(deps, { name: 'notes', url: `${server.origin}/mcp` }, AbortSignal.timeout(10_000));
  await expect(made).rejects.toThrow('A sign-in at http://login.example is not encrypted');
  expect(shown).toEqual([]);
});
