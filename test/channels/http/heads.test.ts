/** HEAD wherever GET is answered, and the methods that a refusal names. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { API } from '../../../channels/http/app.ts';
import { openApi, type OpenApi } from './client.ts';

let api: OpenApi;

beforeEach(async () => {
  api = await openApi();
  api.gateway.addSession('http:a');
});
afterEach(() => api.close());

/** Paths of the table of routes, as they are called. */
const called = (path: string): string =>
  path.replace(':key', 'http:a').replaceAll(/:\w+/g, 'x').replace('*', 'x');
const PATHS = [...new Set(API.map(({ path }) => path))];
const READABLE = new Set(API.flatMap(({ method, path }) => (method === 'GET' ? [path] : [])));
// To GET, it is a session of that name.
READABLE.add('/v1/sessions/delete');

it.each(PATHS.filter((path) => READABLE.has(path)))(
  'HEAD %s has the status and the type of GET, and no body',
  async (path) => {
    const leaves = new AbortController();
    const get = await api.call(called(path), { signal: leaves.signal });
    const head = await api.call(called(path), { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type')]).toEqual([
      get.status,
      get.headers.get('content-type'),
    ]);
    expect(await head.text()).toBe('');
    leaves.abort();
  },
);

it.each(PATHS.filter((path) => !READABLE.has(path)))('HEAD %s is 405 and names the methods', async (path) => {
  const head = await api.call(called(path), { method: 'HEAD' });
  const methods = API.filter((route) => route.path === path).map(({ method }) => method);
  expect([head.status, head.headers.get('allow')]).toEqual([405, methods.join(', ')]);
});

it('a refusal of another method names GET and HEAD', async () => {
  const answer = await api.call('/v1/models', { method: 'DELETE' });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

it('opens no stream for a HEAD request', async () => {
  const before = api.gateway.events.listeners.size;
  for (const path of ['/v1/events', '/v1/sessions/http:a/events']) {
    const head = await api.call(path, { method: 'HEAD' });
    expect(head.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  }
  expect(api.gateway.events.listeners.size).toBe(before);
});

it('lists the models under the address that ends with a slash, too', async () => {
  const [list, slash] = await Promise.all(['/v1/models', '/v1/models/'].map((path) => api.call(path)));
  expect(slash?.status).toBe(200);
  expect(await slash?.text()).toBe(await list?.text());
});
