/** Slash commands: registered once, committed and deferred in time, answered in their reply. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SentMessage } from '../../../../src/contracts/message.ts';
import type { Receipt } from '../../../../src/contracts/receive.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import { ACCEPTED } from '../../../fakes/gateway/channel-setup.ts';
import { Refusal } from '../../../fakes/discord/platform.ts';
import type { FakeChannel, FakePerson } from '../../../fakes/discord/platform.ts';

const WAIT = { timeout: 5_000, interval: 5 };
const THINKING = 'Parley is thinking...';

describe('slash commands', () => {
  let setup: DiscordSetup;
  let room: FakeChannel;
  let ada: FakePerson;
  let shift = 0;

  beforeEach(async () => {
    shift = 0;
    setup = await DiscordSetup.open({ now: () => Date.now() + shift });
    room = setup.discord.platform.addChannel(0);
    ada = setup.discord.person('Ada');
  });
  afterEach(async () => {
    await setup.close();
  });

  const shows = async (texts: string[], viewer?: FakePerson): Promise<void> => {
    await vi.waitFor(() => expect(setup.discord.screen(room, viewer)).toEqual(texts), WAIT);
  };
  const ask = async (prompt: string): Promise<SentMessage> => {
    const before = setup.received.length;
    setup.discord.slash(room, '/ask', { prompt }, ada);
    await vi.waitFor(() => expect(setup.received.length).toBe(before + 1), WAIT);
    const placeholder = setup.received[before]?.placeholder;
    if (placeholder === undefined) throw new Error('a command must bring its deferred reply');
    return placeholder;
  };
  const edit = async (sent: SentMessage, text: string): Promise<SentMessage> =>
    (await setup.channel.edit?.(sent, setup.part(room.id, text))) ?? sent;

  it('are registered once; an unchanged list is not written again', async () => {
    await setup.start();
    await vi.waitFor(() => expect(setup.discord.platform.commandWrites).toBe(1), WAIT);
    expect(setup.discord.platform.commands).toMatchObject([
      { name: 'ask', options: [{ name: 'prompt', required: true }, { name: 'file' }] },
      { name: 'stop' },
      { name: 'queue', options: [{ name: 'mode', description: 'One of the modes', type: 3 }] },
      { name: 'pick' },
      { name: 'switch' },
      { name: 'help' },
      { name: 'Ask about this', type: 3 },
      { name: 'Summarize from here', type: 3 },
    ]);
    const reads = (): number =>
      setup.discord.rest.calls.filter((call) => /^GET .*commands/.test(call)).length;
    await setup.channel.stop();
    await setup.start();
    await vi.waitFor(() => expect(reads()).toBe(2), WAIT);
    await setup.channel.stop();
    expect(setup.discord.platform.commandWrites).toBe(1);
  });

  it('do not keep the channel from receiving when they cannot be registered, and are registered later', async () => {
    setup.discord.failure({ kind: 'status', status: 500, match: /commands/ });
    await setup.start();
    setup.discord.says(room, 'hello', ada);
    await vi.waitFor(() => expect(setup.contents).toEqual(['hello']), WAIT);
    expect(setup.discord.platform.commandWrites).toBe(0);
    await vi.waitFor(() => expect(setup.discord.platform.commandWrites).toBe(1), WAIT);
  });

  it('are logged when they are refused permanently', async () => {
    setup.discord.failure({
      kind: 'refuse',
      refusal: new Refusal(403, 50_001, 'Missing Access'),
      match: /commands/,
    });
    await setup.start();
    await vi.waitFor(() => expect(setup.log.join('')).toContain('discord_commands_not_registered'), WAIT);
  });

  it('are committed first, then deferred, and the answer grows in the deferred reply (T1)', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    setup.verdict = async () => await promise;
    await setup.start();
    const placeholder = await ask('why is the sky blue?');
    expect(setup.received[0]).toMatchObject({
      content: 'why is the sky blue?',
      chatId: room.id,
      senderId: ada.id,
      senderName: 'Ada',
      place: 'group',
      mentioned: true,
    });
    expect(setup.discord.screen(room)).toEqual([]);
    resolve(ACCEPTED);
    await shows([THINKING]);
    await edit(placeholder, 'Because');
    await edit(placeholder, 'Because of **Rayleigh**.');
    expect(setup.discord.screen(room)).toEqual(['Because of Rayleigh.']);
    expect(setup.discord.visible(room)[0]?.history).toEqual(['', 'Because', 'Because of **Rayleigh**.']);
  });

  it('are deferred before any edit of their reply', async () => {
    const gate = Promise.withResolvers<void>();
    setup.discord.failure({ kind: 'hold', match: /callback/, until: gate.promise });
    await setup.start();
    const placeholder = await ask('quick?');
    const edited = edit(placeholder, 'Very quick.');
    await vi.waitFor(() => expect(setup.discord.rest.calls.join()).toContain('callback'), WAIT);
    expect(setup.discord.rest.calls.join()).not.toContain('@original');
    gate.resolve();
    await edited;
    expect(setup.discord.screen(room)).toEqual(['Very quick.']);
  });

  it('are deferred before a commit that takes too long, and still answered', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    setup.verdict = async () => await promise;
    await setup.start();
    const placeholder = await ask('slow store?');
    await shows([THINKING]);
    resolve(ACCEPTED);
    await edit(placeholder, 'Here I am.');
    expect(setup.discord.screen(room)).toEqual(['Here I am.']);
  });

  it.each(['/status', '/queue'])(
    '%s is deferred only for the user who sent it, and only if the commit is slow',
    async (name) => {
      const { promise, resolve } = Promise.withResolvers<Receipt>();
      setup.verdict = async () => await promise;
      await setup.start();
      setup.discord.slash(room, name, {}, ada);
      await shows([THINKING], ada);
      expect(setup.discord.screen(room)).toEqual([]);
      resolve({ kind: 'handled', reply: 'for Ada alone' });
      await shows(['for Ada alone'], ada);
      expect(setup.discord.screen(room)).toEqual([]);
    },
  );

  it.each(['/stop', '/new'])('%s is deferred for everyone to see if the commit is slow', async (name) => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    setup.verdict = async () => await promise;
    await setup.start();
    setup.discord.slash(room, name, {}, ada);
    await shows([THINKING]);
    resolve({ kind: 'handled', reply: 'Stopped.' });
    await shows(['Stopped.']);
    expect(setup.received).toHaveLength(1);
  });

  it('get an error in the deferred reply when a slow commit eventually fails', async () => {
    const { promise, reject } = Promise.withResolvers<Receipt>();
    setup.verdict = async () => await promise;
    await setup.start();
    await ask('lost?');
    await shows([THINKING]);
    reject(new Error('store gone'));
    await vi.waitFor(() => expect(setup.discord.screen(room)).not.toContain(THINKING), WAIT);
    expect(setup.discord.screen(room)).toEqual([
      'Your message could not be stored just now. Please send it again in a moment.',
    ]);
  });

  it.each([
    ['/status', { kind: 'handled', reply: 'All quiet.' }, 'All quiet.', true],
    ['/help', { kind: 'handled', reply: '`/ask` and more' }, '/ask and more', true],
    ['/stop', { kind: 'handled', reply: 'Stopped.' }, 'Stopped.', false],
    ['/new', { kind: 'handled' }, 'Done.', false],
    ['/status', { kind: 'refused', code: 'denied' }, 'This bot does not answer you here.', true],
    ['/ask', { kind: 'refused', code: 'queue_full', reply: 'Too much waits.' }, 'Too much waits.', true],
  ] satisfies [string, Receipt, string, boolean][])(
    'answers %s (%j) at once',
    async (command, receipt, text, onlyForAsker) => {
      setup.verdict = () => Promise.resolve(receipt);
      await setup.start();
      setup.discord.slash(room, command, command === '/ask' ? { prompt: 'x' } : {}, ada);
      await shows([text], ada);
      expect(setup.contents).toEqual([command === '/ask' ? 'x' : command]);
      expect(setup.discord.screen(room)).toEqual(onlyForAsker ? [] : [text]);
    },
  );

  it('carry their argument as text after the name', async () => {
    setup.verdict = () => Promise.resolve({ kind: 'handled', reply: 'Steering.' });
    await setup.start();
    setup.discord.slash(room, '/queue', { mode: ' steer' }, ada);
    setup.discord.slash(room, '/queue', {}, ada);
    await vi.waitFor(() => expect(setup.contents).toEqual(['/queue  steer', '/queue']), WAIT);
  });

  it('repeated after a resume have the same id and no second reply', async () => {
    await setup.start();
    await ask('once');
    await shows([THINKING]);
    const [interaction] = setup.discord.platform.interactions.values();
    setup.discord.gateway.dispatch('INTERACTION_CREATE', 0, () => ({
      id: interaction?.id,
      application_id: setup.discord.platform.applicationId,
      type: 2,
      token: interaction?.token,
      version: 1,
      channel_id: room.id,
      channel: { id: room.id, type: 0 },
      user: { id: ada.id, username: 'ada', discriminator: '0', avatar: null },
      data: {
        id: interaction?.id,
        name: 'ask',
        type: 1,
        options: [{ name: 'prompt', type: 3, value: 'once' }],
      },
    }));
    await vi.waitFor(() => expect(setup.received).toHaveLength(2), WAIT);
    await setup.channel.stop();
    expect(new Set(setup.received.map(({ id }) => id)).size).toBe(1);
    expect(setup.discord.screen(room)).toEqual([THINKING]);
    expect(setup.log.join('')).not.toContain('discord_command_unacknowledged');
  });
});
