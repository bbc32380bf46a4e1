/** A process that dies around a message in the middle of a turn: people read it once. */
import { expect, it } from 'vitest';
import { createPost } from '../../../src/delivery/index.ts';
import { createMessage } from '../../../src/tools/message.ts';
import { describeEmbedded } from '../../database.ts';
import { dyingAt, TURN_STEPS } from '../../fakes/agent/dying-store.ts';
import { ReplayModel } from '../../fakes/agent/replay-model.ts';
import { asks, says } from '../../fakes/agent/scripted-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

describeEmbedded('a message whose process dies', (databases) => {
  it('is sent once, wherever the process died (B-23)', async () => {
    const store = await databases.open();
    const bus = { claimingNode: () => undefined, runHeads: () => undefined };
    const tools = [createMessage(createPost(store.posts, bus))];
    const live = async (at: number, when: 'before' | 'after') => {
      const provider = new ReplayModel(asks([{ name: 'message', args: { text: 'Soon.' } }]), says('Now.'));
      const death = dyingAt(at, when, TURN_STEPS);
      const first = new TurnScenario({ store, provider, tools, around: death.of });
      await first.start();
      const chatId = `${when}-${at}`;
      const { head } = await first.say('Do it', { chatId });
      await first.run(head).catch(() => undefined);
      const second = new TurnScenario({ store, provider, tools });
      await second.start();
      const left = await second.sweep();
      if (left !== undefined) await second.run(left);
      const messages = await store.ledger.messages(`telegram:${chatId}`, { limit: 9 });
      const queued = await store.sql`select seq from lane_item where lane = ${`out:telegram:${chatId}`}`;
      return { seen: death.seen, told: messages.map(({ content }) => content), queued: queued.length };
    };
    const whole = await live(Infinity, 'after');
    expect(whole).toMatchObject({ told: ['Do it', 'Soon.', 'Now.'], queued: 2 });
    for (const at of whole.seen.keys()) {
      for (const when of ['before', 'after'] as const) {
        expect(await live(at, when), `${when} ${whole.seen[at]}`).toMatchObject({
          told: ['Do it', 'Soon.', 'Now.'],
          queued: 2,
        });
      }
    }
  });
});
