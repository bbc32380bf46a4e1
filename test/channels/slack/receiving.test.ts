/**
 * What arrives from Slack: mentions, threads, edits, shared messages, the connection's renewal, and what was missed in
 * between.
 */
import { wordedHealth } from '../../fakes/gateway/worded-health.ts';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { manifest } from '../../../channels/slack/manifest.ts';
import { MAX_CHATS_READ, MAX_PAGES } from '../../../channels/slack/catch-up.ts';
import { MAX_WAITING } from '../../../channels/slack/inbox.ts';
import { StoreError } from '../../../src/protocol/errors.ts';
import type { Receipt } from '../../../src/protocol/receive.ts';
import { SlackSetup } from '../../fakes/slack/setup.ts';
import { ACCEPTED } from '../../fakes/gateway/channel-setup.ts';
import { SLACK_TOKEN } from '../../fakes/slack/slack.ts';
import type { FakeChat, FakePerson } from '../../fakes/slack/workspace.ts';

const WAIT = { timeout: 8_000, interval: 5 };
const HOUR_MS = 3_600_000;

let setup: SlackSetup;
let channel: FakeChat;
let ada: FakePerson;
beforeEach(async () => {
  setup = await SlackSetup.open();
  channel = setup.slack.workspace.channel();
  ada = setup.slack.workspace.person('Ada');
});
afterEach(() => setup.close());

const bot = (): string => `<@${setup.slack.workspace.bot.userId}>`;
const received = (count: number) =>
  vi.waitFor(() => {
    expect(setup.received.length).toBeGreaterThanOrEqual(count);
    return setup.received;
  }, WAIT);

describe('messages of Slack', () => {
  it('in a channel start a new thread, or continue an existing one', async () => {
    await setup.start();
    const root = setup.slack.says(channel, `${bot()} what is up?`, ada);
    setup.slack.says(channel, 'and then?', ada, { threadTs: root.ts });
    const [first, second] = await received(2);
    expect(first).toMatchObject({
      content: 'what is up?',
      threadId: root.ts,
      mentioned: true,
      place: 'group',
    });
    expect(second).toMatchObject({ content: 'and then?', threadId: root.ts, mentioned: false });
  });

  it('carry the name of their channel if they are for the bot, and none of a group of people', async () => {
    channel.name = 'plans';
    const several = setup.slack.workspace.channel();
    several.kind = 'mpim';
    await setup.start();
    setup.slack.says(channel, 'not to the bot', ada);
    for (const chat of [channel, channel, several]) setup.slack.says(chat, `${bot()} hello`, ada);
    const named = (await received(4)).map(({ chatId, chatName = 'none' }) => `${chatId} ${chatName}`);
    expect(new Set(named)).toEqual(
      new Set([`${channel.id} none`, `${channel.id} plans`, `${several.id} none`]),
    );
  });

  it('in a thread are commands in the form for threads, where Slack accepts none with /parley', async () => {
    await setup.start();
    const root = setup.slack.says(channel, `${bot()} what is up?`, ada);
    const { threadId } = (await received(1))[0] ?? {};
    const written = manifest.writeCommand('stop', { threadId });
    expect(written).toBe('@parley /stop');
    setup.slack.says(channel, written.replace('@parley', bot()), ada, { threadTs: root.ts });
    expect((await received(2))[1]).toMatchObject({ content: '/stop', threadId: root.ts });
  });

  it('in a thread that the bot started are meant for it', async () => {
    await setup.start();
    const { id } = await setup.channel.send(setup.part(channel.id, 'Good morning.'));
    setup.slack.says(channel, 'you, too', ada, { threadTs: id });
    expect(await received(1)).toMatchObject([{ content: 'you, too', mentioned: true, threadId: id }]);
  });

  it('that arrive as `message` and as `app_mention` have one id', async () => {
    await setup.start();
    const message = setup.slack.says(channel, `${bot()} hello`, ada);
    const { ts, user, text } = message;
    setup.slack.event({ type: 'app_mention', ts, user, text, channel: channel.id });
    const [one, other] = await received(2);
    expect(one?.id).toBe(other?.id);
  });

  it('are read as words: names, channels, links and escapes', async () => {
    await setup.start();
    const text = `ask <@${ada.id}> in <#C0123ABC|general> about <https://example.test/?a=1&amp;b|this> &lt;b&gt; <!here>`;
    setup.slack.says(channel, text, ada);
    const [message] = await received(1);
    expect(message?.content).toBe('ask @Ada in #general about this (https://example.test/?a=1&b) <b> @here');
    expect(message?.senderName).toBe('Ada');
  });

  it('arrive without names when those cannot be read', async () => {
    setup.slack.scopes = setup.slack.scopes.filter((scope) => scope !== 'users:read');
    await setup.start();
    setup.slack.says(channel, 'hello', ada);
    expect(await received(1)).toMatchObject([{ content: 'hello', senderName: undefined, senderId: ada.id }]);
  });

  it('that are edited are marked; a preview of a link is not an edit', async () => {
    await setup.start();
    const message = setup.slack.says(channel, 'first', ada);
    setup.slack.edits(channel, message, 'first');
    setup.slack.edits(channel, message, 'second');
    const [, edit] = await received(2);
    expect(edit).toMatchObject({ content: 'second', isEdit: true, messageId: message.ts });
    expect(setup.contents).toEqual(['first', 'second']);
  });

  it('of others that are shared are quoted next to a text, and forwarded when alone', async () => {
    await setup.start();
    const attachments = [{ is_share: true, text: 'secret plan', author_name: 'Eve', author_id: 'U0EVE' }];
    setup.slack.says(channel, 'what is this?', ada, { attachments });
    setup.slack.says(channel, '', ada, { attachments });
    const [beside, alone] = await received(2);
    expect(beside).toMatchObject({ content: 'what is this?', quoted: { text: 'secret plan', by: 'other' } });
    expect(alone).toMatchObject({ content: 'secret plan', forwarded: true, forwardedFrom: 'Eve' });
  });

  it('with a recording bring a voice message, which needs the bot’s token to be read', async () => {
    await setup.start();
    const files = [
      { name: 'audio.m4a', bytes: Buffer.from('sound'), mimetype: 'audio/mp4', subtype: 'slack_audio' },
    ];
    setup.slack.says(channel, '', ada, { files });
    const [message] = await received(1);
    expect(message?.media).toMatchObject([{ kind: 'voice', mimeType: 'audio/mp4', bytes: 5 }]);
    expect(JSON.stringify(message)).not.toContain(SLACK_TOKEN);
    const media = { ...message?.media[0], kind: 'voice' as const, url: 'https://evil.test/x#F012345' };
    await expect(setup.channel.download?.(media, AbortSignal.timeout(5_000))).rejects.toMatchObject({
      code: 'rejected',
    });
  });

  it('stop an answer with a stop sign under it', async () => {
    await setup.start();
    setup.slack.reacts(channel, '1700000000.000100', 'heart', ada);
    setup.slack.reacts(channel, '1700000000.000100', 'octagonal_sign', ada);
    expect(await received(1)).toMatchObject([{ stops: '1700000000.000100', senderId: ada.id, content: '' }]);
  });

  it('report when the bot joined a channel, and when it left', async () => {
    await setup.start();
    const { userId } = setup.slack.workspace.bot;
    const at = { channel: channel.id, event_ts: '1700000000.000100' };
    setup.slack.event({ type: 'member_joined_channel', user: ada.id, inviter: 'U0EVE', ...at });
    setup.slack.event({ type: 'member_joined_channel', user: userId, inviter: ada.id, ...at });
    setup.slack.event({ type: 'channel_left', ...at });
    await vi.waitFor(() => expect(setup.memberships).toHaveLength(2), WAIT);
    expect(setup.memberships.map(({ change, byId }) => [change, byId])).toEqual([
      ['joined', ada.id],
      ['left', ''],
    ]);
  });
});

describe('the connection to Slack', () => {
  it('is renewed before the old one is given up, so that nothing is lost between them', async () => {
    await setup.start();
    setup.slack.socketMode.recycle('refresh_requested');
    setup.slack.says(channel, 'during', ada);
    await vi.waitFor(() => expect(setup.slack.socketMode.counts.connections).toBe(2), WAIT);
    setup.slack.says(channel, 'after', ada);
    await received(2);
    expect(setup.contents).toEqual(['during', 'after']);
    expect(setup.slack.socketMode.counts).toMatchObject({ missed: 0, foreign: 0 });
    expect(setup.slack.calls).not.toContain('conversations.history');
  });

  it('delivers again what was not acknowledged when it broke, under the same id', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    setup.verdict = () => promise;
    await setup.start();
    setup.slack.says(channel, 'keep me', ada);
    await received(1);
    setup.slack.socketMode.cut();
    await vi.waitFor(() => expect(setup.slack.socketMode.counts.connections).toBe(2), WAIT);
    resolve(ACCEPTED);
    await vi.waitFor(() => expect(setup.slack.socketMode.waiting).toBe(0), WAIT);
    expect(new Set(setup.received.map(({ id }) => id)).size).toBe(1);
  });

  it('reports in its health that Socket Mode was turned off', async () => {
    await setup.start();
    setup.slack.socketMode.recycle('link_disabled');
    await vi.waitFor(
      () => expect(wordedHealth(setup.channel).detail).toContain('Socket Mode is turned off'),
      WAIT,
    );
    expect(setup.channel.health().state).toBe('degraded');
  });

  it('is tried again while Slack cannot be reached', async () => {
    for (let n = 0; n < 3; n += 1)
      setup.slack.failures.push({ kind: 'status', status: 503, match: /^apps\.connections/ });
    await setup.start();
    expect(setup.channel.health()).toEqual({ state: 'up' });
  });
});

describe('what was said while no one was listening', () => {
  const known = (...addresses: string[]): void => {
    const at = Date.now();
    setup.connections.chats = addresses.map((one) => ({ address: one as `slack:${string}`, changedAt: at }));
  };
  const restart = async (whileStopped: () => void): Promise<void> => {
    setup.slack.says(channel, 'heard', ada);
    await received(1);
    await setup.channel.stop();
    whileStopped();
    setup.replace();
    await setup.start();
  };

  it('is read from the history of channels and threads, in order, before anything newer; commands are left out', async () => {
    await setup.start();
    const root = setup.slack.says(channel, 'the thread', ada);
    await received(1);
    setup.groups = [channel.id];
    known(`slack:${channel.id}:${root.ts}`);
    await restart(() => {
      setup.slack.says(channel, 'missed in the thread', ada, { threadTs: root.ts });
      setup.slack.says(channel, `${bot()} /stop`, ada);
      setup.slack.says(channel, 'missed in the channel', ada);
    });
    setup.slack.says(channel, 'live', ada);
    await vi.waitFor(() => expect(setup.contents).toContain('live'), WAIT);
    const fresh = setup.contents.filter((text) => text !== 'heard' && text !== 'the thread');
    // What arrived live and is in the history, too, has one id.
    expect([...new Set(fresh)]).toEqual(['missed in the thread', 'missed in the channel', 'live']);
  });

  it('is read in the other threads of a channel in which one is gone', async () => {
    await setup.start();
    const root = setup.slack.says(channel, 'the thread', ada);
    await received(1);
    known(`slack:${channel.id}:1700000000.000100`, `slack:${channel.id}:${root.ts}`);
    await restart(() => void setup.slack.says(channel, 'missed', ada, { threadTs: root.ts }));
    await vi.waitFor(() => expect(setup.contents).toContain('missed'), WAIT);
    expect(wordedHealth(setup.channel).detail).toContain('missed messages of one chat');
  });

  it.each([2 * HOUR_MS, -2 * HOUR_MS])(
    'is read after a restart with a clock that is %i ms off, and after one without',
    async (offMs) => {
      let aheadMs = offMs;
      const nodes = await SlackSetup.open({ timing: { epochNow: () => Date.now() + aheadMs } });
      onTestFinished(() => nodes.close());
      const { chat, person } = nodes.slack.workspace.dm('Bo');
      nodes.groups = [chat.id];
      await nodes.start();
      for (const text of ['one', 'two']) {
        nodes.slack.says(chat, `heard ${text}`, person);
        await vi.waitFor(() => expect(nodes.contents).toContain(`heard ${text}`), WAIT);
        await nodes.channel.stop();
        aheadMs = offMs - aheadMs;
        nodes.slack.says(chat, `missed ${text}`, person);
        nodes.replace();
        await nodes.start();
        await vi.waitFor(() => expect(nodes.contents).toContain(`missed ${text}`), WAIT);
      }
    },
  );

  it('is reported in the health if it may be in more chats than are read', async () => {
    const chats = Array.from({ length: MAX_CHATS_READ + 1 }, (_, n) => setup.slack.workspace.dm(`${n}`).chat);
    known(...chats.map(({ id }) => `slack:${id}`));
    await setup.start();
    await restart(() => undefined);
    await vi.waitFor(
      () => expect(wordedHealth(setup.channel).detail).toContain('missed messages of one chat'),
      WAIT,
    );
    const read = setup.slack.calls.filter((method) => method === 'conversations.history');
    expect(read).toHaveLength(MAX_CHATS_READ);
  });

  it('is reported in the health if there is more than is read', async () => {
    setup.groups = [channel.id];
    await setup.start();
    await restart(() => {
      for (let n = 0; n <= MAX_PAGES * 100; n += 1) setup.slack.says(channel, `missed ${n}`, ada);
    });
    await vi.waitFor(() => expect(wordedHealth(setup.channel).detail).toContain('could not be read'), WAIT);
    expect(setup.log.some((line) => line.includes('slack_history_truncated'))).toBe(true);
  });

  it('is read after the store was unreachable for longer than messages can wait here', async () => {
    setup.groups = [channel.id];
    let isAway = true;
    setup.verdict = () =>
      isAway
        ? Promise.reject(new StoreError('unavailable', 'away', { retryable: true }))
        : Promise.resolve(ACCEPTED);
    await setup.start();
    for (let n = 0; n <= MAX_WAITING; n += 1) setup.slack.says(channel, `waits ${n}`, ada);
    await vi.waitFor(() => expect(setup.slack.socketMode.waiting).toBe(MAX_WAITING + 1), WAIT);
    isAway = false;
    await vi.waitFor(() => expect(setup.contents).toContain(`waits ${MAX_WAITING - 1}`), {
      ...WAIT,
      timeout: 20_000,
    });
    await vi.waitFor(() => expect(setup.contents).toContain(`waits ${MAX_WAITING}`), {
      ...WAIT,
      timeout: 20_000,
    });
  });
});
