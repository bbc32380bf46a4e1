/** Tokens through a whole gateway: replaced, revoked, expired, and never locked out by someone else's wrong tokens. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { describeGateway, type GatewayFixture, OWNER, WAIT } from '../setup.ts';

const status = async (fixture: GatewayFixture, token: string, route = '/metrics'): Promise<number> =>
  (await fixture.call(route, { token })).status;

describeGateway('the token of the environment', {}, (fixture) => {
  it('is replaced when the next start has another one, and is revoked when the variable is removed', async () => {
    const next = 'another-token-of-the-owner-0123456789';
    expect(await status(fixture(), OWNER)).toBe(200);
    fixture().env['GATEWAY_TOKEN'] = next;
    await fixture().restart();
    expect([await status(fixture(), OWNER), await status(fixture(), next)]).toEqual([401, 200]);
    delete fixture().env['GATEWAY_TOKEN'];
    await fixture().restart();
    expect(await status(fixture(), next)).toBe(401);
    // No one is left without a token.
    expect(existsSync(path.join(fixture().home, 'token'))).toBe(true);
    fixture().env['GATEWAY_TOKEN'] = OWNER;
    await fixture().restart();
    expect(await status(fixture(), OWNER)).toBe(200);
  });
});

describeGateway('a revoked token of the environment', {}, (fixture) => {
  it('stays revoked, even if the gateway is started with it again', async () => {
    const [own] = await fixture().store.access.tokens();
    expect(await fixture().store.access.revokeToken(own?.tokenId ?? '')).toBe(true);
    await vi.waitFor(async () => expect(await status(fixture(), OWNER)).toBe(401), WAIT);
    await fixture().restart();
    expect(await status(fixture(), OWNER)).toBe(401);
  });
});

describeGateway('a flood of wrong tokens', {}, (fixture) => {
  it('never locks the right one out, even right after a restart', async () => {
    await fixture().restart();
    const statuses: number[] = [];
    const wrong = Array.from({ length: 60 }, (_, n) =>
      status(fixture(), `a-wrong-token-of-a-guesser-${n}-padding`),
    );
    for (const answer of await Promise.all(wrong)) statuses.push(answer);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect(await status(fixture(), OWNER)).toBe(200);
    await fixture().restart();
    const mixed = await Promise.all(
      Array.from({ length: 120 }, (_, n) =>
        status(fixture(), n % 3 === 0 ? OWNER : `a-wrong-token-of-a-guesser-${n}`),
      ),
    );
    expect(mixed.filter((_, n) => n % 3 === 0)).toEqual(Array.from({ length: 40 }, () => 200));
  });
});

describeGateway('an open stream', {}, (fixture) => {
  it('ends within a second of the revocation of its token', async () => {
    const secret = 'parley_a-token-that-will-be-revoked-0123456789';
    const { access } = fixture().store;
    const { tokenId } = await access.putToken({ hash: hashSecret(secret), name: 'leaver', scopes: ['chat'] });
    const took: number[] = [];
    await fixture().call('/v1/sessions/http:watched/messages', { token: secret, json: { content: 'hi' } });
    const streams = await Promise.all(
      [0, 1, 2].map(() => fixture().call('/v1/sessions/http:watched/events', { token: secret })),
    );
    expect(streams.map((stream) => stream.status)).toEqual([200, 200, 200]);
    const ended = streams.map(async (stream) => {
      await stream.text().catch(() => '');
      took.push(performance.now());
    });
    // At the last possible moment, the gateway has seen that the token is valid.
    expect(await status(fixture(), secret, '/v1/commands')).toBe(200);
    const start = performance.now();
    expect(await access.revokeToken(tokenId)).toBe(true);
    await Promise.all(ended);
    expect(Math.max(...took) - start).toBeLessThan(1_000);
  });
});
