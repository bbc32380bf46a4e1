/** Discord over two shards: with a whole gateway, and with a second node that takes over when the first is killed. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startGatewayProcess } from '../../../child.ts';
import type { FakeDiscord } from '../../../fakes/discord/discord.ts';
import type { FakeChannel } from '../../../fakes/discord/platform.ts';
import { describeGateway, openGatewayFixture, WAIT } from '../../setup.ts';

const LONG = { ...WAIT, timeout: 40_000 };

/** A channel in a server of each shard, in which the bot answers everyone. */
function chats({ platform }: FakeDiscord): FakeChannel[] {
  return [0, 1].map((shard) => platform.addChannel(0, { guildId: platform.newGuildId(shard, 2) }));
}

const answersIn = (discord: FakeDiscord, channel: FakeChannel): string[] =>
  discord
    .visible(channel)
    .flatMap(({ author, content }) => (author.bot === true && content !== '' ? [content] : []));

describeGateway('a bot that is split across two connections', { discord: true }, (fixture) => {
  it('is answered over both, even if the number has changed since the last start', async () => {
    const { discord } = fixture();
    await vi.waitFor(() => expect(discord.gateway.connected).toEqual([0]), WAIT);
    discord.gateway.shards = 2;
    await fixture().restart();
    await vi.waitFor(() => expect(discord.gateway.connected).toEqual([0, 1]), LONG);
    const both = chats(discord);
    for (const [shard, room] of both.entries()) {
      await fixture().store.access.addGrant('discord', 'group', room.id);
      discord.says(room, `over ${shard}`, discord.person('Ada'), { mention: true });
    }
    for (const room of both) await vi.waitFor(() => expect(answersIn(discord, room)).toHaveLength(1), LONG);
    expect((await fixture().gateway.health()).channels['discord']).toMatchObject({ state: 'up' });
  });
});

describe('two nodes with two shards', () => {
  it('share them when they start together: each receives over its own, and one takes both lanes when the other stops', async () => {
    const a = await openGatewayFixture({ discord: true });
    onTestFinished(() => a.close());
    const b = await openGatewayFixture({ discord: true, beside: a });
    onTestFinished(() => b.close());
    const { discord } = a;
    const both = chats(discord);
    for (const room of both) await a.store.access.addGrant('discord', 'group', room.id);
    discord.gateway.shards = 2;
    discord.gateway.shardsRequired = 2;
    // However busy the machine is: neither learns how many connections there are before the other.
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    for (const _ of [a, b]) discord.failure({ kind: 'hold', until, match: /^GET \/gateway\/bot/ });
    discord.rest.calls.length = 0;
    const stopped = [a, b].map(() => Promise.withResolvers<void>());
    const restarts = [a, b].map((node, at) =>
      node.restart(async () => {
        stopped[at]?.resolve();
        await Promise.all(stopped.map(({ promise }) => promise));
      }),
    );
    await vi.waitFor(
      () => expect(discord.rest.calls.filter((call) => call === 'GET /gateway/bot')).toHaveLength(2),
      LONG,
    );
    release();
    await Promise.all(restarts);
    await vi.waitFor(() => expect(discord.gateway.connected).toEqual([0, 1]), LONG);
    const owners = async (): Promise<string[]> => {
      const lanes = await b.sql<{ owner: string }[]>`
        select owner from lane where key like 'poll:discord:%:2' and owner is not null order by key`;
      return lanes.map(({ owner }) => owner);
    };
    await vi.waitFor(async () => expect(new Set(await owners()).size).toBe(2), WAIT);
    const say = (text: string): void => {
      for (const room of both) discord.says(room, text, discord.person('Ada'), { mention: true });
    };
    say('shared');
    for (const room of both) await vi.waitFor(() => expect(answersIn(discord, room)).toHaveLength(1), LONG);
    const { identifies, resumes } = discord.gateway.counts;
    await a.gateway.stop();
    say('alone');
    for (const room of both)
      await vi.waitFor(() => expect(answersIn(discord, room).join()).toContain('alone'), LONG);
    expect(new Set(await owners()).size).toBe(1);
    for (const room of both) expect(answersIn(discord, room)).toHaveLength(2);
    // The session of the abandoned shard continues, and that of the other was never interrupted.
    expect(discord.gateway.counts).toMatchObject({ identifies, resumes: resumes + 1 });
  });

  it('replace a killed node: the other one answers once what was written in the meantime', async () => {
    const a = await openGatewayFixture({ discord: true });
    onTestFinished(() => a.close());
    const { discord } = a;
    await vi.waitFor(() => expect(discord.gateway.connected).toEqual([0]), WAIT);
    discord.gateway.shards = 2;
    const home = await mkdtemp(path.join(tmpdir(), 'parley-test-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    await writeFile(path.join(home, 'config.json'), '{}', { mode: 0o600 });
    const both = chats(discord);
    for (const room of both) await a.store.access.addGrant('discord', 'group', room.id);
    let killed: Awaited<ReturnType<typeof startGatewayProcess>> | undefined;
    await a.restart(async () => {
      killed = await startGatewayProcess({ ...a.env, GATEWAY_HOME: home });
      await vi.waitFor(() => expect(discord.gateway.connected).toEqual([0, 1]), LONG);
    });
    const say = (text: string): void => {
      for (const room of both) discord.says(room, text, discord.person('Ada'), { mention: true });
    };
    say('before');
    for (const room of both) await vi.waitFor(() => expect(answersIn(discord, room)).toHaveLength(1), LONG);
    const { identifies, resumes } = discord.gateway.counts;
    killed?.signal('SIGKILL');
    await killed?.ended;
    say('meanwhile');
    for (const room of both)
      await vi.waitFor(() => expect(answersIn(discord, room).join()).toContain('meanwhile'), LONG);
    expect(discord.gateway.connected).toEqual([0, 1]);
    for (const room of both) expect(answersIn(discord, room)).toHaveLength(2);
    // The other node has resumed the session of each shard.
    expect(discord.gateway.counts).toMatchObject({ identifies, resumes: resumes + 2 });
  });
});
