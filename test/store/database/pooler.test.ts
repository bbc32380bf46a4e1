/** PgBouncer between the gateway and Postgres: in session mode it works, and anything else is refused with words that help. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openStoreAt } from '../../../src/store/store.ts';
import { codeBlocks } from '../../docs/pages.ts';
import { describeStore, silentLog, type TestStore } from '../../database.ts';
import { needs } from '../../runs/needs.ts';
import { request } from '../requests.ts';

/** The settings that Parley gives a connection. */
const IGNORED = 'search_path,statement_timeout,jit,enable_seqscan';

const NOBODY = 65_534;

const LONG = { timeout: 15_000 };

/** A PgBouncer before the database of a store; returns the address. It ends with the test. */
async function pool({ place }: TestStore, settings: readonly string[], role?: string): Promise<string> {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  await new Promise((resolve) => holder.close(resolve));
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-pgbouncer-'));
  await chmod(folder, 0o755);
  const { hostname, port: serverPort, username } = new URL(place.url);
  const host = hostname === '' ? process.env['PGHOST'] : hostname;
  const user = role ?? (username === '' ? process.env['PGUSER'] : username);
  const file = path.join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=${host} port=${serverPort === '' ? '5432' : serverPort} user=${user}`,
    '[pgbouncer]',
    `listen_addr=127.0.0.1\nlisten_port=${port}\nunix_socket_dir=\nauth_type=any`,
    ...settings,
  ];
  await writeFile(file, lines.join('\n'));
  // It refuses root, and must be able to reach the socket of the server.
  const { uid, gid } = await stat(host?.startsWith('/') === true ? host : folder);
  const account = process.getuid?.() === 0 ? { uid: uid || NOBODY, gid: gid || NOBODY } : {};
  const child = spawn('pgbouncer', ['-q', file], { stdio: 'ignore', ...account });
  onTestFinished(async () => {
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true });
  });
  return `postgres://any@127.0.0.1:${port}${new URL(place.url).pathname}`;
}

describeStore('PgBouncer', (databases) => {
  const open = async (store: TestStore, url: string) => {
    const opened = await openStoreAt(
      { schema: store.place.schema, url },
      { log: silentLog, migrate: true, retryForMs: 5_000 },
    );
    onTestFinished(() => opened.close());
    return opened;
  };
  const refusal = async (settings: readonly string[]): Promise<unknown> => {
    const store = await databases.open();
    const url = await pool(store, settings);
    let failure: unknown;
    await vi.waitFor(async () => {
      failure = await open(store, url).catch((error: unknown) => error);
      expect(failure).not.toMatchObject({ code: 'unavailable' });
    }, LONG);
    return failure;
  };

  it(
    'with its own settings is refused in the words of the server, with what to set',
    needs('pgbouncer'),
    async () => {
      expect(await refusal([])).toMatchObject({
        code: 'pooler_refused',
        retryable: false,
        message: expect.stringMatching(
          /unsupported startup parameter.*ignore_startup_parameters = .*session/,
        ),
      });
    },
  );

  it('in transaction mode is refused', needs('pgbouncer'), async () => {
    const settings = ['pool_mode=transaction', `ignore_startup_parameters=${IGNORED}`];
    expect(await refusal(settings)).toMatchObject({
      code: 'pooler_mode',
      message: expect.stringMatching(/^DATABASE_URL leads to a pooler in transaction mode\. .*session mode/),
    });
  });

  it(
    'that drops the settings of a connection is refused, with the settings of the role',
    needs('pgbouncer'),
    async () => {
      const settings = ['pool_mode=session', `ignore_startup_parameters=${IGNORED}`];
      expect(await refusal(settings)).toMatchObject({
        code: 'pooler_settings',
        message: expect.stringContaining('ALTER ROLE name SET search_path = '),
      });
    },
  );

  it('works in session mode, once the role has the settings', needs('pgbouncer'), async () => {
    const store = await databases.open();
    const role = `pooled_${process.pid}`;
    const [block] = codeBlocks('docs/operating.md').filter(({ language }) => language === 'sql');
    const settingsOfRole = block!.text
      .replaceAll('ROLE parley', `ROLE ${role}`)
      .replace('public', store.place.schema);
    await store.sql.unsafe(`create role ${role} login superuser; ${settingsOfRole}`);
    const settings = ['pool_mode=session', `ignore_startup_parameters=${IGNORED}`];
    const url = await pool(store, settings, role);
    const pooled = await vi.waitFor(() => open(store, url), LONG);
    const sent = await Promise.all(
      Array.from({ length: 40 }, (_, n) => pooled.ledger.accept(request(`m${n}`))),
    );
    expect(sent.map(({ kind }) => kind)).toEqual(sent.map(() => 'accepted'));
    expect(await store.ledger.messages('telegram:42', { limit: 99 })).toHaveLength(40);
    await pooled.close();
    await store.sql.unsafe(`drop role ${role}`);
  });
});
