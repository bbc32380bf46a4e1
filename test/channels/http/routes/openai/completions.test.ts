/** Chat completions read by OpenAI's own client: with and without a session, streamed and whole. */
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_END_USER } from '../../../../../channels/http/inbound.ts';
import type { FakeTurn } from '../../../../fakes/gateway/turn.ts';
import { allFrames, type Frame, frames, openApi, type OpenApi, textOf } from '../../client.ts';

let api: OpenApi;
let openai: OpenAI;

beforeEach(async () => {
  api = await openApi();
  openai = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: 'admin-token-of-the-owner', maxRetries: 0 });
});
afterEach(() => api.close());

/** The session of a call of the openai client. */
const inSession = { headers: { 'X-Session-Id': 'anna' } };
const says = (content: string) => [{ role: 'user' as const, content }];
const complete = (json: Record<string, unknown>, headers: Record<string, string> = {}): Promise<Response> =>
  api.call('/v1/chat/completions', { json, headers });

describe('a completion in a session', () => {
  it('answers the openai client whole, with the usage', async () => {
    const request = { model: 'default', messages: says('hi') };
    const answer = await openai.chat.completions.create(request, inSession);
    expect(answer.choices[0]).toMatchObject({ message: { content: 'You said: hi' }, finish_reason: 'stop' });
    expect(answer.usage).toEqual({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 });
    const turn = [...api.gateway.turns.values()][0];
    expect(turn?.message).toMatchObject({ channel: 'http', chatId: 'anna', senderId: 'token:admin' });
    expect(turn?.options.entry).toBe('run');
  });

  it('streams tokens and thinking to the openai client, usage last when asked for', async () => {
    api.gateway.script = (turn) => {
      turn.emit({ type: 'thinking_started', msgId: 'w', title: 'Step 1: Look' });
      turn.emit({ type: 'thinking_finished', msgId: 'w' });
      turn.think('Hm, ', 'well.');
      turn.say('One ');
      const call = turn.tool('read_file', { path: 'a' });
      turn.result(call, 'read_file', 'text');
      turn.say('two.');
      turn.end();
    };
    const request = {
      model: 'default',
      messages: says('count'),
      stream: true as const,
      stream_options: { include_usage: true },
    };
    const stream = await openai.chat.completions.create(request, inSession);
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const deltas = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
    expect(deltas[0]).toEqual({ role: 'assistant', content: '' });
    expect(deltas.map((delta) => delta.content ?? '').join('')).toBe('One two.');
    const thinking = deltas.flatMap((delta) =>
      'reasoning_content' in delta ? [delta.reasoning_content] : [],
    );
    expect(thinking.join('')).toBe('Step 1: Look\nHm, well.');
    expect(deltas.some((delta) => delta.tool_calls !== undefined)).toBe(false);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 36 } });
  });

  it('sends [DONE] only after the turn is committed and has ended (N-51)', async () => {
    let turn: FakeTurn | undefined;
    api.gateway.script = (started) => {
      turn = started;
      turn.say('all of it');
    };
    const response = await complete({ messages: says('x'), stream: true }, { 'x-session-id': 'anna' });
    const reading = frames(response);
    const seen: Frame[] = [];
    while (!seen.at(-1)?.data?.includes('all of it')) seen.push((await reading.next()).value);
    expect(seen.some((frame) => frame.data === '[DONE]')).toBe(false);
    expect(turn?.state).toBe('running');
    turn?.end();
    for await (const frame of reading) seen.push(frame);
    expect(seen.at(-1)?.data).toBe('[DONE]');
  });

  it('gives the same answer for the same Idempotency-Key, during the turn and after it', async () => {
    let turn: FakeTurn | undefined;
    api.gateway.script = (started) => {
      turn = started;
      turn.say('first half, ');
    };
    const ask = () =>
      complete({ messages: says('x'), stream: true }, { 'x-session-id': 'anna', 'idempotency-key': 'k1' });
    const first = await ask();
    const second = await ask();
    turn?.say('second half');
    turn?.end();
    const late = await ask();
    const texts = await Promise.all(
      [first, second, late].map(async (response) => textOf(await allFrames(response))),
    );
    expect(texts).toEqual(Array.from({ length: 3 }, () => 'first half, second half'));
    expect(api.gateway.turns.size).toBe(1);
  });

  it('lets the turn continue when the connection drops', async () => {
    let turn: FakeTurn | undefined;
    api.gateway.script = (started) => (turn = started).say('a');
    const gone = new AbortController();
    const init = { json: { messages: says('x'), stream: true }, headers: { 'x-session-id': 'anna' } };
    await api.call('/v1/chat/completions', { ...init, signal: gone.signal });
    gone.abort();
    await vi.waitFor(() => expect(api.gateway.events.listeners.size).toBe(0));
    expect(turn?.stopped.signal.aborted).toBe(false);
    turn?.say('b');
    turn?.end();
    expect(turn?.final?.content).toBe('ab');
  });

  it('pings immediately while the message is queued', async () => {
    const waiting: FakeTurn[] = [];
    api.gateway.script = (turn) => void waiting.push(turn);
    const busy = complete({ messages: says('first') }, { 'x-session-id': 'anna' });
    await vi.waitFor(() => expect(waiting).toHaveLength(1));
    const second = await complete({ messages: says('second'), stream: true }, { 'x-session-id': 'anna' });
    const reading = frames(second);
    expect((await reading.next()).value).toMatchObject({ comment: 'ping' });
    waiting[0]?.end();
    await vi.waitFor(() => expect(waiting).toHaveLength(2));
    waiting[1]?.say('done');
    waiting[1]?.end();
    expect(textOf(await allFrames(reading))).toBe('done');
    await busy;
  });

  it('turns max_iterations into "length" and a failure into an error frame without [DONE] (B-47)', async () => {
    api.gateway.script = (turn) => {
      turn.say('so far');
      if (turn.message.content === 'long') turn.end('max_iterations');
      else turn.end('failed', 'The model server went away.');
    };
    const session = { 'x-session-id': 'anna' };
    const long = await allFrames(await complete({ messages: says('long'), stream: true }, session));
    expect(long.at(-2)?.data).toContain('"finish_reason":"length"');
    const failed = await allFrames(await complete({ messages: says('bad'), stream: true }, session));
    expect(JSON.parse(failed.at(-1)?.data ?? '')).toMatchObject({
      error: { message: 'The model server went away.', code: 'turn_failed', type: 'server_error' },
    });
    const request = { model: 'default', messages: says('bad'), stream: true as const };
    const stream = await openai.chat.completions.create(request, inSession);
    await expect(async () => {
      for await (const _ of stream);
    }).rejects.toThrow('The model server went away.');
  });

  it('answers a failure before the first byte with a status', async () => {
    api.gateway.script = (turn) => turn.end('failed', 'No model server at OLLAMA_HOST.');
    const call = openai.chat.completions.create({ model: 'default', messages: says('x') }, inSession);
    await expect(call).rejects.toMatchObject({ status: 502, message: expect.stringMatching(/OLLAMA_HOST/) });
  });

  it('reads its session only from the header, its end user from `user`, and lists the models', async () => {
    const { data } = await openai.models.list();
    expect(data.map((model) => model.id)).toEqual(['default', 'tiny:1b']);
    const headers = { 'X-Session-Id': 'from-header' };
    const request = { model: 'tiny:1b', messages: says('hi'), user: 'not-this' };
    const answer = await openai.chat.completions.create(request, { headers });
    expect(answer.model).toBe('tiny:1b');
    const [turn] = api.gateway.turns.values();
    expect([turn?.message.chatId, turn?.options.model]).toEqual(['from-header', 'tiny:1b']);
    // A digest: no one's name or address is stored.
    expect(turn?.message.endUser).toMatch(/^[\w-]{43}$/);
    await openai.chat.completions.create({ model: 'default', messages: says('hi'), user: 'anna' });
    expect(api.gateway.turns.size).toBe(1);
  });

  it('answers commands immediately', async () => {
    const request = { model: 'default', messages: says('/status') };
    const answer = await openai.chat.completions.create(request, inSession);
    expect(answer.choices[0]?.message.content).toBe('**All** is well.\n- `idle`');
  });

  it("hides another token's session behind 404 and refuses a full queue with 429", async () => {
    api.gateway.script = () => undefined;
    api.gateway.addSession('http:anna', 'friend');
    const stranger = { 'x-session-id': 'anna', authorization: 'Bearer chat-token-of-a-stranger' };
    expect((await complete({ messages: says('x') }, stranger)).status).toBe(404);
    const queued = Array.from({ length: 5 }, () =>
      api.call('/v1/sessions/http:anna/messages', { json: { content: 'x' } }),
    );
    await Promise.all(queued);
    const full = await complete({ messages: says('x'), stream: true }, { 'x-session-id': 'anna' });
    expect([full.status, full.headers.get('retry-after')]).toEqual([429, '1']);
  });
});

describe('a completion without a session', () => {
  it('uses the given messages as the whole context and stores nothing', async () => {
    const answer = await openai.chat.completions.create({
      model: 'tiny:1b',
      messages: [{ role: 'system', content: 'Be brief.' }, ...says('hello')],
    });
    expect(answer.choices[0]?.message).toMatchObject({
      content: 'Echo: hello',
      reasoning_content: 'Let me see. ',
    });
    expect(api.gateway.turns.size).toBe(0);
  });

  it('aborts the model within a second when the connection drops', async () => {
    let aborted = 0;
    api.gateway.completion = async function* (_request, signal) {
      yield { type: 'text', delta: 'first' };
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      aborted = performance.now();
      yield { type: 'text', delta: 'never read' };
    };
    const gone = new AbortController();
    await api.call('/v1/chat/completions', {
      json: { messages: says('x'), stream: true },
      signal: gone.signal,
    });
    const began = performance.now();
    gone.abort();
    await vi.waitFor(() => expect(aborted).toBeGreaterThan(0));
    expect(aborted - began).toBeLessThan(1_000);
  });
});

describe('an invalid completion request', () => {
  it.each([
    ['n', { messages: says('x'), n: 2 }, 400],
    ['messages', { messages: [] }, 400],
    ['messages.0.role', { messages: [{ role: 'wizard', content: 'x' }] }, 400],
    [
      'messages.0.content.0.image_url',
      { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
      400,
    ],
    ['messages.0.tool_call_id', { messages: [{ role: 'tool', tool_call_id: 'c', content: 'x' }] }, 400],
    ['user', { messages: says('x'), user: '' }, 400],
    ['user', { messages: says('x'), user: 'u'.repeat(MAX_END_USER + 1) }, 400],
    ['user', { messages: says('x'), user: { name: 'Anna' } }, 400],
    ['temperature', { messages: says('x'), temperature: 9 }, 400],
  ])('is refused with the parameter %s', async (param, json, status) => {
    const response = await complete(json);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { param, type: 'invalid_request_error' } });
  });

  it.each([
    ['x-session-id', { messages: says('x') }, 'a:b', 400],
    ['messages.0.role', { messages: [{ role: 'assistant', content: 'x' }] }, 'anna', 400],
    ['model', { messages: says('x'), model: 'no-such' }, 'anna', 404],
  ])('in a session is refused with the parameter %s', async (param, json, id, status) => {
    const response = await complete(json, { 'x-session-id': id });
    expect([response.status, await response.json()]).toMatchObject([status, { error: { param } }]);
  });

  it('is refused for an empty message', async () => {
    const response = await complete({ messages: says('  ') }, { 'x-session-id': 'anna' });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'empty' } }]);
  });
});
