/** Requests whose body no one reads: clients that pool their connections lose none of their requests. */
import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Pool } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_BODY_BYTES, MAX_DRAINED_BYTES } from '../../../../channels/http/config.ts';
import { ADMIN, CHAT } from '../../../fakes/gateway/gateway-api.ts';
import { openApi, type OpenApi } from '../client.ts';
import { openSocket, readAnswer } from '../raw-http.ts';

const ROUNDS = 40;
let api: OpenApi;

beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

interface Refused {
  path: string;
  headers: Record<string, string>;
  status: number;
}

const json = { 'content-type': 'application/json' };
const REFUSED: Refused[] = [
  { path: '/v1/models', headers: { ...json, authorization: 'Bearer wrong' }, status: 405 },
  { path: '/v1/embeddings', headers: { ...json, authorization: 'Bearer wrong' }, status: 401 },
  { path: '/v1/nothing', headers: { ...json, authorization: ADMIN }, status: 404 },
  { path: '/v1/embeddings', headers: { ...json, origin: 'https://evil.example' }, status: 403 },
  { path: '/v1/embeddings', headers: { ...json, host: 'evil.example' }, status: 421 },
  { path: '/v1/embeddings', headers: { 'content-type': 'text/plain', authorization: ADMIN }, status: 415 },
];

/** A connection pool of one connection: each request must be able to follow the previous one. */
interface Pooled {
  post(path: string, headers: Record<string, string>, body: string): Promise<Answered>;
  close(): Promise<void> | void;
}

interface Answered {
  status: number;
  connection: string;
}

function undiciPool(url: string): Pooled {
  const pool = new Pool(url, { connections: 1, pipelining: 1 });
  return {
    async post(path, headers, body) {
      const {
        statusCode,
        headers: received,
        body: answer,
      } = await pool.request({
        method: 'POST',
        path,
        headers,
        body,
      });
      await answer.dump();
      return { status: statusCode, connection: String(received['connection']) };
    },
    close: () => pool.close(),
  };
}

function nodeAgent(url: string): Pooled {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    post: (path, headers: OutgoingHttpHeaders, body) =>
      new Promise((resolve, reject) => {
        const call = request(url + path, { method: 'POST', headers, agent }, (answer) => {
          answer.resume();
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, connection: String(answer.headers.connection) }),
          );
        });
        call.on('error', reject);
        // Headers and body in two packets.
        call.flushHeaders();
        setImmediate(() => call.end(body));
      }),
    close: () => agent.destroy(),
  };
}

describe.each([
  ['undici', undiciPool],
  ['node:http', nodeAgent],
])('a client that pools its connections with %s', (_, open) => {
  it.each(REFUSED)(
    `gets ${ROUNDS} of ${ROUNDS} answers after the refusal $status of $path`,
    async ({ path, headers, status }) => {
      const pool = open(api.url);
      const answers: Answered[] = [];
      const length = (body: string) => ({ 'content-length': String(Buffer.byteLength(body)) });
      for (let round = 0; round < ROUNDS; round += 1) {
        // Wrong tokens are soon refused with 429, which is as good here.
        const body = '{"input":"x"}';
        answers.push(await pool.post(path, { ...headers, ...length(body) }, body));
        const next = await pool.post(
          '/v1/embeddings',
          { ...json, authorization: ADMIN, ...length(body) },
          body,
        );
        if (next.status !== 400) answers.push(next);
        await nextTurn();
      }
      expect(answers.filter((answer) => answer.status === status || answer.status === 429)).toHaveLength(
        ROUNDS,
      );
      expect(new Set(answers.map(({ connection }) => connection))).toEqual(new Set(['keep-alive']));
      await pool.close();
    },
  );

  it('gets every answer even after refused bodies that are too long to read, and is asked to reconnect', async () => {
    const pool = open(api.url);
    const body = 'x'.repeat(MAX_DRAINED_BYTES + 1);
    const headers = { ...json, authorization: ADMIN, 'content-length': String(body.length) };
    for (let round = 0; round < ROUNDS; round += 1) {
      expect(await pool.post('/v1/nothing', headers, body)).toEqual({ status: 404, connection: 'close' });
    }
    await pool.close();
  });
});

/** Answers that come before the body is read, while it is, and without one: each as a client sends it, in one packet. */
const ROWS: [
  name: string,
  path: string,
  headers: Record<string, string>,
  body: string | undefined,
  status: number,
][] = [
  ['a page of another origin', '/v1/embeddings', { ...json, origin: 'https://evil.example' }, '{}', 403],
  ['another host', '/v1/embeddings', { ...json, host: 'evil.example' }, '{}', 421],
  ['no such route', '/v1/nothing', { ...json, authorization: ADMIN }, '{}', 404],
  ['no such method', '/v1/models', { ...json, authorization: ADMIN }, '{}', 405],
  ['a sign-in of another page', '/v1/sign-in', json, '{"code":"x"}', 403],
  ['a wrong field', '/v1/embeddings', { ...json, authorization: ADMIN }, '{"input":7}', 400],
  ['a missing scope', '/v1/tokens', { ...json, authorization: CHAT }, '{"name":"x"}', 403],
  [
    'a chunked body that is too large',
    '/v1/embeddings',
    { ...json, authorization: ADMIN, 'transfer-encoding': 'chunked' },
    'x'.repeat(MAX_BODY_BYTES + 1),
    413,
  ],
  [
    'another content type',
    '/v1/embeddings',
    { 'content-type': 'text/plain', authorization: ADMIN },
    '{}',
    415,
  ],
  ['an unknown expectation', '/v1/embeddings', { ...json, authorization: ADMIN, expect: 'tea' }, '{}', 417],
  ['a wrong token', '/v1/embeddings', { ...json, authorization: 'Bearer wrong' }, '{}', 401],
  [
    'a declared body that is too large',
    '/v1/embeddings',
    { ...json, authorization: ADMIN },
    'x'.repeat(MAX_BODY_BYTES + 1),
    413,
  ],
  ['no such webhook', '/v1/hooks/other', json, '{}', 401],
  ['a GET of another origin', '/v1/models', { origin: 'https://evil.example' }, undefined, 403],
  ['a GET of another host', '/v1/models', { host: 'evil.example' }, undefined, 421],
  ['a GET of nothing', '/v1/nothing', { authorization: ADMIN }, undefined, 404],
];

describe('an answer and its connection agree', () => {
  it.each(ROWS)('after %s', async (_, path, headers, body, status) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = (
      to: string,
      all: Record<string, string>,
      text?: string,
    ): Promise<Answered & { reused: boolean }> =>
      new Promise((resolve, reject) => {
        const length =
          text === undefined || 'transfer-encoding' in all ? {} : { 'content-length': String(text.length) };
        const method = text === undefined ? 'GET' : 'POST';
        const call = request(api.url + to, { method, headers: { ...all, ...length }, agent }, (answer) => {
          answer.resume().on('end', () =>
            resolve({
              status: answer.statusCode ?? 0,
              connection: String(answer.headers.connection),
              reused: call.reusedSocket,
            }),
          );
        });
        call.on('error', reject).end(text);
      });
    const good = { ...json, authorization: ADMIN };
    let answered = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const refused = await ask(path, headers, body);
      expect([status, 429]).toContain(refused.status);
      const next = await ask('/v1/chat/completions', good, '{"messages":[{"role":"user","content":"hi"}]}');
      expect(next.reused).toBe(refused.connection === 'keep-alive');
      if (next.status === 200) answered += 1;
    }
    expect(answered).toBe(ROUNDS);
    agent.destroy();
  });
});

describe('an unread body', () => {
  const post = (length: number, extra = '') =>
    `POST /v1/nothing HTTP/1.1\r\nHost: ${new URL(api.url).host}\r\nContent-Length: ${length}\r\n${extra}\r\n`;

  it(`of ${MAX_DRAINED_BYTES} bytes keeps its connection`, async () => {
    const socket = await openSocket(api.url);
    socket.write(post(MAX_DRAINED_BYTES) + 'x'.repeat(MAX_DRAINED_BYTES));
    expect((await readAnswer(socket)).text).toMatch(/connection: keep-alive/i);
    socket.destroy();
  });

  it('that does not arrive ends its connection, which the answer says', async () => {
    const socket = await openSocket(api.url);
    socket.write(post(2));
    expect(await readAnswer(socket)).toMatchObject({
      status: 404,
      text: expect.stringMatching(/connection: close/i),
    });
    socket.destroy();
  });

  it('that waits for "100 Continue" ends its connection immediately, and the answer says so', async () => {
    const socket = await openSocket(api.url);
    socket.write(post(2, 'Expect: 100-continue\r\n'));
    expect((await readAnswer(socket)).text).toMatch(/404 Not Found[^]*connection: close/i);
    socket.destroy();
  });
});
