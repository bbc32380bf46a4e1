/** A real process killed while a question waits, and again after it was answered: asked, decided and run once. */
import { expect, it } from 'vitest';
import { killedWhileAsking } from './asking-gateway.ts';

it('runs a call once that was requested on Telegram and allowed over HTTP, with kill -9 in between (S-45)', async () => {
  const { api, id, shows, effects, killAndStart, press } = await killedWhileAsking();
  expect((await api(`/v1/approvals/${id}`, { decision: 'approved' })).status).toBe(200);
  await shows(/echo: do it/);
  await shows(/Approved by GATEWAY_TOKEN/);
  expect([...effects.counts().values()]).toEqual([1]);
  await killAndStart();
  expect((await api(`/v1/approvals/${id}`, { decision: 'denied' })).status).toBe(409);
  expect(await press(`deny:${id}`)).toContain('already');
  expect([...effects.counts().values()]).toEqual([1]);
}, 240_000);
