/** The routes of notifications: what they read, what they pass on, and how they refuse. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { GatewayError } from '../../../../src/protocol/errors.ts';
import { ADMIN, CHAT } from '../../../fakes/gateway/gateway-api.ts';
import { openApi, type OpenApi } from '../client.ts';

const SUBSCRIPTION = {
  endpoint: 'https://push.example.org/1',
  expirationTime: null,
  keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) },
};

let api: OpenApi;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

const call = (method: string, path: string, body?: unknown, token: string = CHAT): Promise<Response> =>
  fetch(api.url + path, {
    method,
    headers: {
      ...(token !== '' && { authorization: token }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      'user-agent': 'Test browser',
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

let subscribed: unknown[];
beforeEach(() => {
  subscribed = [];
  api.gateway.push = {
    publicKey: async () => 'BKey',
    browsers: async ({ tokenId }) => [{ id: `of ${tokenId}`, client: 'Firefox', createdAt: new Date(0) }],
    subscribe: async ({ tokenId }, subscription, from) => {
      subscribed.push([tokenId, subscription, from]);
      return 'browser-1';
    },
    unsubscribe: async (_caller, id) => id === 'browser-1',
  };
});

it('give the key and the browsers of the token that asks, and of no other', async () => {
  const [mine, theirs] = await Promise.all(
    [CHAT, ADMIN].map(async (token) => await (await call('GET', '/v1/me/push', undefined, token)).json()),
  );
  expect(mine).toMatchObject({ publicKey: 'BKey', browsers: [{ client: 'Firefox' }] });
  expect(mine).not.toEqual(theirs);
  expect((await call('GET', '/v1/me/push', undefined, '')).status).toBe(401);
});

it('pass on what a browser gives, with its name', async () => {
  const response = await call('POST', '/v1/me/push', SUBSCRIPTION);
  expect([response.status, await response.json()]).toEqual([201, { id: 'browser-1' }]);
  const { endpoint, keys } = SUBSCRIPTION;
  expect(subscribed).toEqual([
    [expect.any(String), { endpoint, keys }, { client: 'Test browser', origin: undefined }],
  ]);
});

it.each([
  ['no keys', { endpoint: SUBSCRIPTION.endpoint }],
  ['a key that is not base64url', { ...SUBSCRIPTION, keys: { ...SUBSCRIPTION.keys, auth: '<>' } }],
  ['a key that is too long', { ...SUBSCRIPTION, keys: { ...SUBSCRIPTION.keys, auth: 'A'.repeat(101) } }],
  ['a long endpoint', { ...SUBSCRIPTION, endpoint: `https://x.org/${'x'.repeat(1_024)}` }],
])('refuse %s with 400', async (_, body) => {
  expect((await call('POST', '/v1/me/push', body)).status).toBe(400);
  expect(subscribed).toEqual([]);
});

it.each([
  ['bad_subscription', 400],
  ['too_many_subscriptions', 409],
])('answer %s with %i and its sentence', async (code, status) => {
  api.gateway.push.subscribe = () => Promise.reject(new GatewayError(code, 'A sentence.'));
  const response = await call('POST', '/v1/me/push', SUBSCRIPTION);
  expect([response.status, await response.json()]).toMatchObject([
    status,
    { error: { code, message: 'A sentence.' } },
  ]);
});

it('remove a browser, and answer 404 for one that is not there', async () => {
  expect((await call('DELETE', '/v1/me/push/browser-1')).status).toBe(200);
  expect((await call('DELETE', '/v1/me/push/another')).status).toBe(404);
});
