/** The folder of a home: created along with its parents, or refused immediately. */
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { lockHome, makeHome } from '../../../src/store/embedded/home.ts';

async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-folder-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('is created with its parents, for its owner only, and left unchanged when it exists', async () => {
  const above = await freshFolder();
  const home = path.join(above, 'a', 'b');
  await Promise.all([makeHome(home), makeHome(home)]);
  await makeHome(home);
  expect((await stat(home)).mode & 0o777).toBe(0o700);
});

it('is refused when the path is a file, or lies below one', async () => {
  const file = path.join(await freshFolder(), 'file');
  await writeFile(file, '');
  for (const home of [file, path.join(file, 'home')])
    await expect(makeHome(home)).rejects.toMatchObject({
      code: 'home_unwritable',
      message: expect.stringContaining('is not a folder, or lies below a file'),
    });
});

it.skipIf(process.platform !== 'linux')(
  'is refused at once, at startup and by the lock, below a folder where the system allows no new ones',
  async () => {
    for (const make of [makeHome, lockHome])
      await expect(make('/proc/nope/deeper')).rejects.toThrow(
        'GATEWAY_HOME /proc/nope/deeper is not writable (ENOENT): set it to a folder this user can write.',
      );
  },
);
