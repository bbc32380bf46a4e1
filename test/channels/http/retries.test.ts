/** Failed answers and repeated requests, as OpenAI's own client reads and makes them: nothing is stored or answered twice. */
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import OpenAI, { APIError } from 'openai';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AnsweredTurns, MAX_RETRY_AGE_MS, turnOfRetry } from '../../../channels/http/repeats.ts';
import { inbound } from '../../store/requests.ts';
import type { FakeTurn } from '../../fakes/gateway/turn.ts';
import { CHAT } from '../../fakes/gateway/gateway-api.ts';
import { allFrames, openApi, type OpenApi, textOf } from './client.ts';

let api: OpenApi;
/** The client with its default of two retries. */
let openai: OpenAI;

beforeEach(async () => {
  api = await openApi();
  openai = new OpenAI({
    baseURL: `${api.url}/v1`,
    apiKey: 'admin-token-of-the-owner',
    defaultHeaders: { 'x-session-id': 'notes' },
  });
});
afterEach(() => api.close());

const says = (content: string) => [{ role: 'user' as const, content }];
const ask = (content: string, options?: OpenAI.RequestOptions) =>
  openai.chat.completions.create({ model: 'default', messages: says(content) }, options);
const complete = (
  content: string,
  headers: Record<string, string> = {},
  json: object = {},
): Promise<Response> =>
  api.call('/v1/chat/completions', {
    json: { messages: says(content), ...json },
    headers: { 'x-session-id': 'notes', ...headers },
  });
const userTexts = async (): Promise<string[]> => {
  const rows = await api.gateway.messages({ tokenId: 'admin', scopes: ['admin'] }, 'http:notes', {
    limit: 99,
  });
  return (rows ?? []).filter(({ role }) => role === 'user').map(({ content }) => content);
};
const failing = (failure: FakeTurn['failure']) => (turn: FakeTurn) => {
  turn.failure = failure;
  turn.end('failed', 'Sorry.');
};

describe('a turn that failed', () => {
  it.each([
    ['context_overflow', undefined, 400, 'context_length_exceeded', null],
    ['unknown_model', undefined, 404, 'model_not_found', null],
    ['bad_request', undefined, 400, 'bad_request', null],
    ['rate_limited', 42_000, 429, 'rate_limit_exceeded', '42'],
    ['rate_limited', undefined, 429, 'rate_limit_exceeded', null],
    ['quota_exceeded', undefined, 429, 'insufficient_quota', null],
    ['unauthorized', undefined, 502, 'model_server_unauthorized', null],
    ['bad_response', undefined, 502, 'bad_response', null],
    ['unavailable', 2_500, 503, 'unavailable', '3'],
    ['timeout_first_chunk', undefined, 504, 'timeout_first_chunk', null],
    ['attempts_used_up', undefined, 502, 'turn_failed', null],
  ])('by %s, %s ms: is answered %i %s, Retry-After %s', async (code, retryAfterMs, status, named, wait) => {
    api.gateway.script = failing({ code, retryAfterMs });
    const answer = await complete('x');
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { code: named, message: 'Sorry.' } });
    expect([answer.headers.get('retry-after'), answer.headers.get('x-should-retry')]).toEqual([
      wait,
      'false',
    ]);
  });

  it('is not retried by the openai client, whose message is kept', async () => {
    api.gateway.script = failing({ code: 'unavailable', retryAfterMs: 100 });
    const error = await ask('only once').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 503, code: 'unavailable' });
    expect(await userTexts()).toEqual(['only once']);
  });
});

describe('a whole answer', () => {
  it('is the stored text, even if the model call was repeated after its first tokens', async () => {
    api.gateway.script = (turn) => {
      turn.say('The first ', 'try');
      turn.reset();
      turn.say('Another text.');
      turn.end();
    };
    const answer = await ask('go');
    expect(answer.choices[0]?.message.content).toBe('Another text.');
    const streamed = await complete('go', {}, { stream: true });
    expect((await allFrames(streamed)).at(-1)?.data).toContain('answer_restarted');
  });
});

describe('a request that the openai client sends again', () => {
  it('after a timeout joins the existing turn, and gets all of its answer', async () => {
    let turn: FakeTurn | undefined;
    api.gateway.script = (started) => {
      turn = started;
      turn.say('Half ');
    };
    const asked = ask('slow', { timeout: 300 });
    await vi.waitFor(() => expect(api.gateway.repeats).toBe(1), { timeout: 10_000, interval: 10 });
    turn?.say('and half.');
    turn?.end();
    expect((await asked).choices[0]?.message.content).toBe('Half and half.');
    expect(await userTexts()).toEqual(['slow']);
  });

  const again = { 'x-stainless-retry-count': '1' };

  it('is a separate message when it says something else, or when the first was answered', async () => {
    api.gateway.script = (turn) => {
      if (turn.message.content === 'held') return;
      turn.say('ok');
      turn.end();
    };
    const gone = new AbortController();
    const held = api.call('/v1/chat/completions', {
      json: { messages: says('held') },
      headers: { 'x-session-id': 'notes' },
      signal: gone.signal,
    });
    await vi.waitFor(async () => expect(await userTexts()).toEqual(['held']));
    gone.abort();
    await expect(held).rejects.toThrow('aborted');
    // Another token's message is not its own, whatever it says.
    expect((await complete('held', { ...again, authorization: CHAT })).status).toBe(404);
    await api.gateway.stop({ tokenId: 'admin', scopes: ['admin'] }, 'http:notes');
    expect((await complete('other', again)).status).toBe(200);
    expect((await complete('other', again)).status).toBe(200);
    expect((await complete('other', { 'x-stainless-retry-count': '0' })).status).toBe(200);
    expect(await userTexts()).toEqual(['held', 'other', 'other', 'other']);
  });
});

it('joins only a message of the last quarter of an hour', async () => {
  const incoming = Object.assign(new IncomingMessage(new Socket()), {
    headers: { 'x-stainless-retry-count': '2' },
  });
  const sentAt = 1_000_000;
  const newestOwnMessage = () => Promise.resolve({ turnId: 't', seq: 1, content: 'x', sentAt });
  const gateway = { newestOwnMessage } as unknown as GatewayApi;
  const joined = (ageMs: number) =>
    turnOfRetry(
      incoming,
      { tokenId: 'a', scopes: ['chat'] },
      inbound('m', { content: 'x', timestamp: sentAt + ageMs }),
      gateway,
      new AnsweredTurns(),
    );
  expect(await joined(MAX_RETRY_AGE_MS)).toEqual({ kind: 'duplicate', turnId: 't', seq: 1 });
  expect(await joined(MAX_RETRY_AGE_MS + 1)).toBeUndefined();
});

describe('an Idempotency-Key', () => {
  const key = { 'idempotency-key': 'k1' };

  it('with another message is refused with 422, in a session and in a completion', async () => {
    expect((await complete('one', key)).status).toBe(200);
    expect((await complete('one', key)).status).toBe(200);
    const other = await complete('two', key);
    expect(other.status).toBe(422);
    expect(await other.json()).toMatchObject({
      error: { code: 'idempotency_key_reused', param: 'idempotency-key' },
    });
    const posted = await api.call('/v1/sessions/http:notes/messages', {
      json: { content: 'two' },
      headers: key,
    });
    expect(posted.status).toBe(422);
    expect(await userTexts()).toEqual(['one']);
  });

  it('gives a completion without a session the same answer, immediately and later, whole and streamed', async () => {
    let calls = 0;
    api.gateway.completion = async function* () {
      calls += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
      yield { type: 'text', delta: `answer ${calls}` };
      yield {
        type: 'done',
        finishReason: 'stop',
        usage: { promptTokens: 1, completionTokens: 1, modelMs: 1 },
      };
    };
    const stateless = (content: string, json: object = {}, headers: Record<string, string> = key) =>
      api.call('/v1/chat/completions', { json: { messages: says(content), ...json }, headers });
    const first = await Promise.all([1, 2, 3].map(async () => await (await stateless('hi')).json()));
    expect(first.map((body) => body.choices[0].message.content)).toEqual(Array(3).fill('answer 1'));
    expect(textOf(await allFrames(await stateless('hi', { stream: true })))).toBe('answer 1');
    expect((await stateless('bye')).status).toBe(422);
    const others = await stateless('hi', {}, { ...key, authorization: CHAT });
    expect((await others.json()).choices[0].message.content).toBe('answer 2');
    expect(calls).toBe(2);
  });
});
