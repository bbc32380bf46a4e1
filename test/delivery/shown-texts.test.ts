/** What is right on screen already is left alone by the final delivery. */
import { describe, expect, it } from 'vitest';
import { MAX_SHOWN_TEXTS, ShownTexts } from '../../src/delivery/shown-texts.ts';
import { buildHouse } from './setup.ts';

describe('a final delivery after a reply that grew to its end', () => {
  async function grown(content: string) {
    const house = buildHouse({ maxLength: 200 });
    const turn = house.open('t');
    house.say('t', content);
    await house.clock.advance(60_000);
    await turn.settle();
    return { house, before: house.channel.count('edit') };
  }

  it('makes no call where the screen is right, and one where it is not', async () => {
    const content = Array.from({ length: 20 }, (_, i) => `Paragraph ${i} of the answer.`).join('\n\n');
    const { house, before } = await grown(content);
    await house.deliver(`${content}\n\nThe end.`, { turnId: 't' });
    expect(house.channel.count('edit') - before).toBe(1);
    expect(house.channel.screen('1').join('\n\n')).toBe(`${content}\n\nThe end.`);
  });

  it('edits for the sake of buttons, and on every further attempt', async () => {
    const { house, before } = await grown('Run it?');
    await house.deliver('Run it?', { turnId: 't', buttons: [{ label: 'Run', value: 'run' }] });
    await house.deliver('Run it?', { turnId: 't' });
    expect(house.channel.count('edit') - before).toBe(2);
  });

  it('edits what a failed call left in doubt', async () => {
    const house = buildHouse();
    const turn = house.open('t');
    house.say('t', 'One');
    await house.clock.advance(2_000);
    house.channel.fault({ code: 'unavailable' });
    house.say('t', ' two');
    await house.clock.advance(900);
    await turn.settle();
    await house.deliver('One two', { turnId: 't' });
    expect(house.channel.screen('1')).toEqual(['One two']);
  });
});

describe('the texts that are remembered', () => {
  it('are bounded, the oldest forgotten first, and told once', () => {
    const shown = new ShownTexts();
    for (let turn = 0; turn <= MAX_SHOWN_TEXTS; turn++) shown.keep(`${turn}`, ['text']);
    expect([shown.remove('0'), shown.remove('1'), shown.remove('1')]).toEqual([[], ['text'], []]);
  });
});
