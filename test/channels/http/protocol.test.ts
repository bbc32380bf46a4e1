/** HTTP itself: encodings, request ids, persistent connections, preflights, and a JSON body on every refusal. */
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN } from '../../fakes/gateway/gateway-api.ts';
import { openApi, type OpenApi } from './client.ts';
import { openSocket, type RawAnswer, rawRequest, readAnswer } from './raw-http.ts';

const ORIGIN = 'https://chat.example.org';
let api: OpenApi;
let host: string;

beforeEach(async () => {
  api = await openApi({ allowedOrigins: [ORIGIN] });
  host = new URL(api.url).host;
});
afterEach(() => api.close());

const path = '/v1/sessions/http:a/messages';
const send = (body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(api.url + path, {
    method: 'POST',
    body,
    headers: { authorization: ADMIN, 'content-type': 'application/json', ...headers },
  });
const bytes = (text: string, encoding: BufferEncoding = 'utf8') =>
  new Uint8Array(Buffer.from(text, encoding));

/** The JSON body of a raw answer. */
const errorOf = ({ text }: RawAnswer): unknown => JSON.parse(text.split('\r\n\r\n').at(-1) ?? '').error;

describe('a body', () => {
  const text = '{"content":"grüße"}';

  it.each([
    ['gzip', new Uint8Array(gzipSync(text)), { 'content-encoding': 'gzip' }, 415, 'unsupported_encoding'],
    ['deflate that is none', bytes(text), { 'content-encoding': 'deflate' }, 415, 'unsupported_encoding'],
    [
      'UTF-16',
      bytes(text, 'utf16le'),
      { 'content-type': 'application/json; charset=utf-16' },
      415,
      'unsupported_charset',
    ],
    [
      'Latin 1',
      bytes(text, 'latin1'),
      { 'content-type': 'application/json;charset="iso-8859-1"' },
      415,
      'unsupported_charset',
    ],
    ['invalid UTF-8', bytes(text, 'latin1'), {}, 400, 'invalid_utf8'],
    ['half a character', bytes(text).slice(0, 15), {}, 400, 'invalid_utf8'],
  ])('in %s is refused, and nothing of it is stored', async (_, body, headers, status, code) => {
    const answer = await send(body, headers);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { code } });
    expect(api.gateway.turns.size).toBe(0);
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON; Charset="UTF-8"'])(
    'is read as UTF-8 when it is sent as %s',
    async (type) => {
      expect((await send(bytes(text), { 'content-type': type, 'content-encoding': 'identity' })).status).toBe(
        202,
      );
      expect([...api.gateway.turns.values()].at(-1)?.message.content).toBe('grüße');
    },
  );
});

describe('every answer', () => {
  it('has a request id: the caller’s own when it is safe to log, else a new one', async () => {
    const idOf = async (route: string, headers: Record<string, string> = {}) =>
      (await api.call(route, { headers })).headers.get('x-request-id');
    expect(await idOf('/healthz', { 'x-request-id': 'trace-1.a_b' })).toBe('trace-1.a_b');
    const made = await Promise.all([
      idOf('/healthz'),
      idOf('/v1/nothing'),
      idOf('/'),
      idOf('/v1/models', { 'x-request-id': 'x'.repeat(65) }),
      idOf('/v1/models', { 'x-request-id': 'a b' }),
    ]);
    expect(made.every((id) => /^[\w-]{10,64}$/.test(id ?? ''))).toBe(true);
    expect(new Set(made).size).toBe(made.length);
  });

  it.each([
    ['without Host', ['GET /healthz HTTP/1.1'], 400, 'missing_host'],
    ['of HTTP/1.0 without Host', ['GET /healthz HTTP/1.0'], 400, 'missing_host'],
    ['of HTTP/0.9', ['GET /healthz'], 505, 'http_version_not_supported'],
    ['of HTTP/2.0 in words', ['GET /healthz HTTP/2.0', 'Host: HOST'], 505, 'http_version_not_supported'],
    ['for *', ['OPTIONS * HTTP/1.1', 'Host: HOST'], 400, 'bad_request'],
    [
      'with another expectation',
      ['GET /healthz HTTP/1.1', 'Host: HOST', 'Expect: wonders'],
      417,
      'expectation_failed',
    ],
    ['for a tunnel', ['CONNECT example.org:443 HTTP/1.1', 'Host: HOST'], 405, 'method_not_allowed'],
    ['with an unknown method', ['FETCH /healthz HTTP/1.1', 'Host: HOST'], 400, 'bad_request'],
    ['with a backslash', [String.raw`GET /a\b HTTP/1.1`, 'Host: HOST'], 400, 'bad_request'],
  ])('to a request %s says so in JSON, with an id', async (_, lines, status, code) => {
    const answer = await rawRequest(
      api.url,
      lines.map((line) => line.replace('HOST', host)),
    );
    expect(answer.status).toBe(status);
    expect(errorOf(answer)).toMatchObject({ code, message: expect.stringMatching(/\w/) });
    expect(answer.text).toMatch(/x-request-id: [\w-]{10}/i);
  });

  it('keeps the connection for the next request for 75 s, longer than proxies do', async () => {
    const socket = await openSocket(api.url);
    socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const { text } = await readAnswer(socket);
    expect(text).toMatch(/keep-alive: timeout=75/i);
    socket.destroy();
    await once(socket, 'close');
  });
});

describe('a token', () => {
  it.each(['bearer', 'BEARER', 'bEARER'])('is accepted after the word %s', async (word) => {
    const answer = await api.call('/v1/models', {
      headers: { authorization: ADMIN.replace('Bearer', word) },
    });
    expect(answer.status).toBe(200);
  });
});

describe('a preflight of an allowed origin', () => {
  const ask = (headers: string | undefined) =>
    api.call('/v1/chat/completions', {
      method: 'OPTIONS',
      headers: {
        origin: ORIGIN,
        'access-control-request-method': 'POST',
        ...(headers !== undefined && { 'access-control-request-headers': headers }),
      },
    });

  it('gets every header it requests', async () => {
    const asked = 'authorization,content-type,x-stainless-os,x-stainless-retry-count';
    const answer = await ask(asked);
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-headers')).toBe(asked);
    expect(answer.headers.get('vary')).toBe('Origin, Access-Control-Request-Headers');
  });

  it.each([undefined, '', 'a,,b', 'a;b', `x${'x'.repeat(2_000)}`])(
    'gets the headers of the API when it requests %s',
    async (asked) => {
      const allowed = (await ask(asked)).headers.get('access-control-allow-headers');
      expect(allowed).toContain('x-session-id');
      expect(allowed).not.toContain('xx');
    },
  );

  it('lets its page read when to retry, the request’s id, and what belongs to a download', async () => {
    const answer = await api.call('/v1/models', { headers: { origin: ORIGIN } });
    expect(answer.headers.get('access-control-expose-headers')).toBe(
      'accept-ranges, content-disposition, content-range, etag, retry-after, x-omitted-tools, x-request-id, x-should-retry',
    );
  });
});
