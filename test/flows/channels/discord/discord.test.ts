/** Discord, from what a user writes or asks for to what their screen shows, through a whole gateway. */
import { expect, it, vi } from 'vitest';
import type { Answer } from '../../../fakes/ollama/ollama.ts';
import type { FakeChannel, FakePerson } from '../../../fakes/discord/platform.ts';
import { describeGateway, HALF, WAIT } from '../../setup.ts';

const THINKING = 'Parley is thinking...';
const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

describeGateway('Discord', { discord: true }, (fixture) => {
  let count = 0;
  /** A private chat with a user whom the owner has paired, and the model's answer to them. */
  const friend = async (): Promise<{ channel: FakeChannel; person: FakePerson; tag: string }> => {
    const { channel, person } = fixture().discord.dm();
    await fixture().store.access.addGrant('discord', 'dm', person.id);
    count += 1;
    return { channel, person, tag: `tag${count}.` };
  };
  /** A channel of a guild, with its own grant. */
  const room = async (): Promise<{ channel: FakeChannel; person: FakePerson; tag: string }> => {
    const channel = fixture().discord.platform.addChannel(0);
    await fixture().store.access.addGrant('discord', 'group', channel.id);
    count += 1;
    return { channel, person: fixture().discord.person('Bo'), tag: `tag${count}.` };
  };
  const answers = (tag: string, answer: Answer): void => fixture().ollama.answer(answer, { when: tag });
  /** What the bot shows; users' own messages left out. */
  const screen = (channel: FakeChannel, viewer?: FakePerson): string[] => {
    const seen = fixture().discord.visible(channel, viewer);
    const shown = fixture().discord.screen(channel, viewer);
    return shown.filter((_, index) => seen[index]?.author.bot === true);
  };
  const stored = async (channel: FakeChannel): Promise<string[]> => {
    const messages = await fixture().messages(`discord:${channel.id}`);
    return messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
  };
  const idle = (channel: FakeChannel): Promise<unknown> => fixture().idle(`discord:${channel.id}`);

  it('lets a private answer grow by edits and end as exactly the stored text (B-43)', async () => {
    const { channel, person, tag } = await friend();
    answers(tag, { text: words(60), failure: HALF });
    fixture().discord.says(channel, tag, person);
    await fixture().releaseOnce(tag, () => screen(channel).join().endsWith('word29'));
    await vi.waitFor(() => expect(screen(channel)).toEqual([words(60)]), WAIT);
    await idle(channel);
    const [answer] = fixture()
      .discord.visible(channel)
      .filter(({ author }) => author.bot === true);
    expect(answer?.history.length).toBeGreaterThan(1);
    for (const text of answer?.history ?? []) expect(words(60).startsWith(text)).toBe(true);
    expect(await stored(channel)).toEqual([words(60)]);
  });

  it('gives a stranger one code, and answers a guild only with a grant and when it is mentioned', async () => {
    const { channel, person } = fixture().discord.dm('Eve');
    for (let n = 0; n < 8; n += 1) fixture().discord.says(channel, `hi ${n}`, person);
    await vi.waitFor(() => expect(screen(channel).join('')).toContain('pair approve'), WAIT);
    const { channel: open, person: bo, tag } = await room();
    const closed = fixture().discord.platform.addChannel(0);
    fixture().discord.says(closed, `closed ${tag}`, bo, { mention: true });
    fixture().discord.says(open, `unnamed ${tag}`, bo);
    fixture().discord.says(open, `named ${tag}`, bo, { mention: true });
    await vi.waitFor(() => expect(screen(open).join('')).toContain(`named ${tag}`), WAIT);
    await idle(channel);
    expect(screen(channel)).toHaveLength(1);
    expect(screen(open)).toHaveLength(1);
    expect(screen(closed)).toEqual([]);
  });

  it('answers in the threads of a granted channel, each a separate conversation, and in no others', async () => {
    const { channel, person, tag } = await room();
    const threads = [
      fixture().discord.platform.addThread(channel),
      fixture().discord.platform.addThread(channel),
    ] as const;
    const closed = fixture().discord.platform.addThread(fixture().discord.platform.addChannel(0));
    fixture().discord.says(closed, `closed ${tag}`, person, { mention: true });
    fixture().discord.slash(closed, 'ask', { prompt: `closed ${tag}` }, person);
    fixture().discord.says(threads[0], `one ${tag}`, person, { mention: true });
    fixture().discord.slash(threads[1], 'ask', { prompt: `two ${tag}` }, person);
    // Among several people the model reads who is writing.
    const echoed = (text: string): unknown =>
      expect.stringMatching(new RegExp(`^echo: \\[(\\w{16}): Bo writes\\]\n${text}\n\\[\\1: end\\]$`));
    await vi.waitFor(() => expect(screen(threads[0])).toEqual([echoed(`one ${tag}`)]), WAIT);
    await vi.waitFor(() => expect(screen(threads[1])).toEqual([echoed(`two ${tag}`)]), WAIT);
    const sessions = threads.map(({ id }) => `discord:${channel.id}:${id}`);
    const [one, two] = await Promise.all(sessions.map((session) => fixture().messages(session)));
    expect(one?.map(({ content }) => content)).toEqual([`one ${tag}`, echoed(`one ${tag}`)]);
    expect(two?.map(({ content }) => content)).toEqual([`two ${tag}`, echoed(`two ${tag}`)]);
    expect(screen(channel)).toEqual([]);
    expect(
      fixture().ollama.calls.filter(({ body }) => JSON.stringify(body).includes(`closed ${tag}`)),
    ).toEqual([]);
  });

  it('offers /ask and every command of the gateway', async () => {
    const { commands } = await (await fixture().call('/v1/commands')).json();
    const names = commands.map(({ name }: { name: string }) => name);
    await vi.waitFor(() => expect(fixture().discord.platform.commands).toHaveLength(names.length + 3), WAIT);
    expect(fixture().discord.platform.commands).toMatchObject(
      ['ask', ...names, 'Ask about this', 'Summarize from here'].map((name) => ({ name })),
    );
  });

  it('answers /ask in its deferred reply, which grows and ends as the stored text, with no second message', async () => {
    const { channel, person, tag } = await room();
    answers(tag, { text: words(60), hold: true, failure: HALF });
    fixture().discord.slash(channel, 'ask', { prompt: tag }, person);
    const call = await fixture().modelCall(tag);
    await vi.waitFor(() => expect(screen(channel)).toEqual([THINKING]), WAIT);
    call.release();
    await fixture().releaseOnce(tag, () => screen(channel).join().endsWith('word29'));
    await vi.waitFor(() => expect(screen(channel)).toEqual([words(60)]), WAIT);
    await idle(channel);
    expect(screen(channel, person)).toEqual([words(60)]);
    const [reply] = fixture()
      .discord.visible(channel)
      .filter(({ author }) => author.bot === true);
    expect(reply?.history.length).toBeGreaterThan(2);
    expect(await stored(channel)).toEqual([words(60)]);
  });

  it('ends a deferred reply that waits behind another when /stop drops it', async () => {
    const { channel, person, tag } = await room();
    answers(tag, { text: 'never', hold: true });
    fixture().discord.slash(channel, 'ask', { prompt: tag }, person);
    await fixture().modelCall(tag);
    fixture().discord.slash(channel, 'ask', { prompt: 'queued' }, person);
    await vi.waitFor(() => expect(screen(channel)).toEqual([THINKING, THINKING]), WAIT);
    fixture().discord.slash(channel, 'stop', {}, person);
    await vi.waitFor(
      () => expect(screen(channel).join('\n')).toContain('Stopped. 1 queued message was dropped.'),
      WAIT,
    );
    await vi.waitFor(() => expect(screen(channel)).not.toContain(THINKING), WAIT);
    expect(screen(channel).filter((text) => text.includes('(stopped)'))).toHaveLength(2);
  });

  it('stops a running answer within a second of the slash command (N-58, N-60)', async () => {
    const { channel, person, tag } = await friend();
    answers(tag, { text: words(2_000), perSecond: 20 });
    fixture().discord.says(channel, tag, person);
    await vi.waitFor(() => expect(screen(channel).join('')).toContain('word3'), WAIT);
    const call = await fixture().modelCall(tag);
    const asked = performance.now();
    fixture().discord.slash(channel, 'stop', {}, person);
    const { by, at } = await call.closed;
    expect(by).toBe('client');
    expect(at - asked).toBeLessThan(1_000);
    await vi.waitFor(() => expect(screen(channel).join('\n')).toContain('(stopped)'), WAIT);
    await idle(channel);
    expect(screen(channel, person).join('\n')).toContain('Stopped.');
    expect(screen(channel).filter((text) => text.includes('word0'))).toHaveLength(1);
  });

  it('forgets the conversation at /new, and shows /status only to the user who asked', async () => {
    const { channel, person, tag } = await friend();
    fixture().discord.says(channel, `first ${tag}`, person);
    await vi.waitFor(() => expect(screen(channel)).toContain(`echo: first ${tag}`), WAIT);
    fixture().discord.slash(channel, 'status', {}, person);
    await vi.waitFor(() => expect(screen(channel, person).join('\n')).toContain('Model: fake:latest'), WAIT);
    expect(screen(channel).join('\n')).not.toContain('Model: fake:latest');
    fixture().discord.slash(channel, 'new', {}, person);
    await vi.waitFor(() => expect(screen(channel).join('\n')).toContain('new conversation'), WAIT);
    fixture().discord.says(channel, `second ${tag}`, person);
    const { body } = await fixture().modelCall(`second ${tag}`);
    expect(body.messages.map(({ content }) => content).join('\n')).not.toContain('first');
  });

  it('shows one message when the answer to its send was lost', async () => {
    const { channel, person, tag } = await friend();
    fixture().discord.failure({ kind: 'drop', match: new RegExp(`POST /channels/${channel.id}/messages`) });
    answers(tag, 'only once');
    fixture().discord.says(channel, tag, person);
    await vi.waitFor(() => expect(screen(channel)).toEqual(['only once']), WAIT);
    await idle(channel);
    expect(screen(channel)).toEqual(['only once']);
  });

  it('splits a long answer without breaking its code or pinging anyone', async () => {
    const { channel, person, tag } = await friend();
    const code = Array.from(
      { length: 75 },
      (_, n) => `let value${n} = "@everyone <@${person.id}> ${n}";`,
    ).join('\n');
    answers(tag, `Hello @everyone <@${person.id}>\n\n\`\`\`js\n${code}\n\`\`\`\n\nThe end.`);
    fixture().discord.says(channel, tag, person);
    await vi.waitFor(() => expect(screen(channel).join('\n')).toContain('The end.'), WAIT);
    await idle(channel);
    const messages = fixture()
      .discord.visible(channel)
      .filter(({ author }) => author.bot === true);
    expect(messages.length).toBeGreaterThan(2);
    for (const { content, pings } of messages) {
      expect(content.length).toBeLessThanOrEqual(2_000);
      expect(content.split('```').length % 2, 'fences come in pairs').toBe(1);
      expect(pings).toEqual([]);
    }
    for (let n = 0; n < 75; n += 1) expect(screen(channel).join('\n')).toContain(`let value${n} =`);
  });
});
