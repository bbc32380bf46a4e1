/** Which cards of background subagents are sent and ended, on one node and over several. */
import { describe, expect, it } from 'vitest';
import { MAX_CARDS } from '../../../src/delivery/live/agent-card.ts';
import type { AgentCard } from '../../../src/protocol/delivery.ts';
import { buildDelivery } from '../setup.ts';

const card = (nth: number): AgentCard => ({
  agentId: `agent-${nth}`,
  address: 'fake:1',
  profileId: 'default',
  task: `task ${nth}`,
});
const cards = Array.from({ length: MAX_CARDS + 1 }, (_, nth) => card(nth));
const last = card(MAX_CARDS);

describe('the cards of a chat', () => {
  const keys = ({ queued }: ReturnType<typeof buildDelivery>): string[] => queued.map(({ key = '' }) => key);

  it(`are ${MAX_CARDS} at once: a further subagent has one as soon as another is no longer followed here`, async () => {
    const built = buildDelivery();
    const { live } = built.delivery;
    const followed = live.followAgent('fake:1', card(0));
    for (const one of cards) await live.announceAgent(one);
    expect(keys(built)).toHaveLength(MAX_CARDS);
    expect(keys(built)).not.toContain(`card:${last.agentId}`);
    // Another node goes on with it: its end does not come from here.
    await followed.release();
    await live.announceAgent(last);
    expect(keys(built)).toContain(`card:${last.agentId}`);
  });

  it('end wherever they were announced, also before they are on screen; without a card there is no end', async () => {
    const built = buildDelivery();
    const { live } = built.delivery;
    await live.announceAgent(last);
    await live.followAgent('fake:1', last).release();
    for (const one of cards) await live.announceAgent(one);
    built.queued.length = 0;
    // Back on this node, where as many others are shown by now.
    await live.endAgent(last, 'finished', 'finished:2');
    expect(built.queued).toMatchObject([{ ref: `card:${last.agentId}`, message: { buttons: [] } }]);
    await live.endAgent(card(99), 'finished', 'finished:1');
    expect(built.queued).toHaveLength(1);
  });
});
