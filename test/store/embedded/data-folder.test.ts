/** What happens to the folder of the embedded database before it is opened, and what is said when it cannot be. */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import postgres from 'postgres';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbedded } from '../../../src/store/embedded/embedded.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { mountDisk, unmountDisk } from '../../crash/small-disk.ts';
import { makeEmbeddedHome, silentLog, WHOLE_HOME } from '../../database.ts';

const isRoot = process.getuid?.() === 0;

describe('the folder of the embedded database', () => {
  let home: string;
  let folder: string;
  beforeEach(async () => {
    home = await makeEmbeddedHome();
    folder = path.join(home, 'pg');
  });
  afterEach(() => rm(home, WHOLE_HOME));

  const opening = async (): Promise<string> => {
    const error: unknown = await openStore({ home, log: silentLog }).then(
      (store) => store.close(),
      (failure: unknown) => failure,
    );
    return error instanceof Error ? error.message : 'it opened';
  };

  it('is refused and left unchanged when its version file is missing', async () => {
    await rm(path.join(folder, 'PG_VERSION'));
    const before = await readdir(folder);
    await expect(openStore({ home, log: silentLog })).rejects.toMatchObject({
      code: 'embedded_failed',
      message: expect.stringMatching(/no PG_VERSION.*Move the folder away.*parley restore FILE/),
    });
    expect(await readdir(folder)).toEqual(before);
  });

  it('is refused when an earlier version made it, with the commands that move what it holds', async () => {
    await writeFile(path.join(folder, 'PG_VERSION'), '17\n');
    const refusal =
      /made by an earlier version of Parley.*"npx parley backup FILE" with that version.*"npx parley restore FILE" with this one/;
    expect(await opening()).toMatch(refusal);
    await writeFile(path.join(folder, 'PG_VERSION'), '18\n');
    // The control file of the WebAssembly build: numbers of eight bytes are not passed by value.
    await using control = await open(path.join(folder, 'global', 'pg_control'), 'r+');
    await control.write(Buffer.from([0]), 0, 1, 248);
    expect(await opening()).toMatch(refusal);
  });

  it('is refused when a newer version made it', async () => {
    await writeFile(path.join(folder, 'PG_VERSION'), '19\n');
    expect(await opening()).toMatch(/made by Postgres 19.*has Postgres 18.*Install the newer version/);
  });

  it('is reported as damaged when its control file is cut off, with the last daily backup', async () => {
    await mkdir(path.join(home, 'backups'));
    for (const day of ['01', '03', '02'])
      await writeFile(path.join(home, 'backups', `parley-2026-11-${day}.backup`), '');
    await truncate(path.join(folder, 'global', 'pg_control'), 100);
    expect(await opening()).toMatch(
      /is damaged \(.*pg_control.*\)\. The last daily backup: (.*parley-2026-11-03\.backup)\. Move .*pg away, then run: npx parley restore \1/,
    );
  });

  it('is reported as damaged when its log is gone', async () => {
    const log = path.join(folder, 'pg_wal');
    for (const name of await readdir(log)) if (/^[0-9A-F]{24}$/.test(name)) await rm(path.join(log, name));
    expect(await opening()).toMatch(/is damaged \(.*checkpoint.*There is no daily backup/);
  });

  it('is reported as damaged when a page of a table is overwritten', async () => {
    const embedded = await openEmbedded(home, silentLog);
    const sql = postgres({ path: embedded.socketPath, user: 'parley', database: 'postgres', max: 1 });
    const [row] = await sql`select pg_relation_filepath('migration') as file`;
    await sql.end();
    await embedded.close();
    await using table = await open(path.join(folder, String(row?.['file'])), 'r+');
    await table.write(Buffer.alloc(4_096, 7), 0, 4_096, 4_096);
    expect(await opening()).toMatch(/The database is damaged \(invalid page.*parley restore FILE/);
  });

  it('is made again when its first start was killed, at any step', async () => {
    const whole = path.join(home, 'whole');
    await cp(folder, whole, { recursive: true });
    for (const names of [[], ['base'], await readdir(folder)]) {
      await rm(folder, WHOLE_HOME);
      const half = `${folder}.new-1`;
      await mkdir(half);
      for (const name of names) await cp(path.join(whole, name), path.join(half, name), { recursive: true });
      const embedded = await openEmbedded(home, silentLog);
      await embedded.close();
      expect((await readdir(home)).filter((name) => name.startsWith('pg'))).toEqual(['pg']);
      expect(await readFile(path.join(folder, 'PG_VERSION'), 'utf8')).toBe('18\n');
    }
  });

  it('is opened although it was copied without its permissions', async () => {
    execFileSync('chmod', ['-R', 'a+rX', folder]);
    expect(await opening()).toBe('it opened');
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it.runIf(isRoot)('belongs to an account of its own where root runs the gateway', async () => {
    expect(await opening()).toBe('it opened');
    const { uid } = await stat(folder);
    expect(uid).toBe(65_525);
    expect(() => execFileSync('getent', ['passwd', String(uid)])).toThrow('Command failed');
  });

  it.runIf(isRoot)(
    'belongs to the owner of the home where root runs the gateway for somebody else',
    async () => {
      execFileSync('chown', ['-R', '4711:4711', home]);
      expect(await opening()).toBe('it opened');
      expect((await stat(path.join(folder, 'PG_VERSION'))).uid).toBe(4_711);
    },
  );
});

it.runIf(isRoot)(
  'says that the disk is full when a first start fills it, and starts once there is room',
  async () => {
    const above = await mkdtemp(path.join(tmpdir(), 'parley-full-'));
    const disk = path.join(above, 'disk');
    await mountDisk(disk, 20);
    try {
      await expect(openEmbedded(disk, silentLog)).rejects.toThrow(/disk is full\. Free some space/);
      expect((await readdir(disk)).filter((name) => name.startsWith('pg'))).toEqual([]);
      execFileSync('mount', ['-o', 'remount,size=128m', disk]);
      await (await openEmbedded(disk, silentLog)).close();
    } finally {
      await unmountDisk(disk);
      await rm(above, { recursive: true });
    }
  },
);
