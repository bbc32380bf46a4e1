/** Sessions over HTTP: posting messages, reading them, and following events across reconnects without loss or repeat. */
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import type { FakeTurn } from '../../fakes/gateway/turn.ts';
import { ADMIN, CHAT, OTHER } from '../../fakes/gateway/gateway-api.ts';
import { eventsUntil, frames, openApi, type OpenApi } from './client.ts';

let api: OpenApi;
let turn: FakeTurn;
let started: Promise<void>;

beforeEach(async () => {
  api = await openApi();
  const { promise, resolve } = Promise.withResolvers<void>();
  started = promise;
  api.gateway.script = (begun) => {
    turn = begun;
    resolve();
  };
});
afterEach(() => api.close());

const post = (content: string, headers: Record<string, string> = {}): Promise<Response> =>
  api.call('/v1/sessions/http:anna/messages', { json: { content }, headers });
const follow = (headers: Record<string, string> = {}): Promise<Response> =>
  api.call('/v1/sessions/http:anna/events', { headers });
const ended = (event: AgentEvent): boolean => event.type === 'turn_ended';

describe("a session's events", () => {
  it('come in order with ids, tool calls paired with results, and thinking before text (B-42, B-43, N-53)', async () => {
    await post('go');
    await started;
    const response = await follow();
    turn.think('hm');
    const call = turn.tool('list_dir', { path: '.' });
    turn.result(call, 'list_dir', 'a.txt');
    turn.say('found ', 'it');
    turn.end();
    const { ids, events } = await eventsUntil(response, ended);
    expect(events.map((event) => event.type)).toEqual([
      'turn_started',
      'thinking_started',
      'thinking_delta',
      'thinking_finished',
      'tool_call',
      'tool_result',
      'stream_start',
      'stream_chunk',
      'stream_chunk',
      'stream_end',
      'turn_ended',
    ]);
    expect(ids).toEqual(
      events.map(({ type, turnId }, at) => `1-${at + 1}${type === 'turn_ended' ? `-${turnId}` : ''}`),
    );
  });

  it('reach two readers identically, and only callers with access (B-38)', async () => {
    await post('go');
    await started;
    const readers = await Promise.all([follow(), follow()]);
    expect((await follow({ authorization: OTHER })).status).toBe(404);
    turn.say('a', 'b');
    turn.end();
    const [one, two] = await Promise.all(readers.map((reader) => eventsUntil(reader, ended)));
    expect(one).toEqual(two);
  });

  it('resume after a reconnect without loss or repeat', async () => {
    await post('go');
    await started;
    let text = '';
    let lastId: string | undefined;
    const words = Array.from({ length: 30 }, (_, index) => `w${index} `);
    for (let connection = 0; text.split(' ').length <= words.length; connection += 1) {
      const response = await follow(lastId === undefined ? {} : { 'last-event-id': lastId });
      turn.say(...words.slice(connection * 3, connection * 3 + 3));
      const goal = Math.min(words.length, connection * 3 + 2);
      for await (const frame of frames(response)) {
        if (frame.data === undefined) continue;
        const event: AgentEvent = JSON.parse(frame.data);
        lastId = frame.id;
        if (event.type === 'stream_chunk') text += event.delta;
        if (text.trim().split(' ').length >= goal) break;
      }
    }
    expect(text).toBe(words.join(''));
  });

  it('include a snapshot with the number of the last event it covers, and repeat nothing else', async () => {
    await post('go');
    await started;
    const response = await follow();
    turn.say('a');
    turn.snapshot();
    api.gateway.events.repeatLast('http:anna');
    turn.end();
    const { ids, events } = await eventsUntil(response, ended);
    expect(events.map((event) => event.type)).toEqual([
      'turn_started',
      'stream_start',
      'stream_chunk',
      'snapshot',
      'stream_end',
      'turn_ended',
    ]);
    expect(ids).toEqual(['1-1', '1-2', '1-3', '1-3', '1-4', `1-5-${events.at(-1)?.turnId}`]);
  });

  it('end within a second when the token is revoked', async () => {
    await post('go', { authorization: CHAT });
    const response = await follow({ authorization: CHAT });
    const broken = eventsUntil(response, () => false).then(
      () => 'ended',
      () => 'broken',
    );
    const began = performance.now();
    api.gateway.tokens.delete(CHAT);
    expect(await broken).toBe('broken');
    expect(performance.now() - began).toBeLessThan(1_200);
  });

  it('do not accumulate for a reader that reads nothing: it is disconnected at the limit', async () => {
    await post('go');
    await started;
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `GET /v1/sessions/http:anna/events HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: ${ADMIN}\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    const closed = vi.waitFor(() => expect(api.gateway.events.listeners.size).toBe(0), { timeout: 20_000 });
    const chunk = 'x'.repeat(32 * 1024);
    let sent = 0;
    while (api.gateway.events.listeners.size > 0 && sent < 1_000) {
      turn.say(chunk);
      sent += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await closed;
    socket.destroy();
    expect(sent).toBeLessThan(1_000);
  });
});

describe('a posted message', () => {
  it('is answered with 202 once committed, and a repeated key with the same answer', async () => {
    const first = await post('go', { 'idempotency-key': 'k' });
    const again = await post('go', { 'idempotency-key': 'k' });
    expect([first.status, again.status]).toEqual([202, 202]);
    const answer = await first.json();
    expect(answer).toEqual({ turnId: 'turn-1', seq: 1, lastEventId: '0-0' });
    expect(await again.json()).toEqual(answer);
  });

  it('carries a model for its turn', async () => {
    await api.call('/v1/sessions/http:anna/messages', { json: { content: 'see', model: 'tiny:1b' } });
    await started;
    expect(turn.options.model).toBe('tiny:1b');
  });

  it('is cleaned of lone surrogates and NUL bytes', async () => {
    await post('a\ud800b\0c');
    await started;
    expect(turn.message.content).toBe('a\ufffdb\u2400c');
  });

  it('that is a command is handled immediately', async () => {
    const response = await post('/status');
    const body = { handled: true, reply: '**All** is well.\n- `idle`', session: false };
    expect([response.status, await response.json()]).toEqual([200, body]);
  });

  it.each([
    ['telegram:42', 'not_an_http_session'],
    ['http:a:b', 'bad_session_id'],
    ['http:..%2Fetc', 'bad_session_id'],
    ['http:a%00b', 'bad_session_id'],
    [`http:${'x'.repeat(65)}`, 'bad_session_id'],
    ['anna', 'not_an_http_session'],
  ])('is refused for the session %s', async (key, code) => {
    const response = await api.call(`/v1/sessions/${key}/messages`, { json: { content: 'x' } });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code } }]);
  });

  it('is not acknowledged while the store cannot be reached', async () => {
    api.gateway.storeDown = true;
    const response = await post('x');
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  });
});

describe('sessions', () => {
  it('are listed newest first to the token they belong to; the owner sees every channel', async () => {
    await post('mine', { authorization: CHAT });
    api.gateway.commit('telegram:42', 't', 'user', 'hi', false);
    const list = async (authorization: string) =>
      (await (await api.call('/v1/sessions', { headers: { authorization } })).json()).sessions.map(
        (session: { key: string }) => session.key,
      );
    expect(await list(ADMIN)).toEqual(['telegram:42', 'http:anna']);
    expect(await list(CHAT)).toEqual(['http:anna']);
    expect(await list(OTHER)).toEqual([]);
  });

  it('do not reveal their token', async () => {
    await post('mine');
    const session = await (await api.call('/v1/sessions/http:anna')).json();
    expect(session).toMatchObject({ key: 'http:anna', profileId: 'default', model: null, messageCount: 1 });
    expect(session).not.toHaveProperty('ownerTokenId');
  });

  it('list the newest messages in ascending order, at most 200, and page backwards', async () => {
    for (let i = 1; i <= 205; i += 1) api.gateway.commit('http:anna', `t${i}`, 'user', `m${i}`, false);
    const seqs = async (query: string) =>
      (await (await api.call(`/v1/sessions/http:anna/messages${query}`)).json()).messages.map(
        (row: { seq: number }) => row.seq,
      );
    expect(await seqs('?limit=2')).toEqual([204, 205]);
    expect(await seqs('?limit=2&before=3')).toEqual([1, 2]);
    expect(await seqs('?limit=9999')).toHaveLength(200);
    for (const query of ['?limit=0', '?limit=abc', '?before=-1']) {
      expect((await api.call(`/v1/sessions/http:anna/messages${query}`)).status).toBe(400);
    }
  });

  it('are changed by owners, with an error that names an invalid change', async () => {
    await post('mine', { authorization: CHAT });
    const patch = (json: unknown, authorization = ADMIN) =>
      api.call('/v1/sessions/http:anna', { method: 'PATCH', json, headers: { authorization } });
    expect(await (await patch({ model: 'tiny:1b' })).json()).toMatchObject({ model: 'tiny:1b' });
    expect(await (await patch({ model: null })).json()).toMatchObject({ model: null });
    expect((await patch({ model: 'tiny:1b' }, CHAT)).status).toBe(403);
    expect(await (await patch({ model: 'gone' })).json()).toMatchObject({
      error: { code: 'model_not_found' },
    });
    expect((await patch({ colour: 'red' })).status).toBe(400);
  });

  it('can be stopped without a body, and deleted', async () => {
    await post('one');
    await post('two');
    const stop = await api.call('/v1/sessions/http:anna/stop', { method: 'POST' });
    expect([stop.status, await stop.json()]).toEqual([200, { stopped: true, cancelled: 1 }]);
    const remove = { method: 'DELETE' };
    expect(await (await api.call('/v1/sessions/http:anna', remove)).json()).toEqual({
      key: 'http:anna',
      deleted: true,
    });
    for (const [method, path] of [
      ['DELETE', ''],
      ['GET', ''],
      ['GET', '/messages'],
      ['GET', '/events'],
      ['POST', '/stop'],
    ] as const) {
      const response = await api.call(`/v1/sessions/http:anna${path}`, { method });
      expect([response.status, await response.json()]).toMatchObject([
        404,
        { error: { code: 'session_not_found' } },
      ]);
    }
  });
});
