/** Everything around the gateways of a crash run: model, tool effects, platforms and database, all of which survive them. */
import { WHOLE_HOME } from '../database.ts';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DISCORD_TOKEN, FakeDiscord } from '../fakes/discord/discord.ts';
import { type EffectsServer, startEffects } from '../fakes/agent/effect-tools.ts';
import { type HttpFront, openHttpFront } from '../fakes/network/http-front.ts';
import { type FakeOllama, startFakeOllama } from '../fakes/ollama/ollama.ts';
import { FakeHomeserver, MATRIX_TOKEN } from '../fakes/matrix/homeserver.ts';
import type { TcpProxy } from '../fakes/network/tcp-proxy.ts';
import { FakeSlack, SLACK_APP_TOKEN, SLACK_TOKEN } from '../fakes/slack/slack.ts';
import { FAKE_TOKEN, FakeTelegram } from '../fakes/telegram/telegram.ts';
import type { ShownMessage } from './judge/checker.ts';
import { makeImage, mountDisk, mountImage, syncDisk, unmountDisk } from './small-disk.ts';
import type { Cluster } from './cluster.ts';
import { clusterDatabase, embeddedDatabase, type RunDatabase, serverDatabase } from './databases.ts';
import { GatewayProcess, type GatewayProcessOptions } from './gateways.ts';
import { accessOf, makePlaces, type Place, screensOf, type SessionCounts } from './places.ts';
import { isSummary, questionOf, questionsIn, scriptedAnswer } from './script.ts';

/** The owner's token of every gateway here. */
export const TOKEN = 'token-of-the-crash-tests-0123456789';
/** How long an effect keeps its caller waiting, in milliseconds: long enough to be killed in. */
const EFFECT_MS = 120;

export interface ScenarioOptions {
  /** `postgres://…` of a server on which a database can be created; without it and a cluster: embedded. */
  postgresUrl?: string | undefined;
  cluster?: Cluster | undefined;
  gateways?: number;
  /** Sessions per channel; without any, HTTP sessions are created on the first message. */
  sessions?: SessionCounts;
  /** Who may write to the bot in private; default: paired users. */
  dm?: 'open';
  /** The bot has Telegram for private chats, also without sessions there. */
  privateChats?: boolean;
  /** More environment for the gateways. */
  environment?: Record<string, string>;
  /** More of `config.json`. */
  config?: object;
  /** Settings of the default profile. */
  profile?: object;
  /** Each home is on its own small disk of this many MiB; needs root. */
  homeMb?: number;
  /** Each home is on a disk of this many MiB in a file next to it, which `imageOf` names; needs root. */
  imageMb?: number;
  /** Platforms and model are behind fronts that can fail. */
  fronted?: boolean;
  /** Each gateway reaches its Postgres through its own proxy. */
  proxied?: boolean;
  /** How the process of each gateway is started. */
  processes?: (at: number, folder: string) => GatewayProcessOptions;
}

/** A question as sent to the model. */
export interface Asked {
  session: string;
  index: number;
  /** `performance.now()`. */
  at: number;
}

export interface Scenario {
  ollama: FakeOllama;
  telegram: FakeTelegram;
  discord: FakeDiscord;
  slack: FakeSlack;
  matrix: FakeHomeserver;
  effects: EffectsServer;
  gateways: GatewayProcess[];
  /** Between each gateway and its Postgres, if the run has proxies. */
  proxies: TcpProxy[];
  /** In front of the platforms and the model, if the run has fronts. */
  fronts: HttpFront[];
  places: Place[];
  /** Contains the homes and everything else of the run. */
  folder: string;
  asked: Asked[];
  /** The requests to the model for a summary of earlier turns. */
  summaries: { asked: number };
  /** The ids of the questions in each request of a session, in order. */
  contexts: Map<string, string[][]>;
  /** Completed model answers: those with tool calls, and those without. */
  answered: { rounds: number; finals: number };
  /** The bot messages by session. */
  screens(): Map<string, ShownMessage[]>;
  /** The name of a home in the rows. */
  instance(gateway: GatewayProcess): Promise<string>;
  /** Reads the running database. */
  read: RunDatabase['read'];
  /** Saves the current state of the database, to be read later. */
  keep: RunDatabase['keep'];
  close(): Promise<void>;
}

/** Starts everything except the gateways themselves. */
export async function startScenario(options: ScenarioOptions = {}): Promise<Scenario> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-crash-'));
  const telegram = await FakeTelegram.start();
  const discord = await FakeDiscord.open();
  const slack = await FakeSlack.open();
  const matrix = await FakeHomeserver.open();
  const platforms = { telegram, discord, slack, matrix };
  const effects = await startEffects(EFFECT_MS);
  const asked: Asked[] = [];
  const answered = { rounds: 0, finals: 0 };
  const summaries = { asked: 0 };
  const contexts: Scenario['contexts'] = new Map();
  const ollama: FakeOllama = await startFakeOllama({
    fallback(body) {
      const question = questionOf(body);
      if (isSummary(body)) summaries.asked += 1;
      if (question !== undefined) {
        asked.push({ ...question, at: performance.now() });
        const requests = contexts.get(question.session) ?? [];
        contexts.set(question.session, requests);
        requests.push(questionsIn(body));
      }
      const reply = scriptedAnswer(body);
      const kind = reply.toolCalls === undefined ? 'finals' : 'rounds';
      const call = ollama.calls.findLast((one) => one.body === body);
      void call?.closed.then(({ by }) => (answered[kind] += by === 'server' ? 1 : 0));
      return reply;
    },
  });
  const database = await openDatabase(options, folder);
  const places = makePlaces(options.sessions ?? {}, platforms);
  const has = (channel: Place['channel']): boolean => places.some((place) => place.channel === channel);
  const fronts =
    options.fronted === true ? await openFronts([ollama.url, telegram.root, discord.apiRoot]) : [];
  const [model = ollama.url, bots = telegram.root, rest = discord.apiRoot] = fronts.map(({ url }) => url);
  const environment = {
    PORT: '0',
    LOG_LEVEL: 'warn',
    GATEWAY_TOKEN: TOKEN,
    OLLAMA_HOST: model,
    EFFECTS_URL: effects.url,
    ...((has('telegram') || options.privateChats === true) && {
      TELEGRAM_BOT_TOKEN: FAKE_TOKEN,
      TELEGRAM_API_ROOT: bots,
    }),
    ...(has('discord') && { DISCORD_BOT_TOKEN: DISCORD_TOKEN, DISCORD_API_ROOT: rest }),
    ...(has('slack') && { SLACK_BOT_TOKEN: SLACK_TOKEN, SLACK_APP_TOKEN, SLACK_API_ROOT: slack.apiRoot }),
    ...(has('matrix') && { MATRIX_URL: matrix.root, MATRIX_TOKEN }),
    ...options.environment,
  };
  const config = { access: accessOf(places, options.dm), ...options.config };
  const gateways = await Promise.all(
    Array.from({ length: options.gateways ?? 1 }, async (_, at) => {
      const home = path.join(folder, `home${at}`);
      await makeHome(home, options);
      await writeFile(path.join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 });
      if (options.profile !== undefined) await writeProfile(home, options.profile);
      if (options.imageMb !== undefined) await syncDisk(home);
      const own = { ...database.environment(at), ...environment };
      return new GatewayProcess(home, own, options.processes?.(at, folder));
    }),
  );
  return {
    ollama,
    ...platforms,
    effects,
    gateways,
    proxies: database.proxies,
    fronts,
    places,
    folder,
    asked,
    contexts,
    answered,
    summaries,
    read: (look) => database.read(look),
    keep: (look) => database.keep(look),
    screens: () => screensOf(places, platforms),
    instance: async (gateway) => (await readFile(path.join(gateway.home, 'instance'), 'utf8')).trim(),
    async close() {
      for (const gateway of gateways) await gateway.close();
      await Promise.all(fronts.map((front) => front.close()));
      const opened = [ollama, effects, ...Object.values(platforms)];
      await Promise.all(opened.map((one) => one.close()));
      await database.close();
      if (options.homeMb ?? options.imageMb) for (const { home } of gateways) await unmountDisk(home);
      await rm(folder, WHOLE_HOME);
    },
  };
}

/** The file that holds the disk of a home. */
export function imageOf(home: string): string {
  return `${home}.img`;
}

async function makeHome(home: string, { homeMb, imageMb }: ScenarioOptions): Promise<void> {
  if (homeMb !== undefined) await mountDisk(home, homeMb);
  else if (imageMb === undefined) await mkdir(home, { mode: 0o700 });
  else {
    await makeImage(imageOf(home), imageMb);
    await mountImage(imageOf(home), home);
  }
}

async function writeProfile(home: string, profile: object): Promise<void> {
  const folder = path.join(home, 'profiles', 'default');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(profile), { mode: 0o600 });
}

async function openDatabase(options: ScenarioOptions, folder: string): Promise<RunDatabase> {
  const { postgresUrl, cluster, proxied = false, gateways = 1 } = options;
  if (cluster !== undefined) return clusterDatabase(cluster);
  if (postgresUrl === undefined) return embeddedDatabase(folder);
  return await serverDatabase(postgresUrl, proxied ? gateways : 0);
}

/** One in front of each server; the path of its address stays. */
async function openFronts(urls: readonly string[]): Promise<HttpFront[]> {
  return await Promise.all(
    urls.map(async (url) => {
      const { port, pathname } = new URL(url);
      const front = await openHttpFront(Number(port));
      return { ...front, url: front.url + (pathname === '/' ? '' : pathname) };
    }),
  );
}
