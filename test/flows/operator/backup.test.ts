/** `parley backup` next to a running gateway, and `parley restore` into other homes and the other kind of database. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile, copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import postgres from 'postgres';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { backupCommand, readBackupOptions, restoreCommand } from '../../../src/commands/backup.ts';
import { loadConfig } from '../../../src/config.ts';
import { startGateway } from '../../../src/gateway.ts';
import { knownMigrations } from '../../../src/store/database/migrate.ts';
import { openDatabaseOf } from '../../../src/store/open-store.ts';
import { writeBackup } from '../../../src/ops/backup-file.ts';
import { parley, startParley } from '../../child.ts';
import { createDatabase, makeEmbeddedHome, silentLog } from '../../database.ts';
import { describeGateway, OWNER, WAIT } from '../setup.ts';

type Environment = Record<string, string>;

type Send = (
  method: string,
  route: string,
  json?: object,
  headers?: Record<string, string>,
  // oxlint-disable-next-line typescript/no-explicit-any -- the answer of any route
) => Promise<{ status: number; headers: Headers; body: any }>;

/** Tables about running processes, and files of sessions, which are compared as files. */
const ROWS_LEFT_OUT = [
  'migration',
  'node',
  'node_settings',
  'node_status',
  'mcp_status',
  'fanout_secret',
  'session_file',
  'session_folder',
];
/** What the home has for its process, and is recreated. */
const FILES_LEFT_OUT = /^(pg|pg\..*|cache|logs|instance|lock([.-].*)?|[^/]*\.schema\.json|backups)(\/|$)/;

const backup = (env: Environment, ...args: string[]): Promise<string> =>
  backupCommand(loadConfig(env), { log: silentLog }, readBackupOptions('backup', args));
const restore = (env: Environment, ...args: string[]): Promise<string> =>
  restoreCommand(loadConfig(env), { log: silentLog }, readBackupOptions('restore', args));

/** Every row of every table as text; a lane that a gateway is working on now has no owner in the backup. */
async function rowsOf(sql: postgres.Sql): Promise<Record<string, string[]>> {
  const tables = await sql<
    { name: string }[]
  >`select tablename as name from pg_tables where schemaname = 'public'`;
  const rows: Record<string, string[]> = {};
  for (const { name } of tables) {
    if (ROWS_LEFT_OUT.includes(name)) continue;
    const found = await sql<
      { row: Record<string, unknown> }[]
    >`select to_jsonb(t) as row from ${sql(name)} t`;
    const texts = found.map(({ row }) =>
      JSON.stringify(name === 'lane' ? { ...row, owner: undefined, claim: undefined } : row),
    );
    rows[name] = texts.toSorted();
  }
  return rows;
}

/** The same for a database that no gateway is running on. */
async function restoredRows(env: Environment): Promise<Record<string, string[]>> {
  const home = env['GATEWAY_HOME'] ?? '';
  const database = await openDatabaseOf({ home, databaseUrl: env['DATABASE_URL'], log: silentLog });
  const { socketPath, url } = database.place;
  const options = { max: 1, fetch_types: false, onnotice: () => undefined, connection: { TimeZone: 'UTC' } };
  const sql =
    url === undefined
      ? postgres({ ...options, path: socketPath ?? '', user: 'parley', database: 'postgres' })
      : postgres(url, options);
  try {
    return await rowsOf(sql);
  } finally {
    await sql.end();
    await database.close();
  }
}

/** The files of a home that belong in a backup, with content and whether they can be executed. */
async function filesOf(home: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(home, { withFileTypes: true, recursive: true })) {
    const place = path.join(entry.parentPath, entry.name);
    const name = path.relative(home, place);
    if (!entry.isFile() || FILES_LEFT_OUT.test(name)) continue;
    const mode = (await stat(place)).mode & 0o100;
    files[name] = `${mode} ${(await readFile(place)).toString('base64')}`;
  }
  return files;
}

async function folder(): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'parley-backup-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function emptyEmbedded(env: Environment): Promise<Environment> {
  const home = await makeEmbeddedHome();
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const target = { ...env, GATEWAY_HOME: home };
  Reflect.deleteProperty(target, 'DATABASE_URL');
  return target;
}

async function emptyPostgres(env: Environment): Promise<Environment> {
  return { ...env, GATEWAY_HOME: await folder(), DATABASE_URL: await createDatabase() };
}

/** Copies the embedded database into an empty Postgres as well; returns the environment of that. */
async function intoPostgres(
  embedded: Environment,
  all: { rows: Record<string, string[]>; files: Record<string, string>; shared: object[] },
): Promise<Environment> {
  const env = await emptyPostgres(embedded);
  const file = path.join(await folder(), 'two.backup');
  expect(await backup(embedded, file)).toContain('It holds secrets and is not encrypted');
  await restore(env, file);
  expect(await restoredRows(env)).toEqual(all.rows);
  expect(await filesOf(env['GATEWAY_HOME'] ?? '')).toEqual(all.files);
  const sql = postgres(env['DATABASE_URL'] ?? '', { max: 1, fetch_types: false });
  expect([...(await sql`select folder, path, sha256, bytes from session_file`)]).toEqual(all.shared);
  await sql.end();
  return env;
}

it('does not make valid again what was revoked since the backup, nor browsers that were signed out', async () => {
  const env = {
    GATEWAY_HOME: await folder(),
    DATABASE_URL: await createDatabase(),
    GATEWAY_TOKEN: OWNER,
    PORT: '0',
    OLLAMA_HOST: 'http://127.0.0.1:9',
  };
  /** Runs `work` on a gateway, with a `send` that returns status and answer. */
  const onGateway = async (work: (send: Send, url: string) => Promise<void>): Promise<void> => {
    const gateway = await startGateway(loadConfig(env), { log: silentLog });
    const send: Send = async (method, route, json, headers = { authorization: `Bearer ${OWNER}` }) => {
      const body = json === undefined ? {} : { body: JSON.stringify(json) };
      const all = { 'content-type': 'application/json', ...headers };
      const response = await fetch(gateway.url + route, { method, headers: all, ...body });
      return { status: response.status, headers: response.headers, body: await response.json() };
    };
    try {
      await work(send, gateway.url);
    } finally {
      await gateway.stop();
    }
  };
  const made: Record<string, { id: string; secret: string }> = {};
  let session: Record<string, string> = {};
  await onGateway(async (send) => {
    for (const name of ['kept', 'revoked', 'rotated'])
      made[name] = (await send('POST', '/v1/tokens', { name, scopes: ['chat'] })).body;
  });
  const link = (await parley(['open'], { ...env, PORT: '8080' })).stdout;
  await onGateway(async (send) => {
    const page = { 'x-parley-page': '1' };
    const code = /#code=([\w-]+)/.exec(link)?.[1];
    const { headers, body } = await send('POST', '/v1/sign-in', { code }, page);
    const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
    session = {
      cookie: cookie.replace(/^parley_session_\d+/, 'parley_session'),
      'x-parley-page': body.pageKey,
    };
  });
  const file = path.join(await folder(), 'before.backup');
  await backup(env, file);
  let rotated = '';
  /** The session as a browser sends it to the port of this start. */
  const browser = (url: string): Record<string, string> => ({
    ...session,
    cookie: (session['cookie'] ?? '').replace('parley_session=', `parley_session_${new URL(url).port}=`),
  });
  await onGateway(async (send, url) => {
    expect((await send('GET', '/v1/sessions', undefined, browser(url))).status).toBe(200);
    expect((await send('DELETE', `/v1/tokens/${made['revoked']?.id}`)).status).toBe(200);
    rotated = (await send('POST', `/v1/tokens/${made['rotated']?.id}/rotate`)).body.secret;
  });
  await restore(env, file, '--replace');
  await onGateway(async (send, url) => {
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await send('GET', '/v1/sessions', undefined, headers)).status;
    const withToken = (secret = ''): Promise<number> => status({ authorization: `Bearer ${secret}` });
    expect(await withToken(made['kept']?.secret)).toBe(200);
    expect(await withToken(made['revoked']?.secret)).toBe(401);
    expect(await withToken(made['rotated']?.secret)).toBe(401);
    // It is not in the backup either.
    expect(await withToken(rotated)).toBe(401);
    expect(await status(browser(url))).toBe(401);
    const { tokens } = (await send('GET', '/v1/tokens')).body;
    expect(tokens.map(({ name }: { name: string }) => name)).toEqual(['GATEWAY_TOKEN', 'kept']);
  });
});

/** Turns that run while the backup is written. */
const RUNNING = 20;

describe.each([{ embedded: true }, { embedded: false }])(
  'embedded: $embedded',
  ({ embedded: isEmbedded }) => {
    describeGateway('parley backup and restore', { embedded: isEmbedded }, (fixture) => {
      it('keeps a gateway running, and puts it into another home and the other kind of database without a difference', async () => {
        const { env, home, ollama, sql } = fixture();
        const place = await folder();
        const secret = path.join(place, 'passphrase');
        await writeFile(secret, 'correct horse battery staple\n');
        await mkdir(path.join(home, 'notes'));
        await writeFile(path.join(home, 'notes/run.sh'), '#!/bin/sh\n', { mode: 0o700 });
        await writeFile(path.join(home, 'notes/empty'), '');
        await writeFile(path.join(home, 'notes/large'), Buffer.alloc(700_000, 'line of notes\n'));

        // A chat with a history and a file, and twenty running turns.
        const sent = await fetch(`${fixture().gateway.url}/v1/sessions/http:desk/files?name=plan.txt`, {
          method: 'POST',
          headers: { authorization: `Bearer ${OWNER}` },
          body: 'The plan.',
        });
        expect(sent.status).toBe(201);
        await fixture().post('desk', 'Remember the grüße 🙂 "and" \\ more');
        await fixture().idle('http:desk');
        const running = Array.from({ length: RUNNING }, (_, n) => `n${String(n).padStart(2, '0')}`);
        for (const name of running) {
          ollama.answer({ text: `half of ${name}`, hold: true }, { when: `work on ${name}` });
          await fixture().post(name, `work on ${name}`);
        }
        for (const name of running) await fixture().modelCall(`work on ${name}`);
        const file = path.join(place, 'one.backup');
        await sql`set timezone = 'UTC'`;
        const before = await vi.waitFor(async () => {
          const rows = await rowsOf(sql);
          await rm(file, { force: true });
          expect(await backup(env, file, '--passphrase-file', secret)).toMatch(
            /^Written: .* rows, \d+ files\)\.$/,
          );
          // Nothing but the tables of running processes has changed in the meantime.
          expect(await rowsOf(sql)).toEqual(rows);
          return rows;
        }, WAIT);
        expect(before['turn']).toHaveLength(RUNNING + 1);
        const files = await filesOf(home);
        expect(Object.keys(files)).toEqual(expect.arrayContaining(['config.json', 'notes/run.sh']));
        expect(Object.keys(files).filter((name) => name.endsWith('plan.txt'))).toHaveLength(1);
        const shared = [...(await sql`select folder, path, sha256, bytes from session_file`)];
        expect(shared).toHaveLength(isEmbedded ? 0 : 1);

        // Into an embedded database.
        const embedded = await emptyEmbedded(env);
        await restore(embedded, file, '--passphrase-file', secret);
        expect(await restoredRows(embedded)).toEqual(before);
        expect(await filesOf(embedded['GATEWAY_HOME'] ?? '')).toEqual(files);

        // And from there into a Postgres.
        const last = isEmbedded ? embedded : await intoPostgres(embedded, { rows: before, files, shared });

        // What was running continues there.
        const gateway = await startGateway(loadConfig(last), { log: silentLog });
        try {
          for (const name of running)
            await vi.waitFor(async () => {
              const response = await fetch(`${gateway.url}/v1/sessions/http:${name}/messages`, {
                headers: { authorization: `Bearer ${OWNER}` },
              });
              expect(await response.text()).toContain(`echo: work on ${name}`);
            }, WAIT);
        } finally {
          await gateway.stop();
        }
      });

      it('leaves nothing of a backup that is stopped while it is written', async () => {
        const { env, home } = fixture();
        const large = path.join(home, 'large');
        await writeFile(large, randomBytes(150_000_000));
        onTestFinished(() => rm(large));
        const target = await folder();
        const child = startParley(['backup', path.join(target, 'x.backup')], env);
        await vi.waitFor(async () => expect((await readdir(target)).join()).toContain('.part'), WAIT);
        child.signal('SIGINT');
        expect(await child.ended).toBe(1);
        expect(child.stderr()).toContain('Stopped: no backup was written.');
        expect(await readdir(target)).toEqual([]);
      });

      it('leaves no row and no file of a restore that is killed, and the next one needs no --replace', async () => {
        const { env, home } = fixture();
        const large = path.join(home, 'large');
        await writeFile(large, randomBytes(60_000_000));
        onTestFinished(() => rm(large));
        const file = path.join(await folder(), 'one.backup');
        await backup(env, file);
        const target = isEmbedded ? await emptyEmbedded(env) : await emptyPostgres(env);
        const targetHome = target['GATEWAY_HOME'] ?? '';
        const child = startParley(['restore', file], target);
        // Its rows have been sent by then.
        await vi.waitFor(
          () => expect(existsSync(path.join(targetHome, '.restoring/large'))).toBe(true),
          WAIT,
        );
        child.signal('SIGKILL');
        await child.ended;
        const left = await restoredRows(target);
        expect(Object.values(left).flat()).toEqual([]);
        expect(existsSync(path.join(targetHome, 'large'))).toBe(false);
        await restore(target, file);
        expect(await readFile(path.join(targetHome, 'large'))).toHaveLength(60_000_000);
        expect((await readdir(targetHome)).filter((name) => name.startsWith('.restor'))).toEqual([]);
      });

      it('refuses what would lose data, and leaves everything unchanged', async () => {
        const { env, home } = fixture();
        const place = await folder();
        const file = path.join(place, 'one.backup');
        await backup(env, file);
        await expect(backup(env, file)).rejects.toThrow(/already exists/);
        await expect(backup(env, path.join(home, 'here'))).rejects.toThrow(
          /write backups to the folder .*backups/,
        );
        const typed = await parley(['backup', path.join(home, 'backups/here')], env);
        expect(typed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Written: /) });
        // On a slow machine it reports what it is waiting for.
        expect(typed.stderr).toMatch(/^((Waiting for|Connecting to) [^\n]*…\n)*$/);
        expect(await parley(['restore'], env)).toMatchObject({
          code: 1,
          stderr: 'Expected: restore FILE [--passphrase-file FILE] [--replace]\n',
        });
        // Next to a running gateway.
        const beside = isEmbedded ? env : { ...env, GATEWAY_HOME: await folder() };
        await expect(restore(beside, file, '--replace')).rejects.toThrow(
          /Stop them first|is in use by process/,
        );

        const target = isEmbedded ? await emptyEmbedded(env) : await emptyPostgres(env);
        const cut = path.join(place, 'cut.backup');
        await copyFile(file, cut);
        await truncate(cut, (await stat(file)).size - 10);
        await expect(restore(target, cut)).rejects.toThrow(/The backup is cut off or was changed/);
        const newer = path.join(place, 'newer.backup');
        async function* head() {
          const migrations = [...knownMigrations(), 99_999_999_999_999];
          yield { type: 'head' as const, version: '99.0.0', migrations, madeAt: '' };
        }
        await writeBackup(newer, head());
        await expect(restore(target, newer)).rejects.toThrow(
          /made by Parley 99\.0\.0, whose tables differ from those/,
        );
        // Neither has left a row or a file: the same restore now needs no --replace.
        await restore(target, file);
        await expect(restore(target, file)).rejects.toThrow(
          /holds data, which a restore would delete.*--replace/,
        );
        await writeFile(path.join(target['GATEWAY_HOME'] ?? '', 'notes.txt'), 'stays');
        expect(await restore(target, file, '--replace')).toMatch(/^Restored: \d+ rows, \d+ files\.$/);
        expect(await filesOf(target['GATEWAY_HOME'] ?? '')).toHaveProperty(['notes.txt']);
      });
    });
  },
);
