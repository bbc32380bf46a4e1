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
  it(`is read up to its message ${MAX_PAGES * PAGE}, and the newest of these are kept`, async () => {
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
