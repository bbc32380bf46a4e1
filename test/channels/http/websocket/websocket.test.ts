/** The WebSocket route: who gets in, what may be sent, what is received, and what happens to those who misbehave. */
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { MAX_BODY_BYTES, MAX_SUBSCRIPTIONS, MAX_WAITING_FRAMES } from '../../../../channels/http/config.ts';
import { FakeClock } from '../../../fakes/clock.ts';
import { ADMIN, CHAT, OTHER } from '../../../fakes/gateway/gateway-api.ts';
import type { FakeTurn } from '../../../fakes/gateway/turn.ts';
import { openApi, type OpenApi } from '../client.ts';
import { SocketClient } from './client.ts';

let api: OpenApi;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

function connectTo(headers: Record<string, string> = {}): SocketClient {
  const client = new SocketClient(api.url, headers);
  onTestFinished(() => client.close());
  return client;
}

const as = (authorization: string): Promise<SocketClient> => connectTo({ authorization }).opened();
const tokenOf = (authorization: string): string => authorization.slice('Bearer '.length);

/** A turn of `http:anna` that a test drives. */
async function driven(client: SocketClient): Promise<FakeTurn> {
  const { promise, resolve } = Promise.withResolvers<FakeTurn>();
  api.gateway.script = resolve;
  client.send({ type: 'message', session: 'http:anna', content: 'go', ref: 'go' });
  return await promise;
}

describe('a WebSocket gets in', () => {
  it('with a token in its headers, or in a first frame that others follow immediately (N-59)', async () => {
    const named = await as(CHAT);
    expect(await named.frame(({ type }) => type === 'ready')).toEqual({
      type: 'ready',
      scopes: ['chat', 'approve', 'commands'],
    });
    const late = await connectTo().opened();
    late.send({ type: 'auth', token: tokenOf(ADMIN) });
    late.send({ type: 'ping', ref: 1 });
    late.send({ type: 'ping', ref: 2 });
    expect(await late.answer(2)).toEqual({ type: 'ok', ref: 2 });
    expect(late.frames.map(({ type }) => type)).toEqual(['ready', 'ok', 'ok']);
  });

  it('not with a wrong token, another first frame, or from a page of another origin', async () => {
    await expect(as('Bearer wrong')).rejects.toThrow('refused with 401');
    await expect(connectTo({ authorization: CHAT, origin: 'https://evil.example' }).opened()).rejects.toThrow(
      'refused with 403',
    );
    for (const first of ['{"type":"ping"}', '{"type":"auth","token":"wrong"}', 'hello', '[]']) {
      const client = await connectTo().opened();
      client.webSocket.send(first);
      expect(await client.closed).toEqual({ code: 4401, reason: 'invalid_api_key' });
      expect(client.frames).toMatchObject([{ type: 'error', error: { code: 'invalid_api_key' } }]);
    }
  });

  it('only with a token that arrives within five seconds; a later one is too late', async () => {
    const clock = new FakeClock();
    const slow = await openApi({}, clock);
    onTestFinished(() => slow.close());
    const [client, prompt] = [new SocketClient(slow.url), new SocketClient(slow.url)];
    await Promise.all([client.opened(), prompt.opened()]);
    await vi.waitFor(() => expect(clock.waiting).toBe(2));
    await clock.advance(4_999);
    expect(client.frames).toEqual([]);
    prompt.send({ type: 'auth', token: tokenOf(ADMIN) });
    expect((await prompt.frame(() => true)).type).toBe('ready');
    await clock.advance(1);
    expect(await client.closed).toEqual({ code: 4401, reason: 'auth_timeout' });
    expect(client.frames).toMatchObject([
      { type: 'error', error: { code: 'auth_timeout', message: expect.stringContaining('5 seconds') } },
    ]);
    expect(clock.waiting).toBe(0);
  });

  it('only at its route: a plain request there is 426, another protocol continues as HTTP', async () => {
    const plain = await api.call('/v1/ws');
    expect([plain.status, plain.headers.get('upgrade')]).toEqual([426, 'websocket']);
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    socket.write(
      `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`,
    );
    let heard = '';
    for await (const chunk of socket) heard += String(chunk);
    expect(heard).toMatch(/^HTTP\/1\.1 200/);
  });
});

describe('over a WebSocket', () => {
  it('messages are sent, answers streamed and turns stopped', async () => {
    const client = await as(CHAT);
    const turn = await driven(client);
    expect(await client.answer('go')).toMatchObject({ type: 'ok', turnId: turn.id, seq: 1 });
    client.send({ type: 'subscribe', session: 'http:anna', ref: 'sub', lastEventId: '0-0' });
    expect(await client.answer('sub')).toEqual({ type: 'ok', ref: 'sub', session: 'http:anna' });
    turn.say('Hel', 'lo');
    await client.frame(({ event }) => event?.delta === 'lo');
    const [first] = client.frames.filter(({ type }) => type === 'event');
    expect(first).toMatchObject({ id: '1-1', event: { type: 'turn_started', sessionKey: 'http:anna' } });
    client.send({ type: 'stop', session: 'http:anna', ref: 'stop' });
    expect(await client.answer('stop')).toMatchObject({ type: 'ok', stopped: true });
  });

  it('a repeated key is the same message, and another one under it is refused', async () => {
    const client = await as(CHAT);
    const say = (content: string, ref: string): void =>
      client.send({ type: 'message', session: 'http:anna', content, key: 'once', ref });
    say('hello', 'a');
    say('hello', 'b');
    say('good-bye', 'c');
    const [first, again] = [await client.answer('a'), await client.answer('b')];
    expect(again).toMatchObject({ turnId: first['turnId'] });
    expect(await client.answer('c')).toMatchObject({ error: { code: 'idempotency_key_reused' } });
  });

  it('what is not understood or not allowed is answered with an error, and the socket stays open', async () => {
    const client = await as(CHAT);
    await driven(client);
    const stranger = await as(OTHER);
    const tries: [frame: object | string, code: string][] = [
      ['{', 'invalid_json'],
      [{ type: 'dance', ref: 1 }, 'invalid_body'],
      [{ type: 'message', session: 'telegram:1', content: 'x', ref: 2 }, 'not_an_http_session'],
      [{ type: 'subscribe', session: 'http:anna', ref: 3 }, 'session_not_found'],
      [{ type: 'stop', session: 'http:anna', ref: 4 }, 'session_not_found'],
      [{ type: 'resume', session: 'http:anna', lastEventId: 'x', ref: 5 }, 'invalid_body'],
      [{ type: 'approve', id: 'none', decision: 'approved', ref: 6 }, 'approval_not_found'],
      [{ type: 'message', session: 'http:mine', content: 'x', more: 1, ref: 7 }, 'invalid_body'],
      [{ type: 'approve', id: 'none', decision: 'approved', reason: 'because', ref: 8 }, 'invalid_body'],
    ];
    for (const [frame] of tries)
      stranger.webSocket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
    stranger.send({ type: 'ping', ref: 'alive' });
    await stranger.answer('alive');
    const told = stranger.frames.filter(({ type }) => type === 'error');
    expect(told.map(({ error }) => error?.code)).toEqual(tries.map(([, code]) => code));
    expect(told.map(({ ref }) => ref)).toEqual([undefined, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('one socket receives events of all sessions that its token may see, without their texts (B-38)', async () => {
    const [friend, stranger, admin] = [await as(CHAT), await as(OTHER), await as(ADMIN)];
    for (const client of [friend, stranger, admin]) client.send({ type: 'subscribe_all', ref: 'all' });
    for (const client of [friend, stranger, admin]) await client.answer('all');
    const turn = await driven(friend);
    turn.say('secret');
    turn.end();
    for (const client of [friend, admin]) {
      await client.frame(({ type, event }) => type === 'activity' && event?.type === 'turn_ended');
      expect(JSON.stringify(client.frames)).not.toContain('secret');
    }
    stranger.send({ type: 'ping', ref: 'late' });
    await stranger.answer('late');
    expect(stranger.frames.filter(({ type }) => type === 'activity')).toEqual([]);
  });

  it('a socket whose token is revoked is closed within a second', async () => {
    const client = await as(CHAT);
    await client.frame(({ type }) => type === 'ready');
    api.gateway.tokens.delete(CHAT);
    expect((await client.closed).code).toBe(1006);
  });
});

describe('a WebSocket that misbehaves', () => {
  it('is closed for binary frames and for frames larger than a body', async () => {
    const binary = await as(CHAT);
    binary.webSocket.send(Buffer.from([1, 2, 3]));
    expect(await binary.closed).toEqual({ code: 1003, reason: 'text_frames_only' });
    const large = await as(CHAT);
    large.webSocket.send(' '.repeat(MAX_BODY_BYTES + 1));
    expect((await large.closed).code).toBe(1009);
  });

  it(`follows at most ${MAX_SUBSCRIPTIONS} sessions, and gets an error for the next one`, async () => {
    const client = await as(CHAT);
    api.gateway.script = (turn) => turn.end();
    for (let n = 0; n <= MAX_SUBSCRIPTIONS; n += 1) {
      client.send({ type: 'message', session: `http:s${n}`, content: 'x', ref: `m${n}` });
      await client.answer(`m${n}`);
      client.send({ type: 'subscribe', session: `http:s${n}`, ref: n });
      await client.answer(n);
    }
    expect((await client.answer(MAX_SUBSCRIPTIONS - 1)).type).toBe('ok');
    expect(await client.answer(MAX_SUBSCRIPTIONS)).toMatchObject({
      error: { code: 'too_many_subscriptions' },
    });
    client.send({ type: 'unsubscribe', session: 'http:s0', ref: 'less' });
    client.send({ type: 'subscribe', session: `http:s${MAX_SUBSCRIPTIONS}`, ref: 'again' });
    expect((await client.answer('again')).type).toBe('ok');
  });

  it('may send ahead what one packet holds, up to a limit', async () => {
    const client = await as(CHAT);
    await client.frame(({ type }) => type === 'ready');
    for (let n = 0; n < MAX_WAITING_FRAMES; n += 1) client.send({ type: 'ping', ref: n });
    expect((await client.answer(MAX_WAITING_FRAMES - 1)).type).toBe('ok');
  });

  it('is closed when it does not read, with the positions from which it can continue', async () => {
    const client = await as(CHAT);
    const turn = await driven(client);
    client.send({ type: 'subscribe', session: 'http:anna', ref: 'sub' });
    await client.answer('sub');
    client.webSocket.pause();
    // More than the buffers of two sockets and the backlog hold.
    for (let n = 0; n < 500; n += 1) {
      turn.say('x'.repeat(16 * 1024));
      await new Promise(setImmediate);
    }
    client.webSocket.resume();
    const told = await client.frame(({ type }) => type === 'fallen_behind');
    const events = client.frames.filter(({ type }) => type === 'event');
    expect(told.resume).toEqual({ 'http:anna': events.at(-1)?.id });
    expect(await client.closed).toEqual({ code: 1013, reason: 'fallen_behind' });
  });
});
