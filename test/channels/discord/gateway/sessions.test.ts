/** What a restart keeps: the session is resumed, and if Discord has forgotten it, what was missed is read. */
import { wordedHealth } from '../../../fakes/gateway/worded-health.ts';
import { setImmediate as immediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { catchUp, type History, MAX_CHATS_READ } from '../../../../channels/discord/receiving/history.ts';
import type { ChannelKinds } from '../../../../channels/discord/receiving/channel-kinds.ts';
import { StoreError } from '../../../../src/protocol/errors.ts';
import { silentLog } from '../../../database.ts';
import { MemoryConnections } from '../../../fakes/stores/connections.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import { partial } from '../../../fakes/discord/partial.ts';
import { ACCEPTED } from '../../../fakes/gateway/channel-setup.ts';
import { type FakeChannel, type FakePerson, Refusal } from '../../../fakes/discord/platform.ts';

const WAIT = { timeout: 10_000, interval: 5 };
const HOUR_MS = 3_600_000;

let setup: DiscordSetup;
let channel: FakeChannel;
let ada: FakePerson;

beforeEach(async () => {
  setup = await DiscordSetup.open();
  ({ channel, person: ada } = setup.discord.dm('Ada'));
});
afterEach(async () => {
  await setup.close();
});
const arrives = async (texts: string[]): Promise<void> => {
  await vi.waitFor(() => expect(setup.contents.toSorted()).toEqual(texts.toSorted()), WAIT);
};
const kept = () => setup.connections.records.get(`discord:${setup.discord.platform.bot.id}`);
/** Waits until the store has the current session, with everything received so far. */
const isKept = async (): Promise<void> => {
  await vi.waitFor(() => expect(kept()?.session?.sequence).toBeGreaterThan(0), WAIT);
};

describe('a restart while Discord keeps the session', () => {
  it('resumes it and receives everything missed, once: first messages of strangers and commands too', async () => {
    await setup.start();
    setup.discord.says(channel, 'before', ada);
    await arrives(['before']);
    await isKept();
    const { channel: first, person: bo } = setup.discord.dm('Bo');
    const room = setup.discord.platform.addChannel(0);
    await setup.restart(() => {
      setup.discord.says(channel, 'meanwhile', ada);
      setup.discord.says(first, 'my first words', bo);
      setup.discord.says(room, 'in a room', bo, { mention: true });
      setup.discord.slash(room, 'ask', { prompt: 'by command' }, bo);
    });
    await arrives(['before', 'meanwhile', 'my first words', 'in a room', 'by command']);
    expect(setup.discord.gateway.counts).toMatchObject({ identifies: 1, resumes: 1 });
    expect(setup.discord.rest.calls.join()).not.toContain('messages?');
    setup.discord.says(channel, 'after', ada);
    await arrives(['before', 'meanwhile', 'my first words', 'in a room', 'by command', 'after']);
  });

  it('receives again what had arrived and was not stored, and what came after it', async () => {
    await setup.start();
    await isKept();
    let away = true;
    setup.verdict = ({ content }) =>
      away && content === 'unstored'
        ? Promise.reject(new StoreError('unavailable', 'no store', { retryable: true }))
        : Promise.resolve(ACCEPTED);
    const { channel: other, person: bo } = setup.discord.dm('Bo');
    setup.discord.says(channel, 'unstored', ada);
    setup.discord.says(other, 'stored', bo);
    await arrives(['unstored', 'stored']);
    setup.received.length = 0;
    await setup.restart(() => {
      away = false;
    });
    await arrives(['unstored', 'stored']);
    expect(setup.discord.gateway.counts.identifies).toBe(1);
  });

  it('does not repeat a command that was carried out just before', async () => {
    setup.verdict = ({ content }) =>
      Promise.resolve(content.startsWith('/') ? { kind: 'handled', reply: 'Done.' } : ACCEPTED);
    await setup.start();
    await isKept();
    setup.discord.says(channel, '/new', ada);
    setup.discord.slash(channel, 'stop', {}, ada);
    await arrives(['/new', '/stop']);
    // Another process continues from what is stored, without a stop of this one. The bot's own reply counts,
    // too.
    await vi.waitFor(() => expect(kept()?.session?.sequence).toBeGreaterThanOrEqual(3), WAIT);
  });
});

describe('a restart after Discord has forgotten the session', () => {
  it('reads every earlier chat from where it left off, including slash-only and new allowed ones, but no commands', async () => {
    const chats = Array.from({ length: 52 }, () => setup.discord.platform.addChannel(0));
    const slashOnly = setup.discord.platform.addChannel(0);
    const neverHeard = setup.discord.platform.addChannel(0);
    const thread = setup.discord.platform.addThread(neverHeard);
    setup.groups = [neverHeard.id];
    const known = [channel, slashOnly, ...chats].map(({ id }) => `discord:${id}` as const);
    // Sessions that were last used weeks before the outage.
    const changedAt = Date.now() - 480 * HOUR_MS;
    setup.connections.chats = [
      ...known,
      `discord:${neverHeard.id}:${thread.id}` as const,
      'telegram:5' as const,
    ].map((address) => ({ address, changedAt }));
    await setup.start();
    await isKept();
    const texts = [
      ...chats.map((_, n) => `missed ${n}`),
      'in private',
      'after a command',
      'at last',
      'in a thread',
    ];
    await setup.restart(() => {
      setup.discord.gateway.forgetSessions();
      for (const [n, chat] of chats.entries())
        setup.discord.says(chat, `missed ${n}`, ada, { mention: true });
      setup.discord.says(channel, 'in private', ada);
      setup.discord.says(channel, '/stop', ada);
      setup.discord.says(slashOnly, 'after a command', ada, { mention: true });
      setup.discord.says(neverHeard, 'at last', ada, { mention: true });
      setup.discord.says(thread, 'in a thread', ada, { mention: true });
    });
    await arrives(texts);
    const places = new Map(setup.received.map((message) => [message.content, message]));
    expect(places.get('in private')).toMatchObject({ place: 'private' });
    expect(places.get('at last')).toMatchObject({ place: 'group', mentioned: true });
    expect(places.get('in a thread')).toMatchObject({ chatId: neverHeard.id, threadId: thread.id });
    expect(setup.discord.rest.calls.join()).not.toContain('/channels/5');
    // What was received before the outage is not read again after the next one.
    await vi.waitFor(() => expect(kept()?.heardAt).toBeGreaterThan(changedAt), WAIT);
  });

  it('answers nothing from before the very first start', async () => {
    const room = setup.discord.platform.addChannel(0);
    setup.groups = [room.id];
    setup.discord.says(room, 'long ago', ada, { mention: true });
    await setup.start();
    setup.discord.says(room, 'now', ada, { mention: true });
    await arrives(['now']);
    expect(setup.discord.rest.calls.join()).not.toContain('/messages');
  });

  it('keeps the new session only once everything missed is stored: after a crash in between it is read again', async () => {
    await setup.start();
    setup.discord.says(channel, 'heard', ada);
    await arrives(['heard']);
    await isKept();
    const before = kept();
    setup.verdict = ({ content }) =>
      content === 'missed'
        ? Promise.reject(new StoreError('unavailable', 'no store', { retryable: true }))
        : Promise.resolve(ACCEPTED);
    await setup.restart(() => {
      setup.connections.chats = [{ address: `discord:${channel.id}`, changedAt: Date.now() }];
      setup.discord.gateway.forgetSessions();
      setup.discord.says(channel, 'missed', ada);
    });
    await vi.waitFor(() => expect(setup.contents).toContain('missed'), WAIT);
    expect(kept()?.session?.id).toBe(before?.session?.id);
    setup.received.length = 0;
    setup.verdict = () => Promise.resolve(ACCEPTED);
    await setup.restart();
    await vi.waitFor(() => expect(setup.contents).toContain('missed'), WAIT);
    await vi.waitFor(() => expect(kept()?.session?.id).not.toBe(before?.session?.id), WAIT);
  });

  it('queries the store for the chats until it is back', async () => {
    await setup.start();
    await isKept();
    const before = kept();
    let outages = 7;
    const { heardChats } = setup.connections;
    setup.connections.heardChats = (...asked) => {
      outages -= 1;
      if (outages >= 0) return Promise.reject(new StoreError('unavailable', 'no store', { retryable: true }));
      return heardChats(...asked);
    };
    await setup.restart(() => {
      setup.connections.chats = [{ address: `discord:${channel.id}`, changedAt: Date.now() }];
      setup.discord.gateway.forgetSessions();
      setup.discord.says(channel, 'missed', ada);
    });
    await arrives(['missed']);
    await vi.waitFor(() => expect(kept()?.session?.id).not.toBe(before?.session?.id), WAIT);
  });

  it(`reads at most ${MAX_CHATS_READ} chats, and reports how many are left out`, async () => {
    const connections = new MemoryConnections();
    connections.chats = Array.from({ length: MAX_CHATS_READ + 2 }, (_, n) => ({
      address: `discord:${n + 1}` as const,
      changedAt: 1_000_000_000_000 - n,
    }));
    const read: string[] = [];
    const history = partial<History>({ posts: () => Promise.resolve([]) });
    const kinds = partial<ChannelKinds>({ of: () => Promise.resolve(undefined) });
    const shard = { id: 0, count: 1 };
    const parts = {
      connections,
      heard: () => [],
      read: (id: string) => Promise.resolve(void read.push(id)),
      groups: () => Promise.resolve(['5000']),
      history,
      kinds,
      shard,
      log: silentLog,
      epochNow: () => 1_000_000_000_000,
    };
    const { signal } = new AbortController();
    expect(await catchUp({ ...parts, signal }, 999_999_000_000)).toBe(3);
    expect(read).toHaveLength(MAX_CHATS_READ);
    expect(read).toContain('5000');
  });

  it('names in its health the chats that could not be read completely, for an hour', async () => {
    let shift = 0;
    await setup.close();
    setup = await DiscordSetup.open({ now: () => Date.now() + shift });
    const left = '123456789012345678';
    const room = setup.discord.platform.addChannel(0);
    await setup.start();
    await isKept();
    await setup.restart(() => {
      // The bot was removed from one of them: no one waits for it there.
      setup.connections.chats = [left, room.id].map((id) => ({
        address: `discord:${id}`,
        changedAt: Date.now(),
      }));
      const refusal = new Refusal(400, 50_035, 'Invalid Form Body');
      setup.discord.failure({ kind: 'refuse', match: new RegExp(`${room.id}/messages`), refusal });
      setup.discord.gateway.forgetSessions();
    });
    await vi.waitFor(() => expect(setup.channel.health().state).toBe('degraded'), WAIT);
    expect(wordedHealth(setup.channel).detail).toContain(
      'Some missed messages of one chat could not be read',
    );
    shift = HOUR_MS + 1_000;
    await vi.waitFor(() => expect(setup.channel.health()).toEqual({ state: 'up' }), WAIT);
  });
});

describe('a gateway that keeps offering to resume (op 9, resumable)', () => {
  it('is retried once per connection and a few times in total; then a new session starts', async () => {
    await setup.start();
    await isKept();
    const { gateway } = setup.discord;
    gateway.failure = 'invite_to_resume';
    gateway.askReconnect();
    await vi.waitFor(() => expect(gateway.counts.identifies).toBe(2), WAIT);
    expect(gateway.counts.invitations).toBe(gateway.counts.connections - 2);
    expect(gateway.counts.invitations).toBeLessThanOrEqual(6);
    await vi.waitFor(() => expect(setup.channel.health()).toEqual({ state: 'up' }), WAIT);
  });
});

describe('a bot whose Message Content Intent is turned off (close code 4014)', () => {
  let room: FakeChannel;
  beforeEach(async () => {
    setup.discord.gateway.messageContentAllowed = false;
    room = setup.discord.platform.addChannel(0);
    await setup.start();
  });

  it('continues with mentions, direct messages and commands, and its health names the switch', async () => {
    setup.discord.says(room, 'not for the bot', ada);
    setup.discord.says(room, 'for the bot', ada, { mention: true });
    setup.discord.says(channel, 'in private', ada);
    setup.discord.slash(room, 'ask', { prompt: 'by command' }, ada);
    await arrives(['for the bot', 'in private', 'by command']);
    expect(wordedHealth(setup.channel)).toMatchObject({
      state: 'degraded',
      detail: expect.stringContaining('Message Content Intent'),
    });
    expect(setup.discord.gateway.counts.identifies).toBe(2);
  });

  it('stays that way across a restart without asking again, and has all texts after the switch and a restart', async () => {
    await isKept();
    await setup.restart();
    expect(setup.channel.health().state).toBe('degraded');
    expect(setup.discord.gateway.counts).toMatchObject({ identifies: 2, resumes: 1 });
    await setup.restart(() => {
      setup.discord.gateway.messageContentAllowed = true;
    });
    await vi.waitFor(() => expect(setup.channel.health()).toEqual({ state: 'up' }), WAIT);
    setup.discord.says(room, 'for everybody', ada);
    await arrives(['for everybody']);
    await immediate();
    expect(setup.discord.gateway.counts.identifies).toBe(3);
  });
});
