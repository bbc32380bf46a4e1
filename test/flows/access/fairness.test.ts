/**
 * Limits of one address and one token through a whole gateway: a client that takes too much is notified, the others do
 * not notice.
 */
import type { Socket } from 'node:net';
import { expect, it, vi } from 'vitest';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { openSocket, rawRequest } from '../../channels/http/raw-http.ts';
import { type CallInit, describeGateway, type GatewayFixture, OWNER, WAIT } from '../setup.ts';

const limits = {
  socketsPerAddress: 40,
  streamsPerToken: 3,
  turnsPerToken: 2,
  sessionsPerToken: 4,
  messagesPerMinute: 60,
};

async function withToken(fixture: GatewayFixture, name: string): Promise<string> {
  const secret = `parley_fairness-${name}-0123456789abcdef`;
  await fixture.store.access.putToken({ hash: hashSecret(secret), name, scopes: ['chat', 'commands'] });
  return secret;
}

/** Status, code and `Retry-After` of an answer. */
async function refusal(response: Response): Promise<unknown> {
  const { error } = await response.json();
  expect(error.message).toMatch(/^[A-Z].{20,}\.$/);
  return [response.status, error.code, Number(response.headers.get('retry-after')) >= 1];
}

describeGateway('the limits of one token', { file: { channels: { http: { limits } } } }, (fixture) => {
  const post = (token: string, id: string, content: string): Promise<Response> =>
    fixture().call(`/v1/sessions/http:${id}/messages`, { token, json: { content } });

  it('bound its open streams, while an admin still gets one', async () => {
    const token = await withToken(fixture(), 'streams');
    await post(token, 'streamed', 'hi');
    const cut = new AbortController();
    const open = (init: CallInit): Promise<Response> =>
      fixture().call('/v1/sessions/http:streamed/events', { ...init, signal: cut.signal });
    const streams = await Promise.all([1, 2, 3].map(() => open({ token })));
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await refusal(await open({ token }))).toEqual([429, 'too_many_streams', true]);
    const completion = { json: { messages: [{ role: 'user', content: 'hi' }], stream: true } };
    expect(await refusal(await fixture().call('/v1/chat/completions', { token, ...completion }))).toEqual([
      429,
      'too_many_streams',
      true,
    ]);
    for (let n = 0; n < 5; n += 1) expect((await open({ token: OWNER })).status).toBe(200);
    cut.abort();
    await vi.waitFor(async () => {
      const again = new AbortController();
      const response = await fixture().call('/v1/sessions/http:streamed/events', {
        token,
        signal: again.signal,
      });
      again.abort();
      expect(response.status).toBe(200);
    }, WAIT);
  });

  it('bound its running turns, even if started at once, until one has ended; an admin gets a turn', async () => {
    const token = await withToken(fixture(), 'turns');
    fixture().ollama.answer({ hold: true }, { when: 'hold the first' });
    fixture().ollama.answer({ hold: true }, { when: 'hold the second' });
    const both = await Promise.all([
      post(token, 'busy-1', 'hold the first'),
      post(token, 'busy-2', 'hold the second'),
    ]);
    expect(both.map(({ status }) => status)).toEqual([202, 202]);
    const calls = [await fixture().modelCall('hold the first'), await fixture().modelCall('hold the second')];
    const more = await Promise.all(
      Array.from({ length: 10 }, (_, n) => post(token, `busy-${n + 3}`, 'one more')),
    );
    for (const response of more) expect(await refusal(response)).toEqual([429, 'too_many_turns', true]);
    const stateless = { messages: [{ role: 'user', content: 'hi' }] };
    const completion = await fixture().call('/v1/chat/completions', { token, json: stateless });
    expect(await refusal(completion)).toEqual([429, 'too_many_turns', true]);
    // A further message of a running session waits behind it, and an admin is not affected.
    expect((await post(token, 'busy-1', 'behind the first')).status).toBe(202);
    expect((await fixture().call('/v1/chat/completions', { json: stateless })).status).toBe(200);
    for (const call of calls) call.release();
    await fixture().idle('http:busy-1');
    await fixture().idle('http:busy-2');
    await vi.waitFor(async () => expect((await post(token, 'busy-3', 'now')).status).toBe(202), WAIT);
    await fixture().idle('http:busy-3');
  });

  it('bound the sessions it owns, even if created at once; a deleted one makes room', async () => {
    const token = await withToken(fixture(), 'sessions');
    const make = async (id: string): Promise<number> => {
      const { status } = await post(token, id, 'hi');
      await fixture().idle(`http:${id}`);
      return status;
    };
    for (const id of ['own-1', 'own-2', 'own-3']) expect(await make(id)).toBe(202);
    const raced = await Promise.all(['own-4', 'own-5'].map((id) => post(token, id, 'hi')));
    const [one, ...refused] = raced.toSorted((a, b) => a.status - b.status);
    expect(one?.status).toBe(202);
    for (const response of refused) expect(await refusal(response)).toEqual([429, 'too_many_sessions', true]);
    expect(await make('own-1')).toBe(202);
    expect((await fixture().call('/v1/sessions/http:own-2', { token, method: 'DELETE' })).status).toBe(200);
    expect(await make('own-6')).toBe(202);
  });

  it('bound its messages per minute, but never /stop, and never those of an admin', async () => {
    const token = await withToken(fixture(), 'minute');
    // All at once: on a slow machine a minute's messages would refill while they are sent one by one.
    const answers = await Promise.all(Array.from({ length: 200 }, () => post(token, 'chatty', '/status')));
    const taken = answers.filter((response) => response.status === 200).length;
    expect(taken).toBeGreaterThanOrEqual(60);
    expect(taken).toBeLessThan(120);
    const refused = answers.filter((response) => response.status !== 200);
    for (const response of refused) expect(await refusal(response)).toEqual([429, 'rate_limited', true]);
    expect((await post(token, 'chatty', ' /stop ')).status).toBe(200);
    for (let n = 0; n < 70; n += 1) expect((await post(OWNER, 'chatty-boss', '/status')).status).toBe(200);
  });
});

describeGateway('the connections of one address', { file: { channels: { http: { limits } } } }, (fixture) => {
  it('without a token are limited: the oldest idle ones close, and the next client is answered', async () => {
    const { url } = fixture().gateway;
    const sockets: Socket[] = [];
    const answers: number[] = [];
    for (let n = 0; n < 120; n += 1) {
      const socket = await openSocket(url);
      socket.on('error', () => undefined).resume();
      sockets.push(socket);
      if (n % 30 === 0) answers.push((await fixture().call('/metrics')).status);
    }
    expect(answers).toEqual([200, 200, 200, 200]);
    const health = ['GET /healthz HTTP/1.1', `Host: ${new URL(url).host}`];
    await vi.waitFor(async () => {
      expect((await rawRequest(url, health)).status).toBe(200);
      const open = sockets.filter((socket) => !socket.closed);
      expect(open.length).toBeLessThanOrEqual(limits.socketsPerAddress);
      expect(open).toContain(sockets.at(-1));
    }, WAIT);
    for (const socket of sockets) socket.destroy();
  });
});
