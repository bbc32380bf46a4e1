/** Notifications through a whole gateway: a question is queued for the browser, and goes to no address that is not public. */
import { createECDH, randomBytes } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { pendingSoon } from '../approvals/pending.ts';
import { describeGateway, type GatewayFixture, WAIT } from '../setup.ts';

describeGateway('notifications', { tools: riskyTools([]) }, (fixture) => {
  const subscriptionAt = (endpoint: string): object => {
    const point = createECDH('prime256v1').generateKeys();
    const keys = { p256dh: point.toString('base64url'), auth: randomBytes(16).toString('base64url') };
    return { endpoint, keys };
  };

  it('of a question wait for a browser, and are given up where its address is not public', async () => {
    const call: GatewayFixture['call'] = (...request) => fixture().call(...request);
    const added = await call('/v1/me/push', { json: subscriptionAt('https://10.0.0.1/push') });
    const { id } = await added.json();
    expect(added.status).toBe(201);
    const { publicKey, browsers } = await (await call('/v1/me/push')).json();
    expect(Buffer.from(publicKey, 'base64url')).toHaveLength(65);
    expect(browsers).toMatchObject([{ id }]);
    fixture().ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'a' } }] }, { when: 'wipe it' });
    await call('/v1/sessions/http:notified/messages', { json: { content: 'wipe it' } });
    await pendingSoon({ call }, { session: 'http:notified' });
    await vi.waitFor(async () => {
      const { letters } = await (await call('/v1/dead-letters')).json();
      expect(letters).toMatchObject([{ lane: `push:${id}`, error: expect.stringContaining('10.0.0.1') }]);
    }, WAIT);
    expect((await call(`/v1/me/push/${id}`, { method: 'DELETE' })).status).toBe(200);
    expect((await (await call('/v1/me/push')).json()).browsers).toEqual([]);
  });
});
