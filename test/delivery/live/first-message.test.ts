/** When a growing reply first appears: with words, soon, and as the only call of a short answer. */
import { describe, expect, it } from 'vitest';
import { buildDelivery } from '../setup.ts';

const FIRST_AFTER_MS = 700;
const FIRST_CHARS = 30;

describe('the first message of a reply', () => {
  it('starts with enough for a notification: 30 characters, a sentence, or what there is after 700 ms', async () => {
    const firstOf = async (...deltas: string[]) => {
      const gateway = buildDelivery();
      const turn = gateway.open('t');
      for (const delta of deltas) {
        gateway.say('t', delta);
        await gateway.clock.advance(10);
      }
      await gateway.clock.advance(FIRST_AFTER_MS);
      await turn.settle();
      const [call] = gateway.channel.calls.filter(({ kind }) => kind === 'send');
      return [call?.part?.body.text, call?.at];
    };
    expect(await firstOf('Some', ' words')).toEqual(['Some words', FIRST_AFTER_MS]);
    expect(await firstOf('a'.repeat(FIRST_CHARS - 1), 'b', 'c')).toEqual([
      `${'a'.repeat(FIRST_CHARS - 1)}b`,
      10,
    ]);
    expect(await firstOf('Yes', '. ', 'And')).toEqual(['Yes.', 10]);
    expect(await firstOf('1', '. ', 'And')).toEqual(['1. And', FIRST_AFTER_MS]);
    expect(await firstOf('はい', '。')).toEqual(['はい。', 10]);
  });

  it('is one call when the answer is short', async () => {
    for (const words of [
      ['Short', ' answer'],
      ['Yes', '. ', 'Indeed', '.'],
      ['A word ', 'x'.repeat(40)],
    ]) {
      const gateway = buildDelivery();
      const turn = gateway.open('t');
      await gateway.clock.advance(200);
      for (const word of words) gateway.say('t', word);
      await gateway.clock.advance(100);
      await turn.settle();
      await gateway.deliver(words.join(''), { turnId: 't' });
      expect(gateway.channel.screen('1')).toEqual([words.join('')]);
      expect(gateway.channel.count('send') + gateway.channel.count('edit')).toBe(1);
    }
  });

  it('does not hold back its first words behind a call without words', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    await gateway.clock.advance(300);
    gateway.say('t', 'Thirty characters and some more');
    await gateway.clock.advance(1);
    expect(gateway.channel.screen('1')).toEqual(['Thirty characters and some more']);
    await turn.settle();
  });
});
