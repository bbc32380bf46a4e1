/** Requests of strangers, other sites and broken clients: each is refused with a clear error and without effect. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WrongTokens } from '../../../channels/http/authenticator.ts';
import { MAX_LIMITED_ADDRESSES, WRONG_TOKENS_PER_MINUTE } from '../../../channels/http/config.ts';
import { ADMIN, CHAT } from '../../fakes/gateway/gateway-api.ts';
import { openApi, type OpenApi } from './client.ts';
import { rawRequest } from './raw-http.ts';

let api: OpenApi;
let host: string;

beforeEach(async () => {
  api = await openApi({ allowedOrigins: ['https://chat.example.org'], allowedHosts: ['bot.example.org'] });
  host = new URL(api.url).host;
});
afterEach(() => api.close());

const get = (path: string, ...headers: string[]) =>
  rawRequest(api.url, [`GET ${path} HTTP/1.1`, `Host: ${host}`, ...headers]);

describe('a token', () => {
  it.each([
    ['no header', []],
    ['an empty header', ['Authorization: ']],
    ['only the word', ['Authorization: Bearer']],
    ['another scheme', ['Authorization: Basic YWRtaW46YWRtaW4=']],
    ['a tab', ['Authorization: bearer\tadmin-token-of-the-owner']],
    ['a wrong one', ['Authorization: Bearer admin-token-of-the-owneR']],
  ])('is refused with 401 for %s', async (_, headers) => {
    const answer = await get('/v1/models', ...headers);
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('invalid_api_key');
    expect(answer.text).toMatch(/www-authenticate: Bearer/i);
  });

  it('is read from the header, never from the URL', async () => {
    const answer = await get(
      '/v1/models?token=admin-token-of-the-owner&access_token=admin-token-of-the-owner',
    );
    expect(answer.status).toBe(401);
  });

  it('is refused when sent twice or too long', async () => {
    expect((await get('/v1/models', `Authorization: ${ADMIN}`, `Authorization: ${CHAT}`)).status).toBe(400);
    const long = await get('/v1/models', `Authorization: Bearer ${'x'.repeat(1024 * 1024)}`);
    expect([0, 431]).toContain(long.status);
    expect((await get('/v1/models', `Authorization: Bearer ${'x'.repeat(17_000)}`)).text).toContain(
      'headers_too_large',
    );
  });

  it('has its stored scopes, whatever the request claims', async () => {
    const answer = await get('/metrics', `Authorization: ${CHAT}`, 'x-scopes: admin', 'x-owner: true');
    expect(answer.status).toBe(403);
  });

  it('that is wrong is soon answered 429, on loopback too, which never keeps the right one out', async () => {
    const guess = (n: number) => api.call('/v1/models', { headers: { authorization: `Bearer guess-${n}` } });
    const statuses = await Promise.all(Array.from({ length: 200 }, async (_, n) => (await guess(n)).status));
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect(['1', '2', '3']).toContain((await guess(0)).headers.get('retry-after'));
    expect((await api.call('/v1/models')).status).toBe(200);
  });

  it('is not checked for a path or method that does not exist', async () => {
    for (const path of ['/v1/nothing', '/v2/models', '/etc/passwd', '/page/%2e%2e%2findex.ts']) {
      expect((await get(path, 'Authorization: Bearer wrong')).status).toBe(404);
    }
    const answer = await get('/v1/chat/completions', 'Authorization: Bearer wrong');
    expect(answer.status).toBe(405);
    expect(answer.text).toMatch(/allow: POST/i);
    expect(api.gateway.authentications).toBe(0);
  });
});

describe('the count of wrong tokens', () => {
  it('goes down over time and drops the least recently used address at its limit', () => {
    let now = 0;
    const wrong = new WrongTokens(() => now);
    for (let i = 0; i < WRONG_TOKENS_PER_MINUTE; i += 1) expect(wrong.count('a')).toBeUndefined();
    expect(wrong.count('a')).toBe(3_000);
    now = 3_000;
    expect(wrong.count('a')).toBeUndefined();
    for (let i = 0; i < MAX_LIMITED_ADDRESSES; i += 1) wrong.count(`address ${i}`);
    expect(wrong.size).toBe(MAX_LIMITED_ADDRESSES);
    expect(wrong.count('a')).toBeUndefined();
  });
});

describe('a request by another host name or from another site', () => {
  it.each(['evil.com', 'localhost.', '[::1]', '127.0.0.1.nip.io', '0', '', 'localhost:1', '127.0.0.1'])(
    'is refused with the Host "%s"',
    async (name) => {
      const answer = await rawRequest(api.url, ['GET /healthz HTTP/1.1', `Host: ${name}`]);
      expect([400, 421]).toContain(answer.status);
    },
  );

  it('is refused, naming the setting that would allow the Host', async () => {
    const answer = await rawRequest(api.url, ['GET /healthz HTTP/1.1', 'Host: evil.com']);
    expect(answer.status).toBe(421);
    expect(answer.text).toContain('channels.http.allowedHosts');
  });

  it('is refused with a missing or repeated Host', async () => {
    expect((await rawRequest(api.url, ['GET /healthz HTTP/1.1'])).status).toBe(400);
    expect(
      (await rawRequest(api.url, ['GET /healthz HTTP/1.1', `Host: ${host}`, `Host: ${host}`])).status,
    ).toBe(400);
  });

  it('is answered for a listed host and for every loopback name', async () => {
    const port = new URL(api.url).port;
    for (const name of ['bot.example.org', `localhost:${port}`, `[::1]:${port}`, `LOCALHOST:${port}`]) {
      expect((await rawRequest(api.url, ['GET /healthz HTTP/1.1', `Host: ${name}`])).status).toBe(200);
    }
  });

  it.each([
    'https://evil.example',
    'null',
    'http://localhost.evil.com',
    'http://127.evil.com',
    'http://127.0.0.1:1',
  ])('is refused with the Origin "%s" before it has any effect', async (origin) => {
    const headers = { origin };
    const response = await api.call('/v1/sessions/http:a/messages', { json: { content: 'x' }, headers });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching(/channels\.http\.allowedOrigins/) },
    });
    expect(api.gateway.turns.size).toBe(0);
  });

  it('is answered for a listed origin, with its preflight', async () => {
    const headers = { origin: 'https://chat.example.org' };
    const preflight = await api.call('/v1/models', { method: 'OPTIONS', headers });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
    const response = await api.call('/v1/models', { headers });
    expect(response.headers.get('access-control-allow-origin')).toBe('https://chat.example.org');
    expect((await api.call('/v1/models', { headers: { origin: api.url } })).status).toBe(200);
  });
});

describe('every answer', () => {
  it('that is an error has the shape of OpenAI and reveals no internals', async () => {
    api.gateway.messages = () => Promise.reject(new TypeError('secret detail of /srv/parley'));
    api.gateway.addSession('http:a');
    const response = await api.call('/v1/sessions/http:a/messages');
    expect([response.status, response.headers.get('content-type')]).toEqual([500, 'application/json']);
    const body = await response.text();
    expect(JSON.parse(body)).toMatchObject({
      error: { type: 'server_error', code: 'internal', param: null },
    });
    expect(body).not.toContain('secret');
  });

  it('has headers against content sniffing; the page runs only what this server serves', async () => {
    const page = await fetch(api.url);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self' 'sha256-[\w+/=]+';/,
    );
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    for (const response of [page, await fetch(`${api.url}/v1/models`), await fetch(`${api.url}/nothing`)]) {
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('referrer-policy')).toBe('no-referrer');
      expect(response.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    }
    const etag = page.headers.get('etag') ?? '';
    expect((await fetch(api.url, { headers: { 'if-none-match': etag } })).status).toBe(304);
  });
});
