/** Threads on Discord that people opened: what was said there before the bot was asked, and follow-ups without a mention. */
import { expect, it, vi } from 'vitest';
import type { FakeChannel } from '../../../fakes/discord/platform.ts';
import { openThread } from '../../../fakes/discord/threads.ts';
import { lastUserText } from '../../../fakes/model/spoken-text.ts';
import { describeGateway, WAIT } from '../../setup.ts';

describeGateway('a thread of people on Discord', { discord: true }, (fixture) => {
  const room = async (): Promise<FakeChannel> => {
    const channel = fixture().discord.platform.addChannel(0);
    await fixture().store.access.addGrant('discord', 'group', channel.id);
    return channel;
  };
  const heard = async (said: string): Promise<string> => lastUserText((await fixture().modelCall(said)).body);
  const answers = (channel: FakeChannel): string[] =>
    fixture()
      .discord.visible(channel)
      .flatMap(({ author, content }) => (author.bot === true && content !== '' ? [content] : []));

  it('is read when the bot is first asked there, with the message that it was started from', async () => {
    const { discord } = fixture();
    const channel = await room();
    const [ada, bob] = [discord.person('Ada'), discord.person('Bob')];
    const embeds = [
      {
        type: 'rich',
        title: 'TypeError in checkout',
        url: 'https://sentry.example/1',
        description: 'x is null',
        fields: [{ name: 'Release', value: '1.2.3', inline: true }],
        footer: { text: 'production' },
      },
    ];
    const alert = discord.says(channel, '', bob, { webhook: true, fields: { embeds } });
    const thread = openThread(discord.platform, alert, bob, 'checkout');
    discord.says(thread, 'Since the deploy at nine.', bob);
    const secret = discord.says(channel, 'see the runbook', ada);
    discord.says(thread, '', ada, { forwards: secret });
    discord.says(thread, 'summarize this thread', ada, { mention: true });
    const read = await heard('summarize this thread');
    expect(read).toContain('TypeError in checkout (https://sentry.example/1)');
    expect(read).toContain('x is null Release: 1.2.3 production');
    expect(read).toContain('Bob: Since the deploy at nine.');
    expect(read).toContain('Ada: (forwarded) see the runbook');
  });

  it('goes on without a mention, until someone else writes there', async () => {
    const { discord } = fixture();
    const channel = await room();
    const [ada, bob] = [discord.person('Ada'), discord.person('Bob')];
    const thread = openThread(discord.platform, discord.says(channel, 'Capitals', ada), ada, 'capitals');
    discord.says(thread, 'capital of France?', ada, { mention: true });
    await vi.waitFor(() => expect(answers(thread)).toHaveLength(1), WAIT);
    discord.says(thread, 'and of Spain?', ada);
    await vi.waitFor(() => expect(answers(thread)).toHaveLength(2), WAIT);
    discord.says(thread, 'Madrid is nice', bob);
    discord.says(thread, 'yes, Bob', ada);
    discord.says(thread, 'and of Chile?', ada, { mention: true });
    const read = await heard('and of Chile?');
    expect(read).toContain('Bob: Madrid is nice');
    expect(read).toContain('Ada: yes, Bob');
    await vi.waitFor(() => expect(answers(thread)).toHaveLength(3), WAIT);
  });
});
