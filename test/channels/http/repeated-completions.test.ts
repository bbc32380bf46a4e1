/** Completions without a session, repeated under their Idempotency-Key over a real connection. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ChatChunk } from '../../../src/protocol/agent/provider.ts';
import { openApi, type OpenApi } from './client.ts';

const REPEATS = 50;
const USAGE = { promptTokens: 3, completionTokens: 2, modelMs: 1 };

let api: OpenApi;
let calls = 0;

async function* answers(): AsyncGenerator<ChatChunk> {
  calls += 1;
  await new Promise((resolve) => setImmediate(resolve));
  yield { type: 'text', delta: `answer ${calls}, ` };
  await new Promise((resolve) => setImmediate(resolve));
  yield { type: 'text', delta: 'whole' };
  yield { type: 'done', finishReason: 'stop', usage: USAGE };
  // The usage is stored after the last chunk.
  await new Promise((resolve) => setImmediate(resolve));
}

beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());
beforeEach(() => {
  calls = 0;
  api.gateway.completion = answers;
});

/** The two wires, each with its body for a text. */
const WIRES = [
  { path: '/v1/chat/completions', body: (text: string) => ({ messages: [{ role: 'user', content: text }] }) },
  { path: '/v1/responses', body: (text: string) => ({ input: text }) },
];
const FORMS = WIRES.flatMap((wire) => [false, true].map((stream) => ({ ...wire, stream })));

async function post(path: string, key: string, json: object): Promise<{ status: number; text: string }> {
  const response = await api.call(path, { json, headers: { 'idempotency-key': key } });
  return { status: response.status, text: await response.text() };
}

it.for(FORMS)(
  `answers ${REPEATS} of ${REPEATS} repeats byte for byte with one model call: $path, stream $stream`,
  async ({ path, body, stream }) => {
    let same = 0;
    for (let n = 0; n < REPEATS; n += 1) {
      const request = { model: 'default', stream, ...body(`question ${n}`) };
      const key = `${path}-${stream}-${n}`;
      const first = await post(path, key, request);
      const second = await post(path, key, request);
      expect(first.status).toBe(200);
      if (first.text === second.text && first.text.includes(`answer ${n + 1}`)) same += 1;
    }
    expect([same, calls]).toEqual([REPEATS, REPEATS]);
  },
);

it.for(FORMS)(
  'answers requests that overlap byte for byte with one model call: $path, stream $stream',
  async ({ path, body, stream }) => {
    const request = { model: 'default', stream, ...body('together') };
    const all = await Promise.all(
      Array.from({ length: 20 }, () => post(path, `${path}-${stream}-overlap`, request)),
    );
    expect([new Set(all.map(({ text }) => text)).size, calls]).toEqual([1, 1]);
  },
);

it.for(FORMS)(
  'refuses another body under the key of a finished answer with 422: $path, stream $stream',
  async ({ path, body, stream }) => {
    const key = `${path}-${stream}-other`;
    expect((await post(path, key, { model: 'default', stream, ...body('one') })).status).toBe(200);
    const other = await post(path, key, { model: 'default', stream, ...body('two') });
    expect([other.status, JSON.parse(other.text).error.code, calls]).toEqual([
      422,
      'idempotency_key_reused',
      1,
    ]);
  },
);

it('calls the model again for a client that left before the end of its answer', async () => {
  const gone = new AbortController();
  const ended = Promise.withResolvers<void>();
  api.gateway.completion = async function* (_request, signal) {
    calls += 1;
    yield { type: 'text', delta: 'part' };
    if (calls > 1) return yield { type: 'done', finishReason: 'stop', usage: USAGE };
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return ended.resolve();
  };
  const json = { stream: true, messages: [{ role: 'user', content: 'left' }] };
  const headers = { 'idempotency-key': 'left' };
  const first = await api.call('/v1/chat/completions', { json, headers, signal: gone.signal });
  expect(first.status).toBe(200);
  gone.abort();
  await expect(first.text()).rejects.toThrow('aborted');
  await ended.promise;
  expect((await post('/v1/chat/completions', 'left', json)).text).toContain('[DONE]');
  expect(calls).toBe(2);
});
