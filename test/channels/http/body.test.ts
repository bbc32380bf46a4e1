/** Bodies of requests: what is refused, before it costs anything, with a clear error. */
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_JSON_VALUES, MAX_MESSAGES } from '../../../channels/http/config.ts';
import { OpenSockets } from '../../../channels/http/limits/open-sockets.ts';
import { ADMIN, CHAT } from '../../fakes/gateway/gateway-api.ts';
import { openApi, type OpenApi } from './client.ts';
import { openSocket, rawRequest, readAnswer } from './raw-http.ts';

let api: OpenApi;
let host: string;

beforeEach(async () => {
  api = await openApi();
  host = new URL(api.url).host;
});
afterEach(() => api.close());

/** Sends this many MiB in chunks until the other side closes. */
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
    const list = (name: string, count: number) => ({ [name]: Array.from({ length: count }, () => ({})) });
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
  ])('of 50 MiB is not read further after a refusal for a %s', async (_, token, route, status, wanted) => {
    const socket = await openSocket(api.url);
    socket.write(
      `POST ${route} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const answer = readAnswer(socket);
    const started = performance.now();
    await upload(socket, 50);
    expect(await answer).toMatchObject({ status, text: expect.stringMatching(wanted) });
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
    const add = vi.spyOn(OpenSockets.prototype, 'serve').mockImplementation(function serve(used) {
      server.resolve(used);
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
