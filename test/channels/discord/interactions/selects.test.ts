/** Menus under the replies to commands without an argument. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_SUGGESTIONS } from '../../../../src/protocol/command.ts';
import { chooses } from '../../../fakes/discord/acts.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import type { FakeChannel, FakePerson } from '../../../fakes/discord/platform.ts';

const WAIT = { timeout: 5_000, interval: 5 };

describe('menus on Discord', () => {
  let setup: DiscordSetup;
  let channel: FakeChannel;
  let ada: FakePerson;

  beforeEach(async () => {
    setup = await DiscordSetup.open();
    setup.verdict = (message) => Promise.resolve({ kind: 'handled', reply: `did ${message.content}` });
    channel = setup.discord.platform.addChannel(0);
    ada = setup.discord.person('Ada');
    await setup.start();
  });
  afterEach(async () => {
    await setup.close();
  });

  const values = () => setup.discord.visible(channel, ada).at(-1)?.select?.values;
  const replied = async (text: string) =>
    await vi.waitFor(() => expect(setup.discord.screen(channel, ada).at(-1)).toBe(text), WAIT);

  it('offer the possible arguments of a command; the selected one is run, and replaces the menu', async () => {
    setup.suggest = ({ content }) => Promise.resolve(content === '/pick ' ? ['one', 'two', 'two', ''] : []);
    setup.discord.slash(channel, 'pick', {}, ada);
    await replied('did /pick');
    expect(values()).toEqual(['one', 'two']);
    expect(setup.discord.screen(channel)).toEqual([]);
    chooses(setup.discord, channel, 'two', ada);
    await replied('did /pick two');
    expect(values()).toBeUndefined();
    expect(setup.discord.visible(channel, ada)).toHaveLength(1);
    expect(setup.received.at(-1)).toMatchObject({ content: '/pick two', senderId: ada.id });
  });

  it('offer the fixed choices of a command without a lookup', async () => {
    setup.suggest = () => Promise.reject(new Error('not asked'));
    setup.discord.slash(channel, 'switch', {}, ada);
    await replied('did /switch');
    expect(values()).toEqual(['on', 'off']);
  });

  it(`offer at most ${MAX_SUGGESTIONS}, and none for a single one, after a failure, or with an argument`, async () => {
    setup.suggest = () =>
      Promise.resolve(Array.from({ length: MAX_SUGGESTIONS + 5 }, (_, n) => `choice ${n}`));
    setup.discord.slash(channel, 'pick', {}, ada);
    await replied('did /pick');
    expect(values()).toHaveLength(MAX_SUGGESTIONS);
    setup.suggest = () => Promise.resolve(['alone']);
    setup.discord.slash(channel, 'pick', { name: 'x' }, ada);
    await replied('did /pick x');
    expect(values()).toBeUndefined();
    for (const suggest of [() => Promise.resolve(['alone']), () => Promise.reject(new Error('away'))]) {
      setup.suggest = suggest;
      setup.discord.slash(channel, 'pick', {}, ada);
      await vi.waitFor(() => expect(setup.discord.screen(channel, ada).at(-1)).toBe('did /pick'), WAIT);
      expect(values()).toBeUndefined();
    }
  });

  it('that take too long are left out: the reply is not delayed by them', async () => {
    setup.suggest = () => new Promise(() => undefined);
    setup.discord.slash(channel, 'pick', {}, ada);
    await replied('did /pick');
    expect(values()).toBeUndefined();
  });
});
