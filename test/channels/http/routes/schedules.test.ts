/** The routes about schedules. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openApi, type OpenApi } from '../client.ts';

let api: OpenApi;
beforeAll(async () => {
  api = await openApi();
});
afterAll(async () => {
  await api.close();
});

const make = (json: unknown, headers: Record<string, string> = {}) =>
  api.call('/v1/schedules', { json, headers });

it('creates a schedule, lists it and removes it', async () => {
  const made = await make({ session: 'http:a', task: 'Tell me.', everyMinutes: 5 });
  expect(made.status).toBe(201);
  const schedule = await made.json();
  expect(schedule).toMatchObject({
    session: 'http:a',
    address: 'http:a',
    task: 'Tell me.',
    timing: { kind: 'every', everyMs: 60_000 },
    nextAt: '1970-01-01T00:01:00.000Z',
    lastAt: null,
  });
  await make({ session: 'http:b', task: 'Other.', cron: '@daily' });
  const listed = async (query = '') => (await (await api.call(`/v1/schedules${query}`)).json()).schedules;
  expect(await listed()).toHaveLength(2);
  expect(await listed('?session=http:a')).toEqual([schedule]);
  const removed = await api.call(`/v1/schedules/${schedule.id}`, { method: 'DELETE' });
  expect(await removed.json()).toEqual({ id: schedule.id, deleted: true });
  expect((await api.call(`/v1/schedules/${schedule.id}`, { method: 'DELETE' })).status).toBe(404);
});

it('answers a repeated Idempotency-Key of the same caller with the same schedule', async () => {
  const request = { session: 'http:c', task: 'Once.', inMinutes: 5 };
  const key = { 'idempotency-key': 'again' };
  const [first, second] = await Promise.all(
    [make(request, key), make(request, key)].map(async (answer) => (await answer).json()),
  );
  expect(second).toEqual(first);
  const other = await make(request, { ...key, authorization: 'Bearer chat-token-of-a-friend' });
  expect((await other.json()).id).not.toBe(first.id);
});

it.each([
  [{ session: 'http:a' }, 400, 'invalid_body'],
  [{ session: 'http:a', task: 'x', everyMinutes: 0 }, 400, 'invalid_body'],
  [{ session: 'http:a', task: 'x', surprise: 1 }, 400, 'invalid_body'],
  [{ session: 'http:a', task: 'refuse' }, 400, 'bad_schedule'],
  [{ session: 'http:elsewhere', task: 'x', everyMinutes: 5 }, 404, 'session_not_found'],
  [{ session: 'nowhere', task: 'x', everyMinutes: 5 }, 404, 'session_not_found'],
])('refuses %o with %i', async (request, status, code) => {
  const answer = await make(request);
  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject({ error: { code } });
});

it('requires a token', async () => {
  const answer = await api.call('/v1/schedules', { headers: { authorization: '' } });
  expect(answer.status).toBe(401);
});
