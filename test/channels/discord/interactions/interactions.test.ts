/** Slash commands: registered once, committed and deferred in time, answered in their reply. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Receipt } from '../../../../src/protocol/receive.ts';
import { ACCEPTED } from '../../../fakes/gateway/channel-setup.ts';
import { Refusal } from '../../../fakes/discord/platform.ts';
import { openSlashRoom, type SlashRoom, THINKING, WAIT } from '../../../fakes/discord/slash-room.ts';

describe('slash commands', () => {
  let slash: SlashRoom;

  beforeEach(async () => {
    slash = await openSlashRoom();
  });
  afterEach(async () => {
    await slash.setup.close();
  });

  it('are registered once; an unchanged list is not written again', async () => {
    await slash.setup.start();
    await vi.waitFor(() => expect(slash.setup.discord.platform.commandWrites).toBe(1), WAIT);
    expect(slash.setup.discord.platform.commands).toMatchObject([
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
      slash.setup.discord.rest.calls.filter((call) => /^GET .*commands/.test(call)).length;
    await slash.setup.channel.stop();
    await slash.setup.start();
    await vi.waitFor(() => expect(reads()).toBe(2), WAIT);
    await slash.setup.channel.stop();
    expect(slash.setup.discord.platform.commandWrites).toBe(1);
  });

  it('do not keep the channel from receiving when they cannot be registered, and are registered later', async () => {
    slash.setup.discord.failure({ kind: 'status', status: 500, match: /commands/ });
    await slash.setup.start();
    slash.setup.discord.says(slash.room, 'hello', slash.ada);
    await vi.waitFor(() => expect(slash.setup.contents).toEqual(['hello']), WAIT);
    expect(slash.setup.discord.platform.commandWrites).toBe(0);
    await vi.waitFor(() => expect(slash.setup.discord.platform.commandWrites).toBe(1), WAIT);
  });

  it('are logged when they are refused permanently', async () => {
    slash.setup.discord.failure({
      kind: 'refuse',
      refusal: new Refusal(403, 50_001, 'Missing Access'),
      match: /commands/,
    });
    await slash.setup.start();
    await vi.waitFor(
      () => expect(slash.setup.log.join('')).toContain('discord_commands_not_registered'),
      WAIT,
    );
  });

  it('are committed first, then deferred, and the answer grows in the deferred reply (T1)', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    slash.setup.verdict = async () => await promise;
    await slash.setup.start();
    const placeholder = await slash.ask('why is the sky blue?');
    expect(slash.setup.received[0]).toMatchObject({
      content: 'why is the sky blue?',
      chatId: slash.room.id,
      senderId: slash.ada.id,
      senderName: 'Ada',
      place: 'group',
      mentioned: true,
    });
    expect(slash.setup.discord.screen(slash.room)).toEqual([]);
    resolve(ACCEPTED);
    await slash.shows([THINKING]);
    await slash.edit(placeholder, 'Because');
    await slash.edit(placeholder, 'Because of **Rayleigh**.');
    expect(slash.setup.discord.screen(slash.room)).toEqual(['Because of Rayleigh.']);
    expect(slash.setup.discord.visible(slash.room)[0]?.history).toEqual([
      '',
      'Because',
      'Because of **Rayleigh**.',
    ]);
  });

  it('are deferred before any edit of their reply', async () => {
    const gate = Promise.withResolvers<void>();
    slash.setup.discord.failure({ kind: 'hold', match: /callback/, until: gate.promise });
    await slash.setup.start();
    const placeholder = await slash.ask('quick?');
    const edited = slash.edit(placeholder, 'Very quick.');
    await vi.waitFor(() => expect(slash.setup.discord.rest.calls.join()).toContain('callback'), WAIT);
    expect(slash.setup.discord.rest.calls.join()).not.toContain('@original');
    gate.resolve();
    await edited;
    expect(slash.setup.discord.screen(slash.room)).toEqual(['Very quick.']);
  });

  it('are deferred before a commit that takes too long, and still answered', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    slash.setup.verdict = async () => await promise;
    await slash.setup.start();
    const placeholder = await slash.ask('slow store?');
    await slash.shows([THINKING]);
    resolve(ACCEPTED);
    await slash.edit(placeholder, 'Here I am.');
    expect(slash.setup.discord.screen(slash.room)).toEqual(['Here I am.']);
  });

  it.each(['/status', '/queue'])(
    '%s is deferred only for the user who sent it, and only if the commit is slow',
    async (name) => {
      const { promise, resolve } = Promise.withResolvers<Receipt>();
      slash.setup.verdict = async () => await promise;
      await slash.setup.start();
      slash.setup.discord.slash(slash.room, name, {}, slash.ada);
      await slash.shows([THINKING], slash.ada);
      expect(slash.setup.discord.screen(slash.room)).toEqual([]);
      resolve({ kind: 'handled', reply: 'for Ada alone' });
      await slash.shows(['for Ada alone'], slash.ada);
      expect(slash.setup.discord.screen(slash.room)).toEqual([]);
    },
  );

  it.each(['/stop', '/new'])('%s is deferred for everyone to see if the commit is slow', async (name) => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    slash.setup.verdict = async () => await promise;
    await slash.setup.start();
    slash.setup.discord.slash(slash.room, name, {}, slash.ada);
    await slash.shows([THINKING]);
    resolve({ kind: 'handled', reply: 'Stopped.' });
    await slash.shows(['Stopped.']);
    expect(slash.setup.received).toHaveLength(1);
  });

  it('get an error in the deferred reply when a slow commit eventually fails', async () => {
    const { promise, reject } = Promise.withResolvers<Receipt>();
    slash.setup.verdict = async () => await promise;
    await slash.setup.start();
    await slash.ask('lost?');
    await slash.shows([THINKING]);
    reject(new Error('store gone'));
    await vi.waitFor(() => expect(slash.setup.discord.screen(slash.room)).not.toContain(THINKING), WAIT);
    expect(slash.setup.discord.screen(slash.room)).toEqual([
      'Your message could not be saved just now. Please send it again in a moment.',
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
      slash.setup.verdict = () => Promise.resolve(receipt);
      await slash.setup.start();
      slash.setup.discord.slash(slash.room, command, command === '/ask' ? { prompt: 'x' } : {}, slash.ada);
      await slash.shows([text], slash.ada);
      expect(slash.setup.contents).toEqual([command === '/ask' ? 'x' : command]);
      expect(slash.setup.discord.screen(slash.room)).toEqual(onlyForAsker ? [] : [text]);
    },
  );

  it('carry their argument as text after the name', async () => {
    slash.setup.verdict = () => Promise.resolve({ kind: 'handled', reply: 'Steering.' });
    await slash.setup.start();
    slash.setup.discord.slash(slash.room, '/queue', { mode: ' steer' }, slash.ada);
    slash.setup.discord.slash(slash.room, '/queue', {}, slash.ada);
    await vi.waitFor(() => expect(slash.setup.contents).toEqual(['/queue  steer', '/queue']), WAIT);
  });

  it('repeated after a resume have the same id and no second reply', async () => {
    await slash.setup.start();
    await slash.ask('once');
    await slash.shows([THINKING]);
    const [interaction] = slash.setup.discord.platform.interactions.values();
    slash.setup.discord.gateway.dispatch('INTERACTION_CREATE', 0, () => ({
      id: interaction?.id,
      application_id: slash.setup.discord.platform.applicationId,
      type: 2,
      token: interaction?.token,
      version: 1,
      channel_id: slash.room.id,
      channel: { id: slash.room.id, type: 0 },
      user: { id: slash.ada.id, username: 'ada', discriminator: '0', avatar: null },
      data: {
        id: interaction?.id,
        name: 'ask',
        type: 1,
        options: [{ name: 'prompt', type: 3, value: 'once' }],
      },
    }));
    await vi.waitFor(() => expect(slash.setup.received).toHaveLength(2), WAIT);
    await slash.setup.channel.stop();
    expect(new Set(slash.setup.received.map(({ id }) => id)).size).toBe(1);
    expect(slash.setup.discord.screen(slash.room)).toEqual([THINKING]);
    expect(slash.setup.log.join('')).not.toContain('discord_command_unacknowledged');
  });
});
