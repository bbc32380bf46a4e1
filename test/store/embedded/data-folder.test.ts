/** What happens to the folder of the embedded database before it is opened. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbedded } from '../../../src/store/embedded/embedded.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { makeEmbeddedHome, silentLog } from '../../database.ts';

describe('the folder of the embedded database', () => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), 'parley-test-'));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  it('is refused and left unchanged when its version file is missing', async () => {
    await rm(home, { recursive: true });
    home = await makeEmbeddedHome();
    const first = await openStore({ home, log: silentLog });
    await first.access.addGrant('telegram', 'dm', '7');
    await first.close();
    await rm(path.join(home, 'pg', 'PG_VERSION'));
    const before = await readdir(path.join(home, 'pg'));
    await expect(openStore({ home, log: silentLog })).rejects.toMatchObject({
      code: 'embedded_failed',
      message: expect.stringMatching(/no PG_VERSION.*Restore it from a backup/),
    });
    expect(await readdir(path.join(home, 'pg'))).toEqual(before);
  });

  it('is recreated when its first start was interrupted', async () => {
    await mkdir(path.join(home, 'pg'));
    await writeFile(path.join(home, 'pg', 'half'), '');
    await writeFile(path.join(home, 'pg.creating'), '');
    const embedded = await openEmbedded(home, silentLog);
    await embedded.close();
    expect(await readdir(home)).toEqual(['pg']);
    expect(await readdir(path.join(home, 'pg'))).toContain('PG_VERSION');
    expect(await readdir(path.join(home, 'pg'))).not.toContain('half');
  });
});
