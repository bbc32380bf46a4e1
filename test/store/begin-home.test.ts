/** A home that is opened before the settings are read: taken over, given back, or left alone. */
import { rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { beginHome } from '../../src/store/begin-home.ts';
import { liveHolder, lockHome } from '../../src/store/embedded/home-lock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { makeEmbeddedHome, silentLog } from '../database.ts';

describe('a home that is opened early', () => {
  let home = '';
  beforeEach(async () => {
    home = await makeEmbeddedHome();
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  it('is the one that the store uses', async () => {
    const begun = await beginHome(home);
    const early = await liveHolder(home);
    expect(early?.pid).toBe(process.pid);
    const store = await openStore({ home, log: silentLog, begun });
    expect((await liveHolder(home))?.life).toBe(early?.life);
    await store.access.addGrant('telegram', 'dm', '7');
    expect(begun?.takeHome()).toBeUndefined();
    await begun?.discard();
    expect(await store.access.hasGrant('telegram', 'dm', '7')).toBe(true);
    await store.close();
    expect(await liveHolder(home)).toBeUndefined();
  });

  it('is closed and free again when nobody takes it', async () => {
    const begun = await beginHome(home);
    await begun?.discard();
    await begun?.discard();
    expect(await liveHolder(home)).toBeUndefined();
    await expect(stat(path.join(home, 'pg.sock'))).rejects.toThrow('ENOENT');
    const store = await openStore({ home, log: silentLog, lockWaitMs: 0 });
    await store.close();
  });

  it('is closed when the settings name another database', async () => {
    const begun = await beginHome(home);
    const databaseUrl = 'postgres://nobody@127.0.0.1:9/none';
    const opening = openStore({ home, log: silentLog, begun, databaseUrl, retryForMs: 0 });
    await expect(opening).rejects.toMatchObject({ code: 'unavailable' });
    expect(begun?.takeHome()).toBeUndefined();
    await expect(stat(path.join(home, 'pg.sock'))).rejects.toThrow('ENOENT');
    expect(await liveHolder(home)).toBeUndefined();
  });

  it('renews its lock until it is taken', async () => {
    const begun = await beginHome(home);
    const file = path.join(home, 'lock.1');
    await utimes(file, 1_000, 1_000);
    await vi.waitFor(async () => expect((await stat(file)).mtimeMs).toBeGreaterThan(1_000_000), 5_000);
    await begun?.discard();
  });

  it('is not opened where there is no database yet: a wrong configuration creates none', async () => {
    await rm(path.join(home, 'pg'), { recursive: true });
    expect(await beginHome(home)).toBeUndefined();
    expect(await liveHolder(home)).toBeUndefined();
  });

  it('is not opened while another process holds it, or may be running on another machine', async () => {
    const lock = await lockHome(home);
    expect(await beginHome(home)).toBeUndefined();
    await lock.release();
    const elsewhere = { pid: 7, started: '1', life: 'life.gone', machine: 'another-boot' };
    await writeFile(path.join(home, 'lock.2'), JSON.stringify(elsewhere));
    expect(await beginHome(home)).toBeUndefined();
  });

  it('is left to the store, which says what is wrong, when its folder holds no complete database', async () => {
    await writeFile(path.join(home, 'pg', 'PG_VERSION'), '9.0');
    const begun = await beginHome(home);
    const opening = openStore({ home, log: silentLog, begun });
    await expect(opening).rejects.toMatchObject({ code: 'embedded_failed' });
    expect(await liveHolder(home)).toBeUndefined();
  });
});
