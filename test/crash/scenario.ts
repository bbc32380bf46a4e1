/** Everything around the gateways of a crash run: model, tools' effects, Telegram and database, none of which dies with them. */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type postgres from 'postgres';
import { createLog } from '../../src/ops/log.ts';
import { newId } from '../../src/lib/ids.ts';
import { openEmbedded } from '../../src/store/embedded/embedded.ts';
import { startEffects } from '../fakes/agent/effect-tools.ts';
import type { EffectsServer } from '../fakes/agent/effect-tools.ts';
import { startFakeOllama } from '../fakes/ollama/ollama.ts';
import type { FakeOllama } from '../fakes/ollama/ollama.ts';
import { FAKE_TOKEN, FakeTelegram } from '../fakes/telegram/telegram.ts';
import type { ShownMessage } from './checker.ts';
import { telegramChat } from './clients.ts';
import { GatewayProcess } from './gateways.ts';
import { connect } from './rows.ts';
import { questionOf, scriptedAnswer } from './script.ts';

/** The owner's token of every gateway here. */
export const TOKEN = 'token-of-the-crash-tests';
/** How long an effect keeps its caller waiting, in milliseconds: time enough to be killed in. */
const EFFECT_MS = 120;

const silent = createLog({ level: 'silent', redact: (text) => text });

export interface ScenarioOptions {
  /** `postgres://…` of a server on which a database may be made; undefined = embedded. */
  postgresUrl?: string | undefined;
  gateways?: number;
  /** Sessions that are Telegram groups; by their numbers. */
  telegramSessions?: readonly number[];
  /** More environment for the gateways. */
  environment?: Record<string, string>;
}

/** A question as the model was asked it. */
export interface Asked {
  session: string;
  index: number;
  /** `performance.now()`. */
  at: number;
}

export interface Scenario {
  ollama: FakeOllama;
  telegram: FakeTelegram;
  effects: EffectsServer;
  gateways: GatewayProcess[];
  asked: Asked[];
  /** Answers of the model that were sent to their end: those with tool calls, and those without. */
  answered: { rounds: number; finals: number };
  /** The bot's messages by session. */
  screens(): Map<string, ShownMessage[]>;
  /** Names a home in the rows. */
  instance(gateway: GatewayProcess): Promise<string>;
  /** Reads the running database. */
  read<T>(look: (sql: postgres.Sql) => Promise<T>): Promise<T>;
  /**
   * Keeps the state the database has now, for reading it later: on Postgres it is read at once, the embedded database
   * (whose process is dead) is copied, and the copy opened when it is asked for.
   */
  keep<T>(look: (sql: postgres.Sql) => Promise<T>): Promise<() => Promise<T>>;
  close(): Promise<void>;
}

/** Starts everything but the gateways themselves. */
export async function startScenario(options: ScenarioOptions = {}): Promise<Scenario> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-crash-'));
  const telegram = await FakeTelegram.start();
  const effects = await startEffects(EFFECT_MS);
  const asked: Asked[] = [];
  const answered = { rounds: 0, finals: 0 };
  const ollama: FakeOllama = await startFakeOllama({
    fallback(body) {
      const question = questionOf(body);
      if (question !== undefined) asked.push({ ...question, at: performance.now() });
      const reply = scriptedAnswer(body);
      const kind = reply.toolCalls === undefined ? 'finals' : 'rounds';
      const call = ollama.calls.findLast((one) => one.body === body);
      void call?.closed.then(({ by }) => (answered[kind] += by === 'server' ? 1 : 0));
      return reply;
    },
  });
  const database = options.postgresUrl === undefined ? undefined : await makeDatabase(options.postgresUrl);
  const chats = options.telegramSessions ?? [];
  const access = {
    telegram: { groups: Object.fromEntries(chats.map((at) => [telegramChat(at), { mention: false }])) },
  };
  const environment = {
    PORT: '0',
    LOG_LEVEL: 'warn',
    GATEWAY_TOKEN: TOKEN,
    OLLAMA_HOST: ollama.url,
    EFFECTS_URL: effects.url,
    ...(chats.length > 0 && { TELEGRAM_BOT_TOKEN: FAKE_TOKEN, TELEGRAM_API_ROOT: telegram.root }),
    ...(database !== undefined && { DATABASE_URL: database.url, ...socketOfPostgres() }),
    ...options.environment,
  };
  const gateways = await Promise.all(
    Array.from({ length: options.gateways ?? 1 }, async (_, at) => {
      const home = path.join(folder, `home${at}`);
      await mkdir(home, { mode: 0o700 });
      await writeFile(path.join(home, 'config.json'), JSON.stringify({ access }), { mode: 0o600 });
      return new GatewayProcess(home, environment);
    }),
  );
  const embeddedHome = path.join(folder, 'home0');
  const place = database ?? { socketPath: path.join(embeddedHome, 'pg.sock') };
  const read = <T>(look: (sql: postgres.Sql) => Promise<T>): Promise<T> => readOnce(place, look);
  return {
    ollama,
    telegram,
    effects,
    gateways,
    asked,
    answered,
    read,
    screens: () =>
      new Map(
        chats.map((at) => [
          `telegram:${telegramChat(at)}`,
          telegram.messages(telegramChat(at)).map(({ id, text }) => ({ id: String(id), text })),
        ]),
      ),
    instance: async (gateway) => (await readFile(path.join(gateway.home, 'instance'), 'utf8')).trim(),
    async keep(look) {
      if (database !== undefined) {
        const seen = await read(look);
        return () => Promise.resolve(seen);
      }
      const copy = path.join(folder, `copy-${newId()}`);
      await cp(path.join(embeddedHome, 'pg'), path.join(copy, 'pg'), { recursive: true });
      return () => readCopy(copy, look);
    },
    async close() {
      for (const gateway of gateways) await gateway.close();
      await Promise.all([ollama.close(), effects.close(), telegram.close()]);
      await database?.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function readOnce<T>(
  place: Parameters<typeof connect>[0],
  look: (sql: postgres.Sql) => Promise<T>,
): Promise<T> {
  const sql = connect(place);
  try {
    return await look(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function readCopy<T>(home: string, look: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const embedded = await openEmbedded(home, silent);
  try {
    return await readOnce(embedded, look);
  } finally {
    await embedded.close();
    await rm(home, { recursive: true, force: true });
  }
}

/** A fresh database on the server, gone with the run. */
async function makeDatabase(serverUrl: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `crash_${newId().replaceAll('-', '')}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await readOnce({ url: serverUrl }, (sql) => sql.unsafe(`create database ${name}`));
  const drop = async (): Promise<void> => {
    await readOnce({ url: serverUrl }, (sql) => sql.unsafe(`drop database ${name} with (force)`));
  };
  return { url: url.href, drop };
}

/** A URL cannot hold a socket's folder: the driver takes it from the environment. */
function socketOfPostgres(): Record<string, string> {
  const { PGHOST, PGUSER } = process.env;
  return { ...(PGHOST !== undefined && { PGHOST }), ...(PGUSER !== undefined && { PGUSER }) };
}
