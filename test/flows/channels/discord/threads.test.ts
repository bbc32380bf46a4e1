/** A thread for each question on Discord: a separate conversation, with its title as its name. */
import { expect, it, vi } from 'vitest';
import { TITLE_REQUEST } from '../../../../src/agent/after-turn/title-worker.ts';
import type { FakeChannel } from '../../../fakes/discord/platform.ts';
import { describeGateway, WAIT } from '../../setup.ts';

const SETTINGS = { channels: { discord: { threads: { all: true } } } };

describeGateway('threads on Discord', { discord: true, file: SETTINGS }, (fixture) => {
  const room = async (): Promise<FakeChannel> => {
    const channel = fixture().discord.platform.addChannel(0);
    await fixture().store.access.addGrant('discord', 'group', channel.id);
    return channel;
  };
  const answersIn = (channel: FakeChannel): string[] =>
    fixture()
      .discord.visible(channel)
      .flatMap(({ author, content }) => (author.bot === true && content !== '' ? [content] : []));

  it('a question is answered in a thread that gets its title, and continues there without a mention', async () => {
    const { discord, ollama } = fixture();
    const { platform } = discord;
    ollama.answer('Trains of the night', { when: TITLE_REQUEST });
    const channel = await room();
    const ada = discord.person('Ada');
    const question = discord.says(channel, 'which train?', ada, { mention: true });
    const thread = await vi.waitFor(() => platform.channel(question.id), WAIT);
    await vi.waitFor(
      () => expect(answersIn(thread)).toEqual([expect.stringContaining('which train?')]),
      WAIT,
    );
    await vi.waitFor(() => expect(thread.name).toBe('Trains of the night'), WAIT);
    discord.says(thread, 'and back?', ada);
    await vi.waitFor(() => expect(answersIn(thread).at(-1)).toContain('and back?'), WAIT);
    const session = `discord:${channel.id}:${thread.id}` as const;
    const said = (await fixture().messages(session)).filter(({ role }) => role === 'user');
    expect(said.map(({ content }) => content)).toEqual(['which train?', 'and back?']);
    expect(answersIn(channel)).toEqual([]);
    await vi.waitFor(() => expect(question.reactions).toEqual(['✅']), WAIT);
  });

  it('a command and a stranger get none', async () => {
    const { discord } = fixture();
    const channel = await room();
    const ada = discord.person('Ada');
    const command = discord.says(channel, '/status', ada, { mention: true });
    await vi.waitFor(() => expect(answersIn(channel)).toHaveLength(1), WAIT);
    const closed = discord.platform.addChannel(0);
    const refused = discord.says(closed, 'may I?', ada, { mention: true });
    const end = discord.says(channel, 'end', ada, { mention: true });
    await vi.waitFor(() => expect(discord.platform.channels.has(end.id)).toBe(true), WAIT);
    expect(discord.platform.channels.has(command.id)).toBe(false);
    expect(discord.platform.channels.has(refused.id)).toBe(false);
  });

  it('a thread has its own grant, even if its channel has none', async () => {
    const { discord } = fixture();
    const channel = discord.platform.addChannel(0);
    const [granted, other] = [discord.platform.addThread(channel), discord.platform.addThread(channel)];
    await fixture().store.access.addGrant('discord', 'group', granted.id);
    const ada = discord.person('Ada');
    discord.says(other, 'not here', ada, { mention: true });
    discord.says(granted, 'here', ada, { mention: true });
    await vi.waitFor(() => expect(answersIn(granted)).toEqual([expect.stringContaining('here')]), WAIT);
    expect(answersIn(other)).toEqual([]);
  });
});
