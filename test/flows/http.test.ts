/** HTTP through a whole gateway: streams, repeats, resumption, and who owns which session. */
import OpenAI from 'openai';
import { expect, it, vi } from 'vitest';
import type { AgentEvent } from '../../src/protocol/event.ts';
import { hashSecret } from '../../src/security/token-lookup.ts';
import { allFrames, eventsUntil, type Frame, frames, textOf } from '../channels/http/client.ts';
import { type CallInit, describeGateway, HALF, OWNER, WAIT } from './setup.ts';

const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');
const says = (content: string): { role: 'user'; content: string }[] => [{ role: 'user', content }];

describeGateway('HTTP', {}, (fixture) => {
  const openai = (): OpenAI =>
    new OpenAI({ baseURL: `${fixture().gateway.url}/v1`, apiKey: OWNER, maxRetries: 0 });
  const complete = (id: string, content: string, more: object = {}, init: CallInit = {}): Promise<Response> =>
    fixture().call('/v1/chat/completions', {
      json: { model: 'default', messages: says(content), stream: true, ...more },
      ...init,
      headers: { 'x-session-id': id, ...init.headers },
    });
  const answer = async (id: string): Promise<string> => {
    const messages = await fixture().messages(`http:${id}`);
    return messages.findLast(({ role }) => role === 'assistant')?.content ?? '';
  };
  const withToken = async (name: string, scopes: ('chat' | 'admin')[] = ['chat']): Promise<string> => {
    const secret = `token-of-${name}-1234567890`;
    await fixture().store.access.putToken({ hash: hashSecret(secret), name, scopes });
    return secret;
  };

  it('streams tokens as they arrive and sends [DONE] only when the answer is stored (B-14, B-43)', async () => {
    fixture().ollama.answer({ text: words(60), failure: HALF }, { when: 'stream me' });
    const response = await complete('streamed', 'stream me');
    const read: Frame[] = [];
    let storedAtDone = '';
    for await (const frame of frames(response)) {
      read.push(frame);
      if (frame.data === '[DONE]') storedAtDone = await answer('streamed');
      // The model is silent until its first words have arrived here.
      if (textOf(read).trimEnd().endsWith('word29')) (await fixture().modelCall('stream me')).release();
    }
    expect(textOf(read)).toBe(words(60));
    expect(storedAtDone).toBe(words(60));
    expect(read.at(-1)?.data).toBe('[DONE]');
  });

  it('serves OpenAI’s own client, streamed and whole, with its history and its usage', async () => {
    const client = openai();
    const inSession = { headers: { 'X-Session-Id': 'ada' } };
    const request = {
      model: 'default',
      messages: says('my name is Ada'),
      stream: true as const,
      stream_options: { include_usage: true },
    };
    const stream = await client.chat.completions.create(request, inSession);
    let text = '';
    let used = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      used = chunk.usage?.total_tokens ?? used;
    }
    expect(text).toBe('echo: my name is Ada');
    expect(used).toBeGreaterThan(0);
    const next = { model: 'default', messages: says('and now?') };
    const whole = await client.chat.completions.create(next, inSession);
    expect(whole.choices[0]?.message.content).toBe('echo: and now?');
    expect(whole.usage?.prompt_tokens).toBeGreaterThan(0);
    const { body } = await fixture().modelCall('and now?');
    expect(body.messages.map(({ content }) => content)).toContain('my name is Ada');
  });

  it('answers without a session from the given messages alone, and stores none of them', async () => {
    const messages = [
      ...says('earlier'),
      { role: 'assistant' as const, content: 'yes' },
      ...says('stateless one'),
    ];
    const whole = await openai().chat.completions.create({ model: 'default', messages });
    expect(whole.choices[0]?.message.content).toBe('echo: stateless one');
    const { body } = await fixture().modelCall('stateless one');
    expect(body.messages.map(({ content }) => content)).toEqual(expect.arrayContaining(['earlier', 'yes']));
    expect(await fixture().dump()).not.toContain('stateless one');
  });

  it('resumes an event stream that broke in the middle: the deltas joined are the stored text', async () => {
    fixture().ollama.answer({ text: words(60), perSecond: 40 }, { when: 'resume me' });
    await fixture().post('resumed', 'resume me');
    const cut = new AbortController();
    const events: AgentEvent[] = [];
    const path = '/v1/sessions/http:resumed/events';
    const first = await eventsUntil(await fixture().call(path, { signal: cut.signal }), (event) => {
      return event.type === 'stream_chunk' && event.delta.includes('word20');
    });
    cut.abort();
    events.push(...first.events);
    const headers = { 'last-event-id': first.ids.at(-1) ?? '' };
    const second = await eventsUntil(
      await fixture().call(path, { headers }),
      ({ type }) => type === 'turn_ended',
    );
    events.push(...second.events);
    const deltas = events.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : []));
    expect(deltas.join('')).toBe(words(60));
    expect(await answer('resumed')).toBe(words(60));
    expect(events.at(-1)).toMatchObject({ type: 'turn_ended', reason: 'completed' });
  });

  it('emits an answer while its tokens arrive: a start, chunks that add up, an end with the whole text (B-09)', async () => {
    fixture().ollama.answer({ text: words(60), failure: HALF }, { when: 'watch the tokens' });
    await fixture().post('tokens', 'hello');
    await fixture().idle('http:tokens');
    const response = await fixture().call('/v1/sessions/http:tokens/events');
    const turn = await fixture().post('tokens', 'watch the tokens');
    const call = await fixture().modelCall('watch the tokens');
    const { events } = await eventsUntil(response, (event) => {
      // The model is silent until its first words have arrived here.
      if (event.type === 'stream_chunk' && event.delta.trimEnd().endsWith('word29')) call.release();
      return event.type === 'turn_ended' && event.turnId === turn;
    });
    const streamed = events.filter(({ type, turnId }) => turnId === turn && type.startsWith('stream_'));
    const msgId = streamed.flatMap((event) => ('msgId' in event ? [event.msgId] : []))[0];
    const deltas = streamed.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : []));
    expect(streamed.at(0)).toMatchObject({ type: 'stream_start', msgId });
    expect(streamed.slice(1, -1)).toEqual(
      deltas.map((delta) => expect.objectContaining({ type: 'stream_chunk', msgId, delta })),
    );
    expect(streamed.at(-1)).toMatchObject({ type: 'stream_end', msgId, content: words(60) });
    expect(deltas.join('')).toBe(words(60));
  });

  it('keeps an event stream open across a stop, and shows the next turn on it (N-59)', async () => {
    fixture().ollama.answer({ text: words(2_000), perSecond: 25 }, { when: 'go on for ever' });
    fixture().ollama.answer('Here again.', { when: 'still there?' });
    await fixture().post('unbroken', 'go on for ever');
    const stream = await fixture().call('/v1/sessions/http:unbroken/events');
    const seen: AgentEvent[] = [];
    const reading = eventsUntil(stream, (event) => {
      seen.push(event);
      return event.type === 'turn_ended' && event.reason === 'completed';
    });
    await vi.waitFor(() => expect(seen.some(({ type }) => type === 'stream_chunk')).toBe(true), WAIT);
    await fixture().call('/v1/sessions/http:unbroken/stop', { method: 'POST' });
    await vi.waitFor(
      () => expect(seen.at(-1)).toMatchObject({ type: 'turn_ended', reason: 'stopped' }),
      WAIT,
    );
    await fixture().post('unbroken', 'still there?');
    const { events } = await reading;
    expect(events.filter(({ type }) => type === 'turn_started')).toHaveLength(2);
    expect(await answer('unbroken')).toBe('Here again.');
  });

  it('runs one turn for an Idempotency-Key: repeated at once, while it runs, and after', async () => {
    fixture().ollama.answer({ text: words(20), perSecond: 20 }, { when: 'just once' });
    const init = { headers: { 'idempotency-key': 'k1' } };
    const repeats = [1, 2, 3].map(async () => allFrames(await complete('once', 'just once', {}, init)));
    await fixture().modelCall('just once');
    repeats.push(allFrames(await complete('once', 'just once', {}, init)));
    for (const read of await Promise.all(repeats)) expect(textOf(read)).toBe(words(20));
    const after = await complete('once', 'just once', { stream: false }, init);
    const body: OpenAI.ChatCompletion = await after.json();
    expect(body.choices[0]?.message.content).toBe(words(20));
    expect(body.usage?.completion_tokens).toBe(20);
    const posted = [1, 2].map(() =>
      fixture().call('/v1/sessions/http:once/messages', { json: { content: 'x' }, ...init }),
    );
    const [one, two] = await Promise.all((await Promise.all(posted)).map((answer) => answer.json()));
    expect(one).toEqual(two);
    expect(await fixture().messages('http:once')).toHaveLength(2);
    expect(
      fixture().ollama.calls.filter(({ body: call }) => JSON.stringify(call).includes('just once')),
    ).toHaveLength(1);
  });

  it('continues a turn whose client left, and stops it within a second when asked (N-58, N-60)', async () => {
    fixture().ollama.answer({ text: words(2_000), perSecond: 40 }, { when: 'left alone' });
    const gone = new AbortController();
    const response = await complete('left', 'left alone', {}, { signal: gone.signal });
    for await (const frame of frames(response)) if (frame.data?.includes('word2') === true) break;
    gone.abort();
    const call = await fixture().modelCall('left alone');
    await fixture().post('left', 'queued');
    const asked = performance.now();
    const stopped = await fixture().call('/v1/sessions/http:left/stop', { method: 'POST' });
    expect(await stopped.json()).toEqual({ stopped: true, cancelled: 1 });
    const { by, at } = await call.closed;
    expect(by).toBe('client');
    expect(at - asked).toBeLessThan(1_000);
    await vi.waitFor(async () => expect(await answer('left')).toMatch(/^word0 word1 .*\(stopped\)/s), WAIT);
  });

  it('aborts the model of a call without a session as soon as its client leaves', async () => {
    fixture().ollama.answer({ text: 'never', hold: true }, { when: 'leaving' });
    const gone = new AbortController();
    const json = { model: 'default', messages: says('leaving'), stream: true };
    const response = fixture().call('/v1/chat/completions', { json, signal: gone.signal });
    const call = await fixture().modelCall('leaving');
    const left = performance.now();
    gone.abort();
    await expect(response).rejects.toThrow('aborted');
    const { by, at } = await call.closed;
    expect(by).toBe('client');
    expect(at - left).toBeLessThan(1_000);
  });

  it('shows a session to its creator and to the owner, and to no one else', async () => {
    const [maker, other] = [await withToken('maker'), await withToken('other')];
    const made = await fixture().call('/v1/sessions/http:mine/messages', {
      json: { content: 'secret' },
      token: maker,
    });
    expect(made.status).toBe(202);
    const routes: [string, CallInit][] = [
      ['', {}],
      ['', { method: 'PATCH', json: { mode: 'agentic' } }],
      ['', { method: 'DELETE' }],
      ['/messages', {}],
      ['/messages', { json: { content: 'intruder' } }],
      ['/events', {}],
      ['/stop', { method: 'POST' }],
    ];
    for (const [route, init] of routes) {
      const refused = await fixture().call(`/v1/sessions/http:mine${route}`, { ...init, token: other });
      expect(refused.status, `${init.method ?? ''} ${route}`).toBe(404);
      await refused.body?.cancel();
    }
    const taken = await complete('mine', 'intruder', {}, { token: other });
    expect(taken.status).toBe(404);
    const mine = await fixture().call('/v1/sessions', { token: other });
    expect(await mine.json()).toEqual({ sessions: [] });
    expect((await fixture().call('/v1/sessions/http:mine', { token: maker })).status).toBe(200);
    expect((await fixture().call('/v1/sessions/http:mine')).status).toBe(200);
    expect((await fixture().messages('http:mine')).map(({ content }) => content)).not.toContain('intruder');
  });

  it('reports what is wrong with a call the way OpenAI does', async () => {
    const inSession = (id: string) => ({ headers: { 'x-session-id': id } });
    const cases: [CallInit, RegExp][] = [
      [{ token: 'wrong-token-that-is-long' }, /^401 invalid_api_key$/],
      [{ headers: { authorization: 'Basic b3duZXI6b3duZXI=' } }, /^401 invalid_api_key$/],
      [{ json: { model: 'no-such-model', messages: says('x') }, ...inSession('u1') }, /^404 .*model/],
      [{ json: { model: 'default', messages: [] } }, /^400 ./],
      [{ json: { model: 'default', messages: says(' ') }, ...inSession('u2') }, /^400 ./],
      [{ json: { model: 'default', messages: says('x'), n: 2 } }, /^400 ./],
      [
        { json: { model: 'default', messages: says('x'.repeat(100_001)) }, ...inSession('u3') },
        /^413 too_large$/,
      ],
      [
        { json: { model: 'default', messages: says('x') }, ...inSession('no spaces') },
        /^400 bad_session_id$/,
      ],
      [{ json: { deep: JSON.parse('['.repeat(100) + ']'.repeat(100)) } }, /^400 body_too_deep$/],
      [{ json: { text: 'x'.repeat(16 * 1024 * 1024) } }, /^413 ./],
    ];
    for (const [init, code] of cases) {
      const json = init.json ?? { model: 'default', messages: says('x') };
      const refused = await fixture().call('/v1/chat/completions', { ...init, json });
      const body: { error?: { message?: string; code?: string } } = await refused.json();
      expect(`${refused.status} ${body.error?.code}`).toMatch(code);
      expect(body.error?.message).toMatch(/\w/);
    }
  });

  it('cuts off a revoked token within a second, streams included', async () => {
    const token = await withToken('leaver', ['admin', 'chat']);
    await fixture().post('watched', 'hello');
    const stream = await fixture().call('/v1/sessions/http:watched/events', { token });
    expect(stream.status).toBe(200);
    const [row] = (await fixture().store.access.tokens()).filter(({ name }) => name === 'leaver');
    const revoked = performance.now();
    await fixture().store.access.revokeToken(row?.tokenId ?? '');
    await allFrames(stream).catch(() => []);
    expect(performance.now() - revoked).toBeLessThan(1_000);
    await vi.waitFor(
      async () => expect((await fixture().call('/v1/models', { token })).status).toBe(401),
      WAIT,
    );
    expect(performance.now() - revoked).toBeLessThan(1_500);
  });
});
