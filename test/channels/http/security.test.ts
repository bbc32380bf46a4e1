/** Requests of strangers, other sites and broken clients: each is refused with a clear error and without effect. */
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OpenSockets } from '../../../channels/http/limits/open-sockets.ts';
import { WrongTokens } from '../../../channels/http/limits/wrong-tokens.ts';
import {
  MAX_JSON_VALUES,
  MAX_LIMITED_ADDRESSES,
  MAX_MESSAGES,
  WRONG_TOKENS_PER_MINUTE,
} from '../../../channels/http/config.ts';
import { ADMIN, CHAT } from '../../fakes/gateway/gateway-api.ts';
import { openApi } from './client.ts';
import type { OpenApi } from './client.ts';
import { openSocket, rawRequest, readAnswer } from './raw-http.ts';

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
  it('goes down over time and drops the least recently used address at its bound', () => {
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

  it('is refused with the setting that would allow the Host', async () => {
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

/** Sends so many MiB in chunks until the other side closes. */
async function upload(socket: Socket, mebibytes: number): Promise<void> {
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
  const closed = new Promise((resolve) => socket.once('close', resolve).once('error', resolve));
  for (let n = 0; n < mebibytes * 16 && socket.writable; n += 1) {
    if (!socket.write(chunk))
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  }
  await closed;
}

describe('a body', () => {
  const path = '/v1/sessions/http:a/messages';
  const send = (body: string, type = 'application/json') =>
    fetch(api.url + path, { method: 'POST', headers: { authorization: ADMIN, 'content-type': type }, body });
  const code = async (response: Response) => [response.status, (await response.json()).error.code];

  it('must have the content type of JSON', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      expect(await code(await send('{"content":"x"}', type))).toEqual([415, 'unsupported_media_type']);
    }
    expect((await send('{"content":"x"}', 'application/json; charset=utf-8')).status).toBe(202);
  });

  it('must be valid JSON, nested at most 64 deep', async () => {
    expect(await code(await send('{"content":'))).toEqual([400, 'invalid_json']);
    expect(await code(await send(''))).toEqual([400, 'invalid_json']);
    const nested = (depth: number) => `{"content":"[[","media":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    expect(await code(await send(nested(63)))).toEqual([400, 'invalid_body']);
    expect(await code(await send(nested(64)))).toEqual([400, 'body_too_deep']);
    expect((await send('['.repeat(20_000))).status).toBe(400);
  });

  it(`holds at most ${MAX_JSON_VALUES} values and ${MAX_MESSAGES} messages or items, counted before they are read`, async () => {
    const numbers = (count: number) => `{"media":[${Array(count).fill(1).join(',')}]}`;
    expect(await code(await send(numbers(MAX_JSON_VALUES)))).toEqual([400, 'invalid_body']);
    expect(await code(await send(numbers(MAX_JSON_VALUES + 1)))).toEqual([413, 'body_too_many_values']);
    const list = (name: string, count: number) => ({ [name]: Array(count).fill({}) });
    const answer = async (route: string, json: object) =>
      (await (await api.call(route, { json })).json()).error.message;
    for (const [route, name, word] of [
      ['/v1/chat/completions', 'messages', 'messages'],
      ['/v1/responses', 'input', 'items'],
    ] as const) {
      expect(await answer(route, list(name, MAX_MESSAGES))).not.toContain('at most');
      const refusal = `at most ${MAX_MESSAGES} ${word} are accepted`;
      expect(await answer(route, list(name, MAX_MESSAGES + 1))).toContain(refusal);
    }
  });

  it('cannot set a prototype or an unknown field', async () => {
    const response = await send('{"content":"x","__proto__":{"admin":true}}');
    expect([202, 400]).toContain(response.status);
    expect('admin' in {}).toBe(false);
    expect(await code(await send('{"content":"x","sender":"owner"}'))).toEqual([400, 'invalid_body']);
  });

  it('over 1 MiB is refused with an answer that a client still sending can read', async () => {
    const just = JSON.stringify({ content: 'x'.repeat(1024 * 1024 - 14) });
    expect(await code(await send(just))).toEqual([413, 'too_large']);
    const declared = await send(`${just}x`);
    expect(await code(declared)).toEqual([413, 'body_too_large']);
    const socket = await openSocket(api.url);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${ADMIN}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const answer = readAnswer(socket);
    await upload(socket, 50);
    expect(await answer).toMatchObject({ status: 413, text: expect.stringMatching(/body_too_large/) });
    expect((await answer).text).toMatch(/connection: close/i);
    expect(socket.bytesWritten).toBeLessThan(16 * 1024 * 1024);
    expect(api.gateway.turns.size).toBe(0);
  });

  it.each([
    ['wrong token', 'Bearer wrong', path, 401, /connection: close/i],
    ['wrong route', CHAT, '/v1/sessions/http:a/nothing', 404, /not_found/],
  ])('of 50 MiB is not read on after a refusal for a %s', async (_, token, route, status, words) => {
    const socket = await openSocket(api.url);
    socket.write(
      `POST ${route} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const answer = readAnswer(socket);
    const started = performance.now();
    await upload(socket, 50);
    expect(await answer).toMatchObject({ status, text: expect.stringMatching(words) });
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(socket.bytesWritten).toBeLessThan(16 * 1024 * 1024);
  });

  it('leaves nothing behind on a connection that is used again and again', async () => {
    const socket = await openSocket(api.url);
    const json = '{"content":"x"}';
    const ask = async (): Promise<number> => {
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${ADMIN}\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`,
      );
      const { status } = await readAnswer(socket);
      socket.removeAllListeners();
      return status;
    };
    const server = Promise.withResolvers<Socket>();
    const add = vi.spyOn(OpenSockets.prototype, 'serve').mockImplementation(function serve(incoming) {
      server.resolve(incoming.socket);
    });
    for (let n = 0; n < 5; n += 1) expect([202, 429]).toContain(await ask());
    add.mockRestore();
    const used = await server.promise;
    await vi.waitFor(() => expect(Object.hasOwn(used, 'destroySoon')).toBe(false));
    socket.destroy();
  });

  it('is refused before it is sent when the client sends Expect: 100-continue', async () => {
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: ${host}`,
      `Authorization: ${ADMIN}`,
      'Content-Type: application/json',
    ];
    const large = await rawRequest(api.url, [...head, 'Content-Length: 2000000', 'Expect: 100-continue']);
    expect(large.status).toBe(413);
    const small = await rawRequest(
      api.url,
      [...head, 'Content-Length: 15', 'Expect: 100-continue', 'Connection: close'],
      '{"content":"x"}',
    );
    expect(small.text).toMatch(/100 Continue[^]*202 Accepted/);
  });

  it('with both Content-Length and Transfer-Encoding is refused', async () => {
    const answer = await rawRequest(
      api.url,
      [`POST ${path} HTTP/1.1`, `Host: ${host}`, 'Content-Length: 3', 'Transfer-Encoding: chunked'],
      '0\r\n\r\n',
    );
    expect(answer.status).toBe(400);
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
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    for (const response of [page, await fetch(`${api.url}/v1/models`), await fetch(`${api.url}/nothing`)]) {
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    }
    const etag = page.headers.get('etag') ?? '';
    expect((await fetch(api.url, { headers: { 'if-none-match': etag } })).status).toBe(304);
  });
});
