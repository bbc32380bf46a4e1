/** A whole gateway in process over real fakes, on a database of its own: where the flow tests run, and all they look at. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, vi } from 'vitest';
import { loadConfig, secretsOf } from '../../src/config.ts';
import { startGateway } from '../../src/gateway.ts';
import type { Gateway } from '../../src/lifecycle.ts';
import { createLog, redactor } from '../../src/ops/log.ts';
import type { MessageRecord } from '../../src/protocol/store/records.ts';
import { liveHolder } from '../../src/store/embedded/home.ts';
import { type HomeStore, openStore } from '../../src/store/open-store.ts';
import type { Tool } from '../../src/protocol/agent/tool.ts';
import { createDatabase, makeEmbeddedHome, silentLog } from '../database.ts';
import { FakeDiscord } from '../fakes/discord/discord.ts';
import {
  type FakeCall,
  type FakeOllama,
  type FakeOllamaOptions,
  startFakeOllama,
} from '../fakes/ollama/ollama.ts';
import type { Failure } from '../fakes/ollama/reply.ts';
import { lastUserText } from '../fakes/model/spoken-text.ts';
import type { FloodLimits } from '../fakes/telegram/limits.ts';
import { FakeTelegram, FAKE_TOKEN } from '../fakes/telegram/telegram.ts';

/** The owner's token of every gateway. */
export const OWNER = 'owner-token-of-the-gateway-0123456789';

/** People on Telegram whom the configuration lets in: a separate chat for each test, because a sender has a rate. */
export const FRIENDS = Array.from({ length: 80 }, (_, index) => String(7_001 + index));

/** How a test waits. */
export const WAIT = { timeout: 20_000, interval: 20 };

export interface FixtureOptions {
  telegram?: boolean;
  discord?: boolean;
  /** Further environment, and the content of `config.json`. */
  env?: Record<string, string>;
  file?: Record<string, unknown>;
  /** Creates the home instead of `file`. */
  furnish?: (home: string) => Promise<void>;
  /** What Telegram accepts of a bot; default: everything. */
  telegramLimits?: FloodLimits;
  /** How the fake model server behaves, and its unprompted answers. */
  model?: FakeOllamaOptions;
  /** Tools next to the built-in ones. */
  tools?: readonly Tool[];
  /** Origins that `web_fetch` may reach, read when the gateway starts. */
  reachable?: () => readonly string[];
  /** A second node: the same fakes, database and token, but a separate home. */
  beside?: GatewayFixture;
  /** The database of its home instead of one on the server of the run. */
  embedded?: boolean;
}

export interface CallInit {
  method?: string;
  token?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  signal?: AbortSignal;
}

export interface GatewayFixture {
  readonly ollama: FakeOllama;
  readonly telegram: FakeTelegram;
  readonly discord: FakeDiscord;
  /** The environment the gateway was started with; also what its command line needs. */
  readonly env: Record<string, string>;
  readonly home: string;
  /** Lines of the log, as they were written. */
  readonly log: string[];
  /** The same rows, as the command line sees them while the gateway runs. */
  store: HomeStore;
  /** For looking at what is not visible as text. */
  sql: postgres.Sql;
  gateway: Gateway;
  call(path: string, init?: CallInit): Promise<Response>;
  /** The stored messages of a session, ascending. */
  messages(session: string): Promise<MessageRecord[]>;
  /** Posts a message into an `http:` session; returns its turn. */
  post(id: string, content: string): Promise<string>;
  /** The model's call whose last message from a person contains this, as soon as it is there. */
  modelCall(said: string): Promise<FakeCall>;
  /** Lets the model go on with an answer that hangs (`failure: HALF`) once `isReady` holds. */
  releaseOnce(said: string, isReady: () => boolean): Promise<void>;
  /** Waits until no message and no delivery of this address is pending. */
  idle(address: string): Promise<void>;
  /** Every row of every table, as text. */
  dump(): Promise<string>;
  /** Stops the gateway, abandoning what is running, waits for `whileStopped`, and starts it again on the same port. */
  restart(whileStopped?: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/**
 * Half of an answer of 60 words: the model writes the rest only after `releaseOnce`, so that a test sees the answer grow
 * however fast the machine is.
 */
export const HALF: Failure = { kind: 'hang', after: 30 };

type FixtureTests = (fixture: () => GatewayFixture) => void;

/** Runs tests on one gateway, which is open while they run. */
export function describeGateway(name: string, options: FixtureOptions, tests: FixtureTests): void {
  // oxlint-disable-next-line vitest/valid-title -- each caller's title is a string
  describe(name, () => {
    let fixture: GatewayFixture | undefined;
    beforeAll(async () => {
      fixture = await openGatewayFixture(options);
    });
    afterAll(async () => {
      await fixture?.close();
    });
    tests(() => {
      if (fixture === undefined) throw new Error('the gateway is open only while its tests run');
      return fixture;
    });
  });
}

async function startTelegram(limits: FloodLimits | undefined): Promise<FakeTelegram> {
  return await FakeTelegram.start(limits === undefined ? {} : { limits });
}

/** Opens a gateway with its fakes; `close` ends everything it opened. */
export async function openGatewayFixture(options: FixtureOptions = {}): Promise<GatewayFixture> {
  const { beside, embedded = false } = options;
  const telegram = beside?.telegram ?? (await startTelegram(options.telegramLimits));
  const discord = beside?.discord ?? (await FakeDiscord.open());
  const ollama = beside?.ollama ?? (await startFakeOllama(options.model));
  const home = embedded ? await makeEmbeddedHome() : await mkdtemp(path.join(tmpdir(), 'parley-test-'));
  const url = embedded ? undefined : (beside?.env['DATABASE_URL'] ?? (await createDatabase()));
  const env: Record<string, string> = {
    GATEWAY_HOME: home,
    GATEWAY_TOKEN: OWNER,
    PORT: '0',
    OLLAMA_HOST: ollama.url,
    ...(url !== undefined && { DATABASE_URL: url }),
    ...(options.telegram === true && { TELEGRAM_BOT_TOKEN: FAKE_TOKEN, TELEGRAM_API_ROOT: telegram.root }),
    ...(options.discord === true && { DISCORD_BOT_TOKEN: discord.token, DISCORD_API_ROOT: discord.apiRoot }),
    ...options.env,
  };
  await (options.furnish ?? writeSettings(options.file))(home);
  const log: string[] = [];
  const start = (more: Record<string, string>): Promise<Gateway> => {
    const config = loadConfig({ ...env, ...more });
    const write = (line: string): void => void log.push(line);
    const redact = redactor(secretsOf(config));
    return startGateway(config, {
      log: createLog({ level: 'debug', redact, write }),
      redact,
      ...(options.tools && { tools: options.tools }),
      ...(options.reachable && { reachable: options.reachable() }),
    });
  };
  const gateway = await start({});
  const attach = (): Promise<HomeStore> =>
    openStore({ home, databaseUrl: url, log: silentLog, attach: true, poolSize: 2 });
  const detach = async (): Promise<void> => {
    await fixture.store.close();
    await fixture.sql.end();
  };
  const fixture: GatewayFixture = {
    ollama,
    telegram,
    discord,
    env,
    home,
    log,
    store: await attach(),
    sql: await connect(home, url),
    gateway,
    call: (route, init = {}) => callGateway(fixture.gateway.url + route, init),
    async messages(session) {
      const answer = await fixture.call(`/v1/sessions/${session}/messages?limit=200`);
      const body: { messages?: MessageRecord[] } = await answer.json();
      return body.messages ?? [];
    },
    async post(id, content) {
      const answer = await fixture.call(`/v1/sessions/http:${id}/messages`, { json: { content } });
      const body: { turnId?: string } = await answer.json();
      if (answer.status !== 202 || body.turnId === undefined) throw new Error(JSON.stringify(body));
      return body.turnId;
    },
    modelCall: (said) =>
      vi.waitFor(() => {
        const call = ollama.calls.findLast(({ body }) => lastUserText(body).includes(said));
        if (call === undefined) throw new Error(`the model was not asked "${said}"`);
        return call;
      }, WAIT),
    async releaseOnce(said, isReady) {
      const call = await fixture.modelCall(said);
      await vi.waitFor(() => assert(isReady(), `${said}: its first half is not shown yet`), WAIT);
      call.release();
    },
    idle: (address) =>
      vi.waitFor(
        async () => {
          const keys = [`in:${address}`, `out:${address}`];
          const busy =
            await fixture.sql`select key from lane where tail > head and key in ${fixture.sql(keys)}`;
          if (busy.length > 0) throw new Error(`busy: ${JSON.stringify(busy)}`);
        },
        { ...WAIT, timeout: 25_000 },
      ),
    async dump() {
      const tables = await fixture.sql<{ name: string }[]>`
        select tablename as name from pg_tables where schemaname = 'public'`;
      const rows = await Promise.all(
        tables.map(({ name }) => fixture.sql`select * from ${fixture.sql(name)}`),
      );
      return JSON.stringify(rows);
    },
    async restart(whileStopped) {
      const { port } = new URL(fixture.gateway.url);
      await detach();
      await fixture.gateway.stop();
      await whileStopped?.();
      fixture.gateway = await start({ PORT: port });
      fixture.store = await attach();
      fixture.sql = await connect(home, url);
    },
    async close() {
      await detach();
      await fixture.gateway.stop();
      if (beside === undefined) {
        await telegram.close();
        await discord.close();
        await ollama.close();
      }
      await rm(home, { recursive: true, force: true });
    },
  };
  await ready(fixture, options);
  return fixture;
}

function writeSettings(
  settings: Record<string, unknown> = { access: { telegram: { allow: FRIENDS } } },
): (home: string) => Promise<void> {
  return (home) => writeFile(path.join(home, 'config.json'), JSON.stringify(settings), { mode: 0o600 });
}

/** Waits until every channel of the configuration is up. A second node has no bots. */
async function ready(fixture: GatewayFixture, options: FixtureOptions): Promise<void> {
  if (options.beside !== undefined) return;
  await vi.waitFor(async () => {
    const { channels } = await fixture.gateway.health();
    const late = Object.values(channels).find(({ state }) => state !== 'up' && state !== 'off');
    if (late !== undefined) throw new Error(JSON.stringify(channels));
  }, WAIT);
}

function callGateway(
  url: string,
  { method, token, headers = {}, json, signal }: CallInit,
): Promise<Response> {
  const type: Record<string, string> = json === undefined ? {} : { 'content-type': 'application/json' };
  return fetch(url, {
    method: method ?? (json === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${token ?? OWNER}`, ...type, ...headers },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** A connection of the test's own; the embedded database is reached through the gateway's socket. */
async function connect(home: string, url: string | undefined): Promise<postgres.Sql> {
  const options = { max: 1, fetch_types: false, onnotice: () => undefined };
  if (url !== undefined) return postgres(url, options);
  const holder = await liveHolder(home);
  return postgres({ ...options, path: holder?.socketPath ?? '', user: 'parley', database: 'postgres' });
}
