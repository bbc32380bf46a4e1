/** What may become a table is held back while the text grows, and shown when it pauses or ends. */
import { describe, expect, it } from 'vitest';
import { HOLD_MS } from '../../../src/delivery/live/live-text.ts';
import { buildDelivery } from '../setup.ts';

const EDIT_MS = 5_000;

describe('a growing reply whose last line has a pipe', () => {
  const begin = async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    await gateway.clock.advance(300);
    gateway.say('t', 'A sentence that is long enough to be sent.\n\nName |');
    await gateway.clock.advance(10);
    return { gateway, turn };
  };
  const START = 'A sentence that is long enough to be sent.\n\nName';

  it('shows it when nothing follows for a second, also without an event', async () => {
    const { gateway, turn } = await begin();
    expect(gateway.channel.screen('1')).toEqual([START]);
    await gateway.clock.advance(2 * HOLD_MS + EDIT_MS);
    expect(gateway.channel.screen('1')).toEqual([`${START} |`]);
    await turn.settle();
  });

  it('shows it as a table if it becomes one', async () => {
    const { gateway, turn } = await begin();
    gateway.say('t', ' Age |\n|---|---|\n| Ada');
    await gateway.clock.advance(EDIT_MS);
    expect(gateway.channel.screen('1')).toEqual([`${START} | Age\nAda`]);
    await turn.settle();
  });

  it('shows it when the model call ends, as before a tool runs', async () => {
    const { gateway, turn } = await begin();
    gateway.emit('t', {
      type: 'stream_end',
      msgId: 'call-1',
      content: 'all of it',
      usage: { promptTokens: 1, completionTokens: 1, modelMs: 1 },
    });
    await gateway.clock.advance(HOLD_MS / 2 + EDIT_MS);
    expect(gateway.channel.screen('1')).toEqual([`${START} |`]);
    await turn.settle();
  });
});
