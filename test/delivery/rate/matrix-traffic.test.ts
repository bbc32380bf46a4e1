/** How answers flow on Matrix, where one account has one bucket for everything it shows in all rooms. */
import { expect, it } from 'vitest';
import { create } from '../../../channels/matrix/index.ts';
import { manifest } from '../../../channels/matrix/manifest.ts';
import { silentLog } from '../../database.ts';
import { memoryStores, NOBODY } from '../../fakes/stores/channel-stores.ts';
import { FakeGateway } from '../../fakes/gateway/gateway-api.ts';
import type { BucketLimit } from '../../fakes/matrix/bucket.ts';
import { SYNAPSE } from '../../fakes/matrix/limits.ts';
import { type Flow, quantile, simulate, type Traffic } from './traffic.ts';

const CHATS = 16;
/** Every room asks at the same instant; answers take twelve seconds. */
const AT_ONCE: Traffic = { chats: CHATS, withinMs: 0, firstTokenMs: 300, tokens: 240, tokenMs: 50 };
/**
 * Every answer is complete on screen, no call showed what was already there, and none came within the pause of a
 * refusal.
 */
const FAULTLESS = { wrong: 0, sameText: 0, early: 0 };

async function simulateMatrix(traffic: Partial<Traffic>, bucket?: BucketLimit): Promise<Flow> {
  const config = { url: 'http://127.0.0.1', token: 'syt_x', ...manifest.settings.parse({}) };
  const deps = { log: silentLog, gateway: new FakeGateway(), ...NOBODY, ...memoryStores() };
  const { rates } = create(config, deps).capabilities;
  const none = { chatIntervalMs: () => 0, callsPerSecond: () => Number.POSITIVE_INFINITY };
  return await simulate({ ...AT_ONCE, ...traffic, rates, limits: bucket ? { ...none, bucket } : none });
}

it.each([undefined, { perSecond: 10, burst: 10 }])(
  '16 rooms that ask at once see first words within two seconds if the homeserver has room for them (%j)',
  async (bucket) => {
    const flow = await simulateMatrix({}, bucket);
    expect(flow).toMatchObject({ ...FAULTLESS, refused: 0 });
    expect(quantile(flow.first, 0.99)).toBeLessThanOrEqual(2_000);
    expect(quantile(flow.final, 0.99)).toBeLessThanOrEqual(1_000);
    expect(quantile(flow.age, 0.99)).toBeLessThanOrEqual(3_000);
  },
);

it("with Synapse's default, first words and finals of 16 rooms have its bucket to themselves, and no one waits longer than these take", async () => {
  const flow = await simulateMatrix({ turns: 2 }, SYNAPSE);
  const needed = 2 * 2 * CHATS;
  expect(flow).toMatchObject(FAULTLESS);
  expect(flow.calls - flow.refused).toBeLessThanOrEqual(needed);
  expect(flow.refused).toBeLessThanOrEqual(2);
  const longestMs = ((2 * CHATS - SYNAPSE.burst) / SYNAPSE.perSecond) * 1_000;
  expect(quantile(flow.first, 1)).toBeLessThanOrEqual(longestMs);
  expect(quantile(flow.final, 1)).toBeLessThanOrEqual(longestMs);
});

it("with Synapse's default, one room sees its answers grow, and their last words soon", async () => {
  const flow = await simulateMatrix({ chats: 1, turns: 4 }, SYNAPSE);
  expect(flow).toMatchObject(FAULTLESS);
  expect(quantile(flow.first, 1)).toBeLessThanOrEqual(1_000);
  expect(quantile(flow.age, 1)).toBeLessThanOrEqual(10_000);
  expect(quantile(flow.final, 1)).toBeLessThanOrEqual(5_000);
});

it('a homeserver that allows two events a second is detected with few refusals, each waited out', async () => {
  const flow = await simulateMatrix({ turns: 4 }, { perSecond: 2, burst: 10 });
  expect(flow).toMatchObject(FAULTLESS);
  expect(flow.refused / flow.calls).toBeLessThanOrEqual(0.1);
  expect(quantile(flow.final, 1)).toBeLessThanOrEqual(15_000);
});
