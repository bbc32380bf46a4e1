/** kill -9 in the middle of `parley backup` and `parley restore` on the embedded database, and of the gateway beside them. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { expect, it, onTestFinished } from 'vitest';
import { readBackup } from '../../../src/ops/backup-file.ts';
import { liveHolder } from '../../../src/store/embedded/home.ts';
import { openDatabaseOf } from '../../../src/store/open-store.ts';
import { campaignSize, noteProgress } from '../../campaign.ts';
import { parley, type RunningGateway, startGatewayProcess, startParley } from '../../child.ts';
import { seeded } from '../../crash/script.ts';
import { makeEmbeddedHome, silentLog } from '../../database.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { OWNER } from '../setup.ts';

/** Kills in each test. */
const KILLS = campaignSize(30);
const TIMEOUT = 120_000 + KILLS * 30_000;
const MESSAGES = 20_000;
const random = seeded(11);

type Environment = Record<string, string>;

async function folder(): Promise<string> {
  const place = await mkdtemp(path.join(tmpdir(), 'parley-killed-'));
  onTestFinished(() => rm(place, { recursive: true, force: true }));
  return place;
}

async function homeWith(env: Environment): Promise<Environment> {
  const home = await makeEmbeddedHome();
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return { ...env, GATEWAY_HOME: home };
}

async function environment(): Promise<Environment> {
  const ollama = await startFakeOllama();
  onTestFinished(() => ollama.close());
  return await homeWith({ GATEWAY_TOKEN: OWNER, OLLAMA_HOST: ollama.url });
}

/** Enough rows and files that a backup and a restore take a while. */
async function fillUp(env: Environment): Promise<void> {
  const home = env['GATEWAY_HOME'] ?? '';
  await onDatabase(env, async (sql) => {
    await sql`insert into session (key) values ('http:full')`;
    await sql`
      insert into message (session, seq, turn_id, role, content)
      select 'http:full', n, 'turn-' || n, 'user', repeat(md5(n::text), 30) from generate_series(1, ${MESSAGES}) n`;
  });
  await mkdir(path.join(home, 'workspaces'), { recursive: true, mode: 0o700 });
  await writeFile(path.join(home, 'SOUL.md'), 'Be kind.', { mode: 0o600 });
}

async function onDatabase<T>(env: Environment, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const home = env['GATEWAY_HOME'] ?? '';
  const database = await openDatabaseOf({
    home,
    log: silentLog,
    attach: (await liveHolder(home)) !== undefined,
  });
  const { socketPath = '' } = database.place;
  const sql = postgres({
    path: socketPath,
    user: 'parley',
    database: 'postgres',
    max: 1,
    fetch_types: false,
  });
  try {
    return await work(sql);
  } finally {
    await sql.end();
    await database.close();
  }
}

const messagesIn = (env: Environment): Promise<number> =>
  onDatabase(env, async (sql) => {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from message where session = 'http:full'`;
    return row?.count ?? 0;
  });

/** Throws for a backup that is not whole. */
async function rowsIn(file: string): Promise<number> {
  let rows = 0;
  for await (const record of readBackup(file, undefined))
    if (record.type === 'rows') rows += record.rows.length;
  return rows;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

it(
  `leaves no half backup and a home that opens, if the backup or its gateway is killed: ${KILLS} times`,
  async () => {
    const env = await environment();
    await fillUp(env);
    const backups = await folder();
    let gateway: RunningGateway = await startGatewayProcess(env);
    const first = path.join(backups, 'first.backup');
    const usualMs = await timed(() => parley(['backup', first], env));
    const rows = await rowsIn(first);
    expect(rows).toBeGreaterThan(MESSAGES);
    for (let n = 0; n < KILLS; n += 1) {
      const file = path.join(backups, `${n}.backup`);
      const command = startParley(['backup', file], env);
      await pause(random() * usualMs * 1.1);
      const isGateway = n % 3 > 0;
      if (n % 3 < 2) command.signal('SIGKILL');
      if (isGateway) gateway.signal('SIGKILL');
      await command.ended;
      if (isGateway) {
        await gateway.ended;
        gateway = await startGatewayProcess(env);
      }
      const whole = existsSync(file) ? await rowsIn(file) : rows;
      expect(whole).toBeGreaterThan(MESSAGES);
      expect(await messagesIn(env)).toBe(MESSAGES);
      const next = path.join(backups, `${n}-next.backup`);
      expect(await parley(['backup', next], env)).toMatchObject({ code: 0 });
      expect(await rowsIn(next)).toBeGreaterThan(MESSAGES);
      await rm(next);
      noteProgress('kills in a backup', n + 1, KILLS);
    }
  },
  TIMEOUT,
);

it(
  `restores all of the database or nothing, and completes when it is repeated, if it is killed: ${KILLS} times`,
  async () => {
    const env = await environment();
    await fillUp(env);
    const file = path.join(await folder(), 'one.backup');
    expect(await parley(['backup', file], env)).toMatchObject({ code: 0 });
    let usualMs = 0;
    let [whole, none] = [0, 0];
    for (let n = 0; n <= KILLS; n += 1) {
      const target = await homeWith(env);
      const home = target['GATEWAY_HOME'] ?? '';
      if (n === 0) {
        usualMs = await timed(() => parley(['restore', file], target));
        continue;
      }
      const command = startParley(['restore', file], target);
      await pause(random() * usualMs * 1.1);
      command.signal('SIGKILL');
      await command.ended;
      const count = await messagesIn(target);
      expect([0, MESSAGES]).toContain(count);
      if (count > 0) whole += 1;
      else none += 1;
      expect(await parley(['restore', file, '--replace'], target)).toMatchObject({ code: 0 });
      expect(await messagesIn(target)).toBe(MESSAGES);
      expect(await readFile(path.join(home, 'SOUL.md'), 'utf8')).toBe('Be kind.');
      expect((await readdir(home)).filter((name) => /arriv|seal|part/i.test(name))).toEqual([]);
      await rm(home, { recursive: true });
      noteProgress(`kills in a restore (${none} nothing, ${whole} whole)`, n, KILLS);
    }
  },
  TIMEOUT,
);
