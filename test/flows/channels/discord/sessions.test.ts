/** Discord's gateway session outlives the process that began it: killed, or replaced by another node. */
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startGatewayProcess } from '../../../child.ts';
import { makeEmbeddedHome, silentLog } from '../../../database.ts';
import { FakeDiscord } from '../../../fakes/discord/discord.ts';
import type { FakeChannel } from '../../../fakes/discord/platform.ts';
import { startFakeOllama } from '../../../fakes/ollama/ollama.ts';
import { openStore } from '../../../../src/store/open-store.ts';
import { type GatewayFixture, openGatewayFixture, WAIT } from '../../setup.ts';

const SETTINGS = { access: { discord: { dm: 'open' } } };

const answersIn = (discord: FakeDiscord, channel: FakeChannel): string[] =>
  discord.visible(channel).flatMap(({ author, content }) => (author.bot === true ? [content] : []));
const isAnswered = async (discord: FakeDiscord, channel: FakeChannel, texts: string[]): Promise<void> => {
  await vi.waitFor(() => expect(answersIn(discord, channel)).toEqual(texts), { ...WAIT, timeout: 40_000 });
};

describe('a gateway that is killed', () => {
  it('resumes its session when it starts again, and answers once what was written in the meantime', async () => {
    const discord = await FakeDiscord.open();
    onTestFinished(() => discord.close());
    const model = await startFakeOllama();
    onTestFinished(() => model.close());
    const home = await makeEmbeddedHome();
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    await writeFile(path.join(home, 'config.json'), JSON.stringify(SETTINGS), { mode: 0o600 });
    const env = {
      GATEWAY_HOME: home,
      OLLAMA_HOST: model.url,
      DISCORD_BOT_TOKEN: discord.token,
      DISCORD_API_ROOT: discord.apiRoot,
    };
    const [ada, bo] = [discord.dm('Ada'), discord.dm('Bo')];

    const first = await startGatewayProcess(env);
    await vi.waitFor(() => expect(discord.gateway.counts.identifies).toBe(1), WAIT);
    discord.says(ada.channel, 'before', ada.person);
    await isAnswered(discord, ada.channel, ['echo: before']);
    const store = await openStore({ home, log: silentLog, attach: true, poolSize: 1 });
    const key = `discord:${discord.platform.bot.id}`;
    await vi.waitFor(async () => {
      expect((await store.connections.connection(key))?.session?.sequence).toBeGreaterThan(1);
    }, WAIT);
    await store.close();
    first.signal('SIGKILL');
    await first.ended;
    discord.says(ada.channel, 'meanwhile', ada.person);
    discord.says(bo.channel, 'for the first time', bo.person);

    await startGatewayProcess(env);
    await isAnswered(discord, ada.channel, ['echo: before', 'echo: meanwhile']);
    await isAnswered(discord, bo.channel, ['echo: for the first time']);
    expect(discord.gateway.counts).toMatchObject({ identifies: 1, resumes: 1 });
  });
});

describe('two nodes on one Postgres', () => {
  let a: GatewayFixture;
  let b: GatewayFixture;
  beforeAll(async () => {
    a = await openGatewayFixture({ discord: true, file: SETTINGS });
    b = await openGatewayFixture({ discord: true, file: SETTINGS, beside: a });
  });
  afterAll(async () => {
    await b.close();
    await a.close();
  });

  it('continue one session: the other node resumes it, and answers once what was written in the meantime', async () => {
    const { discord } = a;
    const [ada, bo] = [discord.dm('Ada'), discord.dm('Bo')];
    discord.says(ada.channel, 'to one node', ada.person);
    await isAnswered(discord, ada.channel, ['echo: to one node']);
    const stopped = a.gateway.stop();
    await vi.waitFor(() => expect(discord.gateway.open).toBe(0), WAIT);
    discord.says(bo.channel, 'between two nodes', bo.person);
    await stopped;
    await isAnswered(discord, bo.channel, ['echo: between two nodes']);
    expect(discord.gateway.counts).toMatchObject({ identifies: 1, resumes: 1 });
    expect((await b.gateway.health()).channels['discord']).toMatchObject({ state: 'up' });
  });
});
