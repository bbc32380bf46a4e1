/** The final delivery does not edit messages that already show their final text. */
import { describe, expect, it } from 'vitest';
import { MAX_SHOWN_TEXTS, ShownTexts } from '../../../src/delivery/live/reply.ts';
import { buildDelivery } from '../setup.ts';

describe('a final delivery after a reply that has grown to its end', () => {
  async function grown(content: string) {
    const gateway = buildDelivery({ maxLength: 200 });
    const turn = gateway.open('t');
    gateway.say('t', content);
    await gateway.clock.advance(60_000);
    await turn.settle();
    return { gateway, before: gateway.channel.count('edit') };
  }

  it('makes no call for a message that is correct, and one for a message that is not', async () => {
    const content = Array.from({ length: 20 }, (_, i) => `Paragraph ${i} of the answer.`).join('\n\n');
    const { gateway, before } = await grown(content);
    await gateway.deliver(`${content}\n\nThe end.`, { turnId: 't' });
    expect(gateway.channel.count('edit') - before).toBe(1);
    expect(gateway.channel.screen('1').join('\n\n')).toBe(`${content}\n\nThe end.`);
  });

  it('edits to add buttons, and on every further attempt', async () => {
    const { gateway, before } = await grown('Run it?');
    await gateway.deliver('Run it?', { turnId: 't', buttons: [{ label: 'Run', value: 'run' }] });
    await gateway.deliver('Run it?', { turnId: 't' });
    expect(gateway.channel.count('edit') - before).toBe(2);
  });

  it('edits a message whose text is uncertain after a failed call', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    gateway.say('t', 'One');
    await gateway.clock.advance(2_000);
    gateway.channel.failure({ code: 'unavailable' });
    gateway.say('t', ' two');
    await gateway.clock.advance(900);
    await turn.settle();
    await gateway.deliver('One two', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['One two']);
  });
});

describe('the remembered texts', () => {
  it('are bounded, evicted oldest first, and returned once', () => {
    const shown = new ShownTexts();
    for (let turn = 0; turn <= MAX_SHOWN_TEXTS; turn++) shown.keep(`${turn}`, ['text']);
    expect([shown.remove('0'), shown.remove('1'), shown.remove('1')]).toEqual([[], ['text'], []]);
  });
});
