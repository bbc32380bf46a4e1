/** The HTTP channel: the channel contract, and how it starts and stops. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { chosenLanguages } from '../../fakes/gateway/languages.ts';
import { create } from '../../../channels/http/index.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';
import { channelContract } from '../../contracts/channel.ts';
import { ADMIN, CHAT, FakeGateway } from '../../fakes/gateway/gateway-api.ts';
import { eventsUntil, HTTP_CONFIG, openApi, type OpenApi } from './client.ts';

const NOTHING_IS_SENT = 'clients read the stored message, nothing is sent to them';

channelContract(
  'http',
  () => {
    const gateway = new FakeGateway();
    const channel = create(HTTP_CONFIG, {
      log: pino({ level: 'silent' }),
      gateway,
      languages: chosenLanguages(),
    });
    const chats = ['first-chat', 'second-chat'].map((chatId) => ({ chatId, senderId: 'token:admin' }));
    let last: { chatId: string; text: string; key: string } | undefined;
    let queue: Promise<unknown> = Promise.resolve();
    let sent = 0;
    let accepted = 0;
    const post = (message: { chatId: string; text: string; key: string }): void => {
      sent += 1;
      queue = queue.then(async () => {
        const response = await fetch(`${channel.url}/v1/sessions/http:${message.chatId}/messages`, {
          method: 'POST',
          headers: {
            authorization: ADMIN,
            'content-type': 'application/json',
            'idempotency-key': message.key,
          },
          body: JSON.stringify({ content: message.text }),
        });
        if (response.status === 202) accepted += 1;
      });
    };
    return Promise.resolve({
      channel,
      chats: [chats[0]!, chats[1]!],
      secret: ADMIN,
      says: ({ chatId }, text) => post((last = { chatId, text, key: `key-${sent}` })),
      types: ({ chatId }, text) => post({ chatId, text, key: `key-${sent}` }),
      redelivers: () => {
        if (last !== undefined) post(last);
      },
      acknowledged: () => accepted === sent,
      screen: () => [],
      reads: (text) => ({ visible: text, length: text.length }),
      receiving: () => gateway.events.listeners.size,
      close: async () => {
        await queue;
      },
    });
  },
  {
    sends: NOTHING_IS_SENT,
    echoes: 'messages of the gateway never come in over HTTP',
    deletes: 'messages over HTTP cannot be deleted, only dropped while they wait',
    group: 'sessions over HTTP belong to one token and have no groups',
    sendsFile: 'files over HTTP lie in the folder of their session before they are received',
    rateLimits: NOTHING_IS_SENT,
    blocks: NOTHING_IS_SENT,
    losesAnswer: NOTHING_IS_SENT,
    fails: NOTHING_IS_SENT,
    refusesToken: NOTHING_IS_SENT,
    nonce: NOTHING_IS_SENT,
  },
);

describe('the HTTP channel', () => {
  let api: OpenApi | undefined;
  afterEach(async () => {
    await api?.close();
    api = undefined;
  });

  it('names PORT when the port is in use', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const failure: unknown = await openApi({ port }).catch((error: unknown) => error);
    other.close();
    expect(failure).toBeInstanceOf(ChannelError);
    expect(failure).toMatchObject({ code: 'conflict', message: expect.stringMatching(/PORT/) });
  });

  it('names HOST when the address does not belong to this machine', async () => {
    const failure: unknown = await openApi({ host: '203.0.113.9' }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'rejected', message: expect.stringMatching(/HOST/) });
  });

  it('rejects send(): the stored message is the delivery', async () => {
    api = await openApi();
    const part = { channel: 'http', chatId: 'a', body: api.channel.render({ type: 'root', children: [] }) };
    await expect(api.channel.send({ ...part, buttons: [], nonce: 'n' })).rejects.toMatchObject({
      code: 'rejected',
      retryable: false,
    });
  });

  it('closes open streams and sockets within a second', async () => {
    api = await openApi();
    api.gateway.addSession('http:a');
    const response = await api.call('/v1/sessions/http:a/events');
    const reading = eventsUntil(response, () => false).then(
      () => 'ended',
      () => 'broken',
    );
    const began = performance.now();
    await api.close();
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(['ended', 'broken']).toContain(await reading);
    expect(api.gateway.events.listeners.size).toBe(0);
  });

  it('reports its health without a token, with the channels that are degraded', async () => {
    api = await openApi();
    api.gateway.report.channels['telegram'] = {
      state: 'degraded',
      detail: 'The token was refused.',
      label: 'Telegram',
    };
    const alive = await fetch(`${api.url}/healthz`);
    expect([alive.status, await alive.json()]).toEqual([200, { status: 'ok' }]);
    const ready = await fetch(`${api.url}/readyz`);
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({ channels: { telegram: { state: 'degraded' } } });
  });

  it('shows reasons, addresses, counts and the version to admins only', async () => {
    api = await openApi();
    api.gateway.report.model = { state: 'down', detail: 'Start it at http://10.0.0.7:11434.' };
    api.gateway.report.channels['telegram'] = { state: 'dead', detail: 'HTTPS_PROXY', label: 'Telegram' };
    api.gateway.report.profiles = { state: 'degraded', detail: 'An error' };
    api.gateway.report.settings = { state: 'degraded', errors: ['config.json:1:2: no'], needsRestart: [] };
    const states = {
      ready: true,
      store: 'up',
      events: { state: 'up' },
      model: { state: 'down' },
      channels: { http: { state: 'up', label: 'Web' }, telegram: { state: 'dead', label: 'Telegram' } },
      profiles: { state: 'degraded' },
      settings: { state: 'degraded' },
      demo: false,
    };
    expect(await (await fetch(`${api.url}/readyz`)).json()).toEqual(states);
    const asChat = await api.call('/readyz', { headers: { authorization: CHAT } });
    expect(await asChat.json()).toEqual(states);
    expect(await (await api.call('/readyz')).json()).toEqual(api.gateway.report);
    expect((await api.call('/readyz', { headers: { authorization: 'Bearer wrong' } })).status).toBe(401);
  });

  it('answers 503 on every /v1 route until the gateway is ready', async () => {
    api = await openApi();
    api.gateway.report.ready = false;
    expect((await fetch(`${api.url}/readyz`)).status).toBe(503);
    for (const path of ['/v1/models', '/v1/sessions', '/v1/nothing']) {
      const response = await api.call(path);
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({ error: { code: 'not_ready' } });
    }
    api.gateway.report.ready = true;
    expect((await api.call('/v1/models')).status).toBe(200);
  });

  it('returns metrics to owners only', async () => {
    api = await openApi();
    const response = await api.call('/metrics');
    expect(response.headers.get('content-type')).toContain('version=0.0.4');
    expect(await response.text()).toContain('parley_turns_total 3');
    const friend = await api.call('/metrics', {
      headers: { authorization: 'Bearer chat-token-of-a-friend' },
    });
    expect(friend.status).toBe(403);
  });
});
