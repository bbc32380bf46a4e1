/** The server of the embedded database: restarted when it dies, ended when its gateway dies, never in the way of the next one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openEmbedded } from '../../../src/store/embedded/embedded.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { openStoreAt } from '../../../src/store/store.ts';
import { makeEmbeddedHome, silentLog, WHOLE_HOME } from '../../database.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';

const HOLDER = fileURLToPath(new URL('./holder.ts', import.meta.url));
/** Seven restarts and the pauses between them, on a busy machine. */
const SEVEN_STARTS_MS = 120_000;
/** `max_wal_size` of the embedded database, what the test writes, and the size of a file of the log. */
const MAX_WAL_MB = 64;
const WRITTEN_MB = 500;
const SEGMENT_MB = 16;
const SOON = { timeout: 20_000, interval: 10 };

/** The pid of the Postgres that runs on a home. */
async function serverOf(home: string): Promise<number> {
  return Number((await readFile(path.join(home, 'pg', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** False for a zombie, too. */
async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') X');
  return !/^[ZX]/.test(status.slice(status.lastIndexOf(')') + 2));
}

/** The pids of the shells that watch over this gateway. */
async function childrenOf(pid: number, program: string): Promise<number[]> {
  const { stdout } = spawn('ps', ['-o', 'pid=,comm=', '--ppid', String(pid)]);
  let text = '';
  for await (const piece of stdout) text += String(piece);
  return text
    .split('\n')
    .filter((line) => line.trim().endsWith(` ${program}`))
    .map((line) => Number.parseInt(line, 10));
}

/** A gateway in a process of its own, whose store is open. */
async function startHolder(home: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [...process.execArgv, HOLDER, home], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
  expect(line).toBe('open');
  return child;
}

describe('the embedded database', () => {
  let home: string;
  beforeEach(async () => {
    home = await makeEmbeddedHome();
  });
  afterEach(() => rm(home, WHOLE_HOME));

  it('restarts when its server is killed, with all committed rows, while callers wait', async () => {
    const lines: string[] = [];
    const embedded = await openEmbedded(home, testLog(lines));
    const store = await openStoreAt(
      { socketPath: embedded.socketPath, schema: 'public' },
      { log: silentLog, migrate: true },
    );
    await store.access.addGrant('telegram', 'dm', '7');
    const first = await serverOf(home);
    process.kill(first, 'SIGKILL');
    await vi.waitFor(() => expect(lines.join('')).toContain('embedded_database_restarting'), SOON);
    expect(await store.access.hasGrant('telegram', 'dm', '7')).toBe(true);
    const second = await serverOf(home);
    expect(second).not.toBe(first);
    await store.close();
    await embedded.close();
    expect(await isRunning(second)).toBe(false);
  });

  it(
    'is there again after any number of restarts that failed, once what kept it down is gone',
    async () => {
      const lines: string[] = [];
      const embedded = await openEmbedded(home, testLog(lines), { restartMs: 1 });
      const store = await openStoreAt(
        { socketPath: embedded.socketPath, schema: 'public' },
        { log: silentLog, migrate: true },
      );
      await store.access.addGrant('telegram', 'dm', '7');
      const file = path.join(home, 'pg', 'PG_VERSION');
      const version = await readFile(file);
      await writeFile(file, '9.0');
      process.kill(await serverOf(home), 'SIGKILL');
      const failed = (): number =>
        lines.filter((line) => line.includes('embedded_database_restart_failed')).length;
      await vi.waitFor(() => expect(failed()).toBeGreaterThan(6), { timeout: SEVEN_STARTS_MS, interval: 20 });
      await writeFile(file, version);
      expect(await store.access.hasGrant('telegram', 'dm', '7')).toBe(true);
      await store.close();
      await embedded.close();
    },
    2 * SEVEN_STARTS_MS,
  );

  it('stays closed when closed during a restart', async () => {
    const lines: string[] = [];
    const embedded = await openEmbedded(home, testLog(lines));
    process.kill(await serverOf(home), 'SIGKILL');
    await vi.waitFor(() => expect(lines.join('')).toContain('embedded_database_restarting'), SOON);
    await embedded.close();
    await expect(stat(embedded.socketPath)).rejects.toThrow('ENOENT');
  });

  it('syncs what is committed, and gives the gateway no rights on the server', async () => {
    const embedded = await openEmbedded(home, silentLog);
    const sql = postgres({ path: embedded.socketPath, user: 'parley', database: 'postgres', max: 1 });
    const [row] = await sql`
      select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
        current_setting('full_page_writes') as pages, current_setting('data_checksums') as checksums,
        (select rolsuper from pg_roles where rolname = current_user) as superuser,
        lower('ÄÖΣ') as lower, current_setting('listen_addresses') as addresses`;
    expect(row).toEqual({
      fsync: 'on',
      commit: 'on',
      pages: 'on',
      checksums: 'on',
      superuser: false,
      lower: 'äöσ',
      addresses: '',
    });
    await expect(sql`select pg_read_file('/etc/passwd')`).rejects.toThrow('permission denied');
    await sql.end();
    await embedded.close();
  });

  it(
    'makes checkpoints while it runs, so that its log does not grow with what is written',
    async () => {
      const embedded = await openEmbedded(home, silentLog);
      const sql = postgres({ path: embedded.socketPath, user: 'parley', database: 'postgres', max: 1 });
      await sql`create table page (words text)`;
      await sql`alter table page alter words set storage external`;
      const [start] = await sql<{ lsn: string }[]>`select pg_current_wal_lsn() as lsn`;
      for (let n = 0; n < WRITTEN_MB; n += 1) {
        if (n % MAX_WAL_MB === 0) await sql`truncate page`;
        await sql`insert into page select repeat(md5(n::text), 1024) from generate_series(1, 32) n`;
      }
      const [log] = await sql<{ written: number; repeated: number }[]>`
        select (pg_current_wal_lsn() - ${start?.lsn ?? ''}::pg_lsn)::float8 / 1048576 as written,
          (pg_current_wal_lsn() - redo_lsn)::float8 / 1048576 as repeated from pg_control_checkpoint()`;
      expect(log?.written).toBeGreaterThan(WRITTEN_MB);
      // `max_wal_size` begins a checkpoint; until it has ended, the log goes on growing.
      expect(log?.repeated).toBeLessThan(WRITTEN_MB - 2 * MAX_WAL_MB);
      const segments = (await readdir(path.join(home, 'pg', 'pg_wal'))).filter((name) => name.length === 24);
      expect(segments.length * SEGMENT_MB).toBeLessThan(WRITTEN_MB - MAX_WAL_MB);
      await sql.end();
      await embedded.close();
    },
    SEVEN_STARTS_MS,
  );

  it('writes nothing of statements and rows to the log', async () => {
    const lines: string[] = [];
    const embedded = await openEmbedded(home, testLog(lines));
    const sql = postgres({ path: embedded.socketPath, user: 'parley', database: 'postgres', max: 1 });
    await sql`create table note (words text primary key)`;
    await sql`insert into note values ('private')`;
    await expect(sql`insert into note values ('private')`).rejects.toThrow('duplicate');
    await expect(sql.unsafe(`select 'private' from nowhere`)).rejects.toThrow('nowhere');
    await sql.end();
    await embedded.close();
    expect(lines.join('')).not.toContain('private');
  });

  it('ends when its gateway is killed', async () => {
    const holder = await startHolder(home);
    const server = await serverOf(home);
    holder.kill('SIGKILL');
    await vi.waitFor(async () => expect(await isRunning(server)).toBe(false), SOON);
    expect(await readFile(path.join(home, 'pg', 'postmaster.pid')).catch(() => undefined)).toBeUndefined();
  });

  it('ends when its gateway is killed after its watchdog was', async () => {
    const holder = await startHolder(home);
    const server = await serverOf(home);
    const [watchdog = 0] = await childrenOf(holder.pid ?? 0, 'sh');
    // One that has just started is not replaced: it may not work at all.
    await vi.waitFor(async () => expect(await ageMs(watchdog)).toBeGreaterThan(1_100), SOON);
    process.kill(watchdog, 'SIGKILL');
    await vi.waitFor(async () => {
      const [next] = await childrenOf(holder.pid ?? 0, 'sh');
      expect(next).toBeDefined();
      expect(next).not.toBe(watchdog);
    }, SOON);
    holder.kill('SIGKILL');
    await vi.waitFor(async () => expect(await isRunning(server)).toBe(false), SOON);
  });

  it('is ended by the next start when gateway and watchdog were killed together', async () => {
    const holder = await startHolder(home);
    const server = await serverOf(home);
    const [watchdog = 0] = await childrenOf(holder.pid ?? 0, 'sh');
    process.kill(watchdog, 'SIGSTOP');
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    process.kill(watchdog, 'SIGKILL');
    expect(await isRunning(server)).toBe(true);
    const store = await openStore({ home, log: silentLog });
    expect(await isRunning(server)).toBe(false);
    expect(await store.ledger.counts()).toMatchObject({ sessions: 0 });
    await store.close();
  });

  it('starts although the pid of a server that was killed belongs to another program, which is left alone', async () => {
    const bystander = spawn('sleep', ['60']);
    onTestFinished(() => void bystander.kill());
    const embedded = await openEmbedded(home, silentLog);
    const file = path.join(home, 'pg', 'postmaster.pid');
    const lines = (await readFile(file, 'utf8')).split('\n');
    await embedded.close();
    for (const name of [file, `${embedded.socketPath}.lock`])
      await writeFile(name, [bystander.pid, ...lines.slice(1)].join('\n'));
    await writeFile(embedded.socketPath, '');
    await (await openEmbedded(home, silentLog)).close();
    expect(await isRunning(bystander.pid ?? 0)).toBe(true);
  });

  it.runIf(process.getuid?.() === 0)(
    'says what root can do where nothing gives its account the right to read the home',
    async () => {
      vi.stubEnv('PATH', '/nowhere');
      onTestFinished(() => void vi.unstubAllEnvs());
      await expect(openEmbedded(home, silentLog)).rejects.toMatchObject({
        code: 'embedded_failed',
        message: expect.stringMatching(
          /does not run as root, and user 65525.*Run Parley as another user, install setpriv.*DATABASE_URL/,
        ),
      });
    },
  );

  it('takes a short private folder for its socket in a home with a long path, and removes it', async () => {
    const long = path.join(home, 'x'.repeat(200));
    await mkdir(long);
    await rename(path.join(home, 'pg'), path.join(long, 'pg'));
    const embedded = await openEmbedded(long, silentLog);
    const folder = path.dirname(embedded.socketPath);
    expect(folder.startsWith(long)).toBe(false);
    expect((await stat(folder)).mode & 0o077).toBe(0);
    await embedded.close();
    await expect(stat(folder)).rejects.toThrow('ENOENT');
  });
});

/** How long a process has been running, in milliseconds. */
async function ageMs(pid: number): Promise<number> {
  const started = Number((await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[19]);
  const [uptime = ''] = (await readFile('/proc/uptime', 'utf8')).split(' ');
  return Number(uptime) * 1_000 - started * 10;
}
