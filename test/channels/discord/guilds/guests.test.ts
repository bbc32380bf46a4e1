/** Commands where the bot is not a member: in other people's chats, and in servers where only a user installed it. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import type { FakePerson } from '../../../fakes/discord/platform.ts';

const WAIT = { timeout: 5_000, interval: 5 };

describe('the bot as a guest on Discord', () => {
  let setup: DiscordSetup;
  let ada: FakePerson;

  beforeEach(async () => {
    setup = await DiscordSetup.open();
    ada = setup.discord.person('Ada');
  });
  afterEach(async () => {
    await setup.close();
  });

  const registered = async (): Promise<
    { name: string; contexts: number[]; integration_types: number[] }[]
  > => {
    await setup.start();
    await vi.waitFor(() => expect(setup.discord.platform.commandWrites).toBe(1), WAIT);
    return setup.discord.platform.commands as never;
  };

  it('is offered where the app is set to be installed by users, in every kind of chat', async () => {
    const ask = (await registered()).find(({ name }) => name === 'ask');
    expect(ask).toMatchObject({ contexts: [0, 1, 2], integration_types: [0, 1] });
    setup.replace();
    await setup.start();
    setup.discord.slash(setup.discord.dm().channel, 'ask', { prompt: 'end' }, ada);
    await vi.waitFor(() => expect(setup.contents).toEqual(['end']), WAIT);
    expect(setup.discord.platform.commandWrites).toBe(1);
  });

  it('is not offered to users where the app is only for servers: Discord would refuse the whole list', async () => {
    setup.discord.platform.installations = [0];
    expect((await registered()).map(({ integration_types: kinds }) => kinds)).toEqual(
      expect.arrayContaining([[0]]),
    );
  });

  it.each([
    ['a group chat of others', (all: DiscordSetup) => all.discord.platform.addChannel(3, { isGuest: true })],
    ['a foreign server', (all: DiscordSetup) => all.discord.platform.addChannel(0, { isGuest: true })],
  ])('is marked as a guest in %s, and answers by the token alone', async (_name, open) => {
    await setup.start();
    const chat = open(setup);
    setup.discord.slash(chat, 'ask', { prompt: 'hello' }, ada);
    await vi.waitFor(() => expect(setup.contents).toEqual(['hello']), WAIT);
    const [message] = setup.received;
    expect(message).toMatchObject({ isGuest: true, place: 'group', chatId: chat.id });
    if (message?.placeholder === undefined) throw new Error('no reply');
    const place = { channel: 'discord', chatId: chat.id };
    await setup.channel.typing?.(place);
    const sent = await setup.channel.edit?.(message.placeholder, setup.part(chat.id, 'first'));
    await setup.channel.send({ ...setup.part(chat.id, 'second'), ...(sent && { after: sent }) });
    expect(setup.discord.screen(chat)).toEqual(['first', 'second']);
    expect(setup.channel.health()).toEqual({ state: 'up' });
    expect(setup.discord.rest.calls.filter((call) => call.includes(`/channels/${chat.id}`))).toEqual([]);
  });

  it('is not a guest in servers that have installed it, and in private', async () => {
    await setup.start();
    setup.discord.slash(setup.discord.platform.addChannel(0), 'ask', { prompt: 'one' }, ada);
    setup.discord.slash(setup.discord.dm().channel, 'ask', { prompt: 'two' }, ada);
    await vi.waitFor(() => expect(setup.received).toHaveLength(2), WAIT);
    expect(setup.received.map(({ isGuest }) => isGuest)).toEqual([undefined, undefined]);
  });

  it('shows only to the stranger that it does not answer them', async () => {
    setup.verdict = () => Promise.resolve({ kind: 'refused', code: 'pairing', reply: 'Who are you?' });
    await setup.start();
    const chat = setup.discord.platform.addChannel(3, { isGuest: true });
    setup.discord.slash(chat, 'ask', { prompt: 'hello' }, ada);
    await vi.waitFor(() => expect(setup.discord.screen(chat, ada)).toEqual(['Who are you?']), WAIT);
    expect(setup.discord.screen(chat)).toEqual([]);
  });
});
