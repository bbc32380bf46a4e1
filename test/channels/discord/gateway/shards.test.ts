/** A bot that Discord asks to split its servers across several connections. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_SHARDS } from '../../../../channels/discord/gateway/shard.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import type { FakeChannel } from '../../../fakes/discord/platform.ts';

const WAIT = { timeout: 5_000, interval: 5 };
const [FIRST, SECOND] = [
  { id: 0, count: 2 },
  { id: 1, count: 2 },
];

describe('two shards on one node', () => {
  let setup: DiscordSetup;
  let chats: FakeChannel[];

  beforeEach(async () => {
    setup = await DiscordSetup.open();
    const { platform, gateway } = setup.discord;
    gateway.shards = 2;
    gateway.shardsRequired = 2;
    chats = [0, 1].map((shard) => platform.addChannel(0, { guildId: platform.newGuildId(shard, 2) }));
  });
  afterEach(async () => {
    await setup.close();
  });

  const say = (text: string): void => {
    for (const [shard, room] of chats.entries())
      setup.discord.says(room, `${text} ${shard}`, setup.discord.person('Ada'), { mention: true });
  };
  const heard = async (...all: string[]): Promise<void> =>
    await vi.waitFor(() => expect(setup.contents.toSorted()).toEqual(all.toSorted()), WAIT);

  it('are as many as the token requires, and each receive their own servers; direct messages arrive over the first', async () => {
    expect(await setup.channel.identify?.(AbortSignal.timeout(5_000))).toMatchObject({ shards: 2 });
    await Promise.all([FIRST, SECOND].map(async (shard) => await setup.channel.start(setup.receive, shard)));
    expect(setup.discord.gateway.connected).toEqual([0, 1]);
    say('one');
    const { channel, person } = setup.discord.dm();
    setup.discord.says(channel, 'in private', person);
    await heard('one 0', 'one 1', 'in private');
    expect(setup.channel.health()).toEqual({ state: 'up' });
    await setup.channel.stop(SECOND);
    expect(setup.discord.gateway.connected).toEqual([0]);
    expect(setup.channel.health()).toEqual({ state: 'up' });
  });

  it('each resume their own session after a break, and after a restart, and miss nothing', async () => {
    await Promise.all([FIRST, SECOND].map(async (shard) => await setup.channel.start(setup.receive, shard)));
    setup.discord.gateway.close(4_000, 1);
    say('two');
    await heard('two 0', 'two 1');
    await setup.channel.stop();
    say('three');
    setup.replace();
    await Promise.all([FIRST, SECOND].map(async (shard) => await setup.channel.start(setup.receive, shard)));
    await heard('two 0', 'two 1', 'three 0', 'three 1');
    expect(setup.discord.gateway.counts).toMatchObject({ identifies: 2, resumes: 3 });
    expect([...setup.connections.records.keys()].filter((key) => /:[01]:2$/.test(key))).toHaveLength(2);
  });

  it('read only the channels of their own servers after an outage', async () => {
    await Promise.all([FIRST, SECOND].map(async (shard) => await setup.channel.start(setup.receive, shard)));
    say('before');
    await heard('before 0', 'before 1');
    await vi.waitFor(
      () => expect([...setup.connections.records.values()].filter(({ heardAt }) => heardAt)).toHaveLength(2),
      WAIT,
    );
    await setup.channel.stop();
    setup.discord.gateway.forgetSessions();
    say('missed');
    setup.connections.chats = chats.map(({ id }) => ({
      address: `discord:${id}` as const,
      changedAt: Date.now(),
    }));
    setup.replace();
    setup.discord.rest.calls.length = 0;
    await Promise.all([FIRST, SECOND].map(async (shard) => await setup.channel.start(setup.receive, shard)));
    await vi.waitFor(
      () => expect(setup.contents.filter((text) => text.startsWith('missed'))).toHaveLength(2),
      WAIT,
    );
    for (const { id } of chats) {
      const reads = setup.discord.rest.calls.filter((call) => call === `GET /channels/${id}/messages`);
      expect(reads).toHaveLength(1);
    }
  });

  it('are at most as many as a machine can be expected to hold', async () => {
    setup.discord.gateway.shards = MAX_SHARDS;
    const asked = async () => (await setup.channel.identify?.(AbortSignal.timeout(5_000)))?.shards;
    expect(await asked()).toBe(MAX_SHARDS);
    setup.discord.gateway.shards = MAX_SHARDS + 1;
    expect(await asked()).toBe(1);
  });

  it('with fewer than Discord requires the channel is dead, and reports it', async () => {
    await expect(setup.channel.start(setup.receive)).rejects.toMatchObject({ retryable: false });
    expect(setup.channel.health().state).toBe('dead');
  });
});
