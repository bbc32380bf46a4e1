/** Callers without a token, ticket or signature: whatever they hold open, those with a token are answered. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  MAX_STRANGERS,
  MIN_IDLE_MS,
  MIN_STRANGER_BYTES_PER_S,
  STRANGER_BODY_MS,
} from '../../../../channels/http/config.ts';
import type { HttpConfig } from '../../../../channels/http/index.ts';
import { ADMIN, CHAT } from '../../../fakes/gateway/gateway-api.ts';
import { HTTP_CONFIG, openApi, type OpenApi } from '../client.ts';
import { openSocket, type RawAnswer, rawRequest, readAnswer } from '../raw-http.ts';
import { type Flood, startFlood } from './flood.ts';

let api: OpenApi;
let host: string;
let flood: Flood | undefined;
const sockets: Socket[] = [];

/** A channel with one webhook, `ci`, to which every signature is right. */
async function open(config: Partial<HttpConfig> = {}): Promise<void> {
  api = await openApi(config);
  api.gateway.hooks = {
    has: (name) => name === 'ci',
    accept: async () => ({ kind: 'accepted', turnId: null }),
  };
  host = new URL(api.url).host;
}

afterEach(async () => {
  await flood?.stop();
  flood = undefined;
  for (const socket of sockets.splice(0)) socket.destroy();
  await api.close();
});

const post = (path: string, length: number, ...headers: string[]): string =>
  [
    `POST ${path} HTTP/1.1`,
    `Host: ${host}`,
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    ...headers,
    '',
    '',
  ].join('\r\n');

/** Sends text on a connection of its own; `answer` arrives when it does. */
async function send(text: string): Promise<{ socket: Socket; answer: Promise<RawAnswer> }> {
  const socket = await openSocket(api.url);
  sockets.push(socket);
  const answer = readAnswer(socket);
  socket.write(text);
  return { socket, answer };
}

const OPENINGS: [string, () => string][] = [
  ['bodies that do not arrive', () => `${post('/v1/hooks/ci', 1_000)}{`],
  ['codes that do not arrive', () => `${post('/v1/sign-in', 1_000, 'X-Parley-Page: 1')}{`],
  [
    'WebSockets that send no token',
    () =>
      `GET /v1/ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  ],
  ['headers that do not end', () => `GET /v1/models HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `],
];

describe.each(OPENINGS)('a flood of %s', (_, opening) => {
  it('closes its own connections, oldest first, and each try of the owner is answered', async () => {
    await open({ limits: { ...HTTP_CONFIG.limits, socketsPerAddress: 40 } });
    flood = startFlood(api.url, 200, opening());
    await wait(MIN_IDLE_MS + 200);
    const statuses: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      const lines = ['GET /v1/models HTTP/1.1', `Host: ${host}`, `Authorization: ${ADMIN}`];
      statuses.push((await rawRequest(api.url, lines)).status);
    }
    expect(statuses).toEqual(Array.from({ length: 20 }, () => 200));
    expect(flood.closed).toBeGreaterThan(100);
  });
});

describe('requests of one address that wait without a token', () => {
  it(`are ${MAX_STRANGERS} at most: one more ends the oldest, and one that is whole is answered`, async () => {
    await open();
    const slow = [];
    for (let n = 0; n < MAX_STRANGERS; n += 1) slow.push(await send(`${post('/v1/hooks/ci', 2)}{`));
    const first = slow[0]!;
    const early = await Promise.race([first.answer, wait(200)]);
    expect(early).toBeUndefined();
    expect((await (await send(`${post('/v1/hooks/ci', 2)}{}`)).answer).status).toBe(202);
    expect(await first.answer).toMatchObject({
      status: 429,
      text: expect.stringMatching(/retry-after: 1[^]*too_many_requests/i),
    });
    for (const { socket } of slow.slice(1)) socket.write('}');
    const rest = await Promise.all(slow.slice(1).map(({ answer }) => answer));
    expect(rest.map(({ status }) => status)).toEqual(Array.from({ length: MAX_STRANGERS - 1 }, () => 202));
  });

  it('count for the client that a trusted proxy names, not for the proxy', async () => {
    await open({ trustedProxies: ['127.0.0.1'] });
    const from = (address: string): string => `X-Forwarded-For: ${address}`;
    const other = await send(`${post('/v1/hooks/ci', 2, from('198.51.100.1'))}{`);
    for (let n = 0; n < MAX_STRANGERS + 5; n += 1)
      await send(`${post('/v1/hooks/ci', 2, from('192.0.2.7'))}{`);
    other.socket.write('}');
    expect((await other.answer).status).toBe(202);
  });
});

describe('a body without a token', () => {
  it('is refused when nothing more of it arrives', async () => {
    await open();
    const started = performance.now();
    const { answer } = await send(`${post('/v1/hooks/ci', 1_000)}{`);
    expect(await answer).toMatchObject({ status: 408, text: expect.stringMatching(/connection: close/i) });
    expect(performance.now() - started).toBeLessThan(STRANGER_BODY_MS);
  });

  it(`has ${STRANGER_BODY_MS / 1_000} seconds, however steadily it arrives`, async () => {
    await open();
    const started = performance.now();
    const { socket, answer } = await send(`${post('/v1/hooks/ci', 500_000)}"`);
    const drip = setInterval(() => socket.write('x'.repeat(MIN_STRANGER_BYTES_PER_S)), 500);
    expect((await answer).status).toBe(408);
    clearInterval(drip);
    expect(performance.now() - started).toBeGreaterThan(STRANGER_BODY_MS - 500);
    expect(performance.now() - started).toBeLessThan(STRANGER_BODY_MS + 2_000);
  });

  it(`is read when it arrives with ${MIN_STRANGER_BYTES_PER_S} bytes a second`, async () => {
    await open();
    const { socket, answer } = await send(post('/v1/hooks/ci', 4 * MIN_STRANGER_BYTES_PER_S));
    for (let n = 0; n < 4; n += 1) {
      socket.write(' '.repeat(MIN_STRANGER_BYTES_PER_S));
      await wait(900);
    }
    expect((await answer).status).toBe(202);
  });

  it.each(['/v1/hooks/other', '/v1/interactions/other', '/v1/updates/other'])(
    'is not read at all for %s, which does not exist',
    async (path) => {
      await open();
      const { answer } = await send(post(path, 1_000_000));
      expect(await answer).toMatchObject({ status: 401, text: expect.stringMatching(/connection: close/i) });
    },
  );
});

describe('requests of one token', () => {
  it('that keep all its connections busy get further ones refused; an admin is answered', async () => {
    await open({ limits: { ...HTTP_CONFIG.limits, socketsPerToken: 3 } });
    const slow = post('/v1/sessions/http:a/messages', 15, `Authorization: ${CHAT}`);
    const body = '{"content":"x"}';
    const busy = [await send(slow), await send(slow), await send(slow)];
    await wait(100);
    const { answer } = await send(slow + body);
    expect(await answer).toMatchObject({
      status: 429,
      text: expect.stringMatching(/retry-after: 1[^]*too_many_requests/i),
    });
    const bySocket = ['GET /v1/models HTTP/1.1', `Host: ${host}`, `Authorization: ${ADMIN}`];
    for (let n = 0; n < 5; n += 1) expect((await rawRequest(api.url, bySocket)).status).toBe(200);
    for (const { socket } of busy) socket.write(body);
    for (const one of busy) expect((await one.answer).status).toBe(202);
    expect((await (await send(slow + body)).answer).status).toBe(202);
  });
});
