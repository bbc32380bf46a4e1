/** What the channel reads of a Slack thread, over real sockets. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_PAGES, PAGE } from '../../../channels/slack/thread.ts';
import { SlackSetup } from '../../fakes/slack/setup.ts';

let setup: SlackSetup;
beforeEach(async () => {
  setup = await SlackSetup.open();
});
afterEach(() => setup.close());

describe('a thread on Slack', () => {
  it('of 5,000 messages is read from its end, in a few calls', async () => {
    const { workspace, calls } = setup.slack;
    const chat = workspace.channel();
    const ada = workspace.person('Ada');
    // Every half a minute for two days, until now.
    const tsOf = (n: number): string => (Date.now() / 1_000 - (5_000 - n) * 30).toFixed(6);
    const { ts: threadTs } = workspace.add(chat, { user: ada.id, text: 'm1', ts: tsOf(1) });
    for (let n = 2; n <= 5_000; n += 1)
      workspace.add(chat, { user: ada.id, text: `m${n}`, threadTs, ts: tsOf(n) });
    const place = { channel: 'slack', chatId: chat.id, threadId: threadTs };
    const numbers = async (limit: number, messageId?: string): Promise<(string | undefined)[]> => {
      const read = (await setup.channel.before?.(place, messageId, limit)) ?? [];
      return [String(read.length), read[0]?.content, read.at(-1)?.content];
    };
    expect(await numbers(50)).toEqual(['50', 'm4951', 'm5000']);
    expect(await numbers(50, chat.messages[2_500]?.ts)).toEqual(['50', 'm2451', 'm2500']);
    expect(calls.filter((one) => one === 'conversations.replies').length).toBeLessThan(10);
  });

  it(`of more than ${MAX_PAGES * PAGE} messages in a minute is read up to that one`, async () => {
    const { workspace } = setup.slack;
    const chat = workspace.channel();
    const ada = workspace.person('Ada');
    const { ts: threadTs } = workspace.add(chat, { user: ada.id, text: 'm1' });
    for (let n = 2; n <= MAX_PAGES * PAGE; n += 1)
      workspace.add(chat, { user: ada.id, text: `m${n}`, threadTs });
    const place = { channel: 'slack', chatId: chat.id, threadId: threadTs };
    const read = async (messageId?: string) =>
      (await setup.channel.before?.(place, messageId, 3))?.map(({ content }) => content);
    const last = MAX_PAGES * PAGE;
    expect(await read()).toEqual([`m${last - 2}`, `m${last - 1}`, `m${last}`]);
    expect(await read(chat.messages[3]?.ts)).toEqual(['m1', 'm2', 'm3']);
    workspace.add(chat, { user: ada.id, text: 'too far', threadTs });
    expect((await read())?.at(-1)).toBe(`m${last}`);
  });

  it('contains the answers of the bot, and no notices of Slack', async () => {
    const { workspace } = setup.slack;
    const chat = workspace.channel();
    const ada = workspace.person('Ada');
    const { ts: threadTs } = workspace.add(chat, { user: ada.id, text: 'q' });
    workspace.add(chat, { user: workspace.bot.userId, botId: workspace.bot.botId, text: 'a', threadTs });
    workspace.add(chat, { user: ada.id, text: 'joined', subtype: 'channel_join', threadTs });
    const place = { channel: 'slack', chatId: chat.id, threadId: threadTs };
    expect(await setup.channel.before?.(place, undefined, 9)).toMatchObject([
      { content: 'q', senderName: 'Ada', isOwn: false },
      { content: 'a', isOwn: true },
    ]);
  });
});
