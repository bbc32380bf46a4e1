/** Discord as people use it besides writing: replies, reactions, roles and edits. */
import { expect, it, vi } from 'vitest';
import { changed, edits, reacts } from '../../../fakes/discord/acts.ts';
import type { FakeChannel, FakeMessage, FakePerson } from '../../../fakes/discord/platform.ts';
import { describeGateway, WAIT } from '../../setup.ts';

describeGateway('Discord, besides plain messages', { discord: true }, (fixture) => {
  const room = async (): Promise<{ channel: FakeChannel; person: FakePerson }> => {
    const channel = fixture().discord.platform.addChannel(0);
    await fixture().store.access.addGrant('discord', 'group', channel.id);
    return { channel, person: fixture().discord.person('Bo') };
  };
  const friend = async (): Promise<{ channel: FakeChannel; person: FakePerson }> => {
    const { channel, person } = fixture().discord.dm();
    await fixture().store.access.addGrant('discord', 'dm', person.id);
    return { channel, person };
  };
  const ofBot = (channel: FakeChannel): FakeMessage[] =>
    fixture()
      .discord.visible(channel)
      .filter(({ author }) => author.bot === true);

  it('answers reply to their question in a channel, and to nothing in private', async () => {
    const { channel, person } = await room();
    const question = fixture().discord.says(channel, 'which one', person, { mention: true });
    await vi.waitFor(() => expect(ofBot(channel)[0]?.replyTo?.id).toBe(question.id), WAIT);
    expect(ofBot(channel)[0]?.pings).toEqual([]);
    const { channel: dm, person: ada } = await friend();
    fixture().discord.says(dm, 'hello', ada);
    await vi.waitFor(() => expect(fixture().discord.screen(dm)).toContain('echo: hello'), WAIT);
    expect(ofBot(dm)[0]?.replyTo).toBeUndefined();
  });

  it('a question in a channel shows that it is waiting, being worked on, and was answered or failed', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await room();
    ollama.answer({ text: 'one', hold: true }, { when: 'question A' });
    const first = discord.says(channel, 'question A', person, { mention: true });
    const call = await fixture().modelCall('question A');
    await vi.waitFor(() => expect(first.reactions).toEqual(['👀']), WAIT);
    const second = discord.says(channel, 'question B', person, { mention: true });
    await vi.waitFor(() => expect(second.reactions).toEqual(['⏳']), WAIT);
    call.release();
    await vi.waitFor(() => expect(first.reactions).toEqual(['✅']), WAIT);
    await vi.waitFor(() => expect(second.reactions).toEqual(['✅']), WAIT);
    const failure = { kind: 'status', status: 400, error: 'this model is broken' } as const;
    ollama.answer({ failure }, { when: 'question C', times: Infinity });
    const third = discord.says(channel, 'question C', person, { mention: true });
    await vi.waitFor(() => expect(third.reactions).toEqual(['❌']), WAIT);
    const { channel: dm, person: ada } = await friend();
    const quiet = discord.says(dm, 'in private', ada);
    await vi.waitFor(() => expect(discord.screen(dm)).toContain('echo: in private'), WAIT);
    expect(quiet.reactions).toEqual([]);
  });

  it('questions are still answered in a channel where the bot may not react', async () => {
    const { discord } = fixture();
    const { channel, person } = await room();
    channel.noReactions = true;
    const first = discord.says(channel, 'no reactions', person, { mention: true });
    await vi.waitFor(() => expect(discord.screen(channel).at(-1)).toContain('no reactions'), WAIT);
    await vi.waitFor(() => expect(ofBot(channel)).toHaveLength(1), WAIT);
    expect(first.reactions).toEqual([]);
  });

  it('👎 or ⏹ at a growing answer stops it, but not at any other message or from a stranger', async () => {
    const { discord, ollama } = fixture();
    const { channel: server, person: bo } = await room();
    const thread = discord.platform.addThread(server);
    const { channel: dm, person: ada } = await friend();
    const places = [
      [server, bo, '👎'],
      [thread, bo, '⏹️'],
      [dm, ada, '👎'],
    ] as const;
    for (const [channel, person, emoji] of places) {
      const tag = `long ${channel.id}`;
      ollama.answer({ text: 'word '.repeat(4_000), perSecond: 20 }, { when: tag });
      const question = discord.says(channel, tag, person, { mention: true });
      const call = await fixture().modelCall(tag);
      await vi.waitFor(() => expect(ofBot(channel)[0]?.content).toContain('word'), WAIT);
      const answer = ofBot(channel)[0] ?? question;
      reacts(discord, question, person, emoji);
      reacts(discord, answer, person, '👍');
      if (channel === dm) reacts(discord, answer, discord.person('Eve'), emoji);
      const shown = answer.history.length;
      await vi.waitFor(() => expect(answer.history.length).toBeGreaterThan(shown), WAIT);
      expect(answer.content).not.toContain('(stopped)');
      reacts(discord, answer, person, emoji);
      expect((await call.closed).by).toBe('client');
      await vi.waitFor(() => expect(ofBot(channel)[0]?.content).toMatch(/\(stopped\)/), WAIT);
    }
  });

  it('👎 at the growing reply to /ask stops it', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await room();
    ollama.answer({ text: 'word '.repeat(4_000), perSecond: 20 }, { when: 'asked at length' });
    discord.slash(channel, 'ask', { prompt: 'asked at length' }, person);
    const call = await fixture().modelCall('asked at length');
    await vi.waitFor(() => expect(ofBot(channel)[0]?.content).toContain('word'), WAIT);
    const [answer] = ofBot(channel);
    const shown = answer?.history.length ?? 0;
    await vi.waitFor(() => expect(answer?.history.length).toBeGreaterThan(shown), WAIT);
    if (answer !== undefined) reacts(discord, answer, person, '👎');
    expect((await call.closed).by).toBe('client');
  });

  it("a mention of the bot's own role is a mention of the bot; one of another role is not", async () => {
    const { discord } = fixture();
    const { channel, person } = await room();
    const other = discord.says(channel, '<@&424242424242424242> other role', person);
    other.mentionRoles = ['424242424242424242'];
    discord.deliver(other);
    discord.says(channel, 'own role', person, { mentionRole: true });
    await vi.waitFor(() => expect(ofBot(channel)[0]?.content).toContain('own role'), WAIT);
    expect(ofBot(channel)).toHaveLength(1);
    expect(ofBot(channel)[0]?.content).not.toContain('<@&');
  });

  it('an edit before the turn changes the question; a preview that Discord adds changes nothing', async () => {
    const { discord, ollama } = fixture();
    const { channel, person } = await friend();
    ollama.answer({ text: 'first', hold: true }, { when: 'hold on' });
    discord.says(channel, 'hold on', person);
    const call = await fixture().modelCall('hold on');
    const question = discord.says(channel, 'what is a zebbra', person);
    await vi.waitFor(async () => {
      const { waiting } = await fixture().store.ledger.queue(`discord:${channel.id}`);
      expect(waiting).toBe(1);
    }, WAIT);
    changed(discord, question);
    edits(discord, question, 'what is a zebra');
    await vi.waitFor(async () => {
      const messages = await fixture().messages(`discord:${channel.id}`);
      expect(messages.map(({ content }) => content)).toContain('what is a zebra');
    }, WAIT);
    call.release();
    await vi.waitFor(() => expect(discord.screen(channel)).toContain('echo: what is a zebra'), WAIT);
  });
});
