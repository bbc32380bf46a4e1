/** The state of a folder, to which the approval of a program is bound: what changes it, and what it costs. */
import { execFileSync } from 'node:child_process';
import { link, mkdir, mkdtemp, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFolderStates } from '../../../src/tools/files/folder-state.ts';

let folder: string;
let stateOf = createFolderStates();

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'parley-state-'));
  stateOf = createFolderStates();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => path.join(folder, name);
const digest = async (): Promise<string> => (await stateOf(folder)).sha256;

it('is the same for the same files, whoever looks, and names each with a digest', async () => {
  await mkdir(at('sub'));
  await writeFile(at('sub/b.sh'), 'echo b');
  await writeFile(at('a.txt'), 'A');
  const state = await stateOf(folder);
  expect([...state.files.keys()]).toEqual(['a.txt', 'sub/b.sh']);
  expect(state.bytes).toBe(7);
  expect((await createFolderStates()(folder)).sha256).toBe(state.sha256);
  expect(await digest()).toBe(state.sha256);
});

it('changes with a content, a name, a link and a file that cannot be read, hidden ones too', async () => {
  await writeFile(at('.hidden'), 'one');
  const seen = [await digest()];
  const steps = [
    () => writeFile(at('.hidden'), 'two'),
    () => rename(at('.hidden'), at('other')),
    () => symlink('/etc/passwd', at('to')),
    async () => {
      await rm(at('to'));
      await symlink('/etc/group', at('to'));
    },
    () => link(at('other'), at('second')),
    () => writeFile(at('second'), 'six'),
    async () => void execFileSync('mkfifo', [at('pipe')]),
  ];
  for (const step of steps) {
    await step();
    seen.push(await digest());
  }
  expect(new Set(seen).size).toBe(steps.length + 1);
});

it('changes with a content of the same length and time, also just after it was looked at', async () => {
  const time = new Date(1_700_000_000_000);
  await writeFile(at('x.sh'), 'echo 1');
  await utimes(at('x.sh'), time, time);
  const first = await digest();
  await writeFile(at('x.sh'), 'echo 2');
  await utimes(at('x.sh'), time, time);
  expect(await digest()).not.toBe(first);
});

it('reads a file again only after it has changed', async () => {
  await writeFile(at('big'), Buffer.alloc(60_000_000, 7));
  await setTimeout(2_100);
  const first = await digest();
  const begin = performance.now();
  for (let n = 0; n < 20; n += 1) expect(await digest()).toBe(first);
  // Hashing it takes longer than 20 ms each time.
  expect(performance.now() - begin).toBeLessThan(200);
});

it('is refused beyond the bytes and entries that a folder may have', async () => {
  const few = createFolderStates({ bytes: 1_000, entries: 3 });
  await writeFile(at('a'), '');
  await truncate(at('a'), 1_000);
  await expect(few(folder)).resolves.toMatchObject({ bytes: 1_000 });
  await truncate(at('a'), 1_001);
  await expect(few(folder)).rejects.toMatchObject({ code: 'workspace_full' });
  await truncate(at('a'), 1);
  for (const name of ['b', 'c']) await writeFile(at(name), '');
  await expect(few(folder)).resolves.toMatchObject({ bytes: 1 });
  await writeFile(at('d'), '');
  await expect(few(folder)).rejects.toMatchObject({ code: 'workspace_full' });
});

it('is refused for a file whose name is no UTF-8: no one could be shown it', async () => {
  await writeFile(Buffer.concat([Buffer.from(`${folder}/x`), Buffer.from([0xff])]), 'echo EVIL');
  await expect(stateOf(folder)).rejects.toMatchObject({ code: 'unreadable' });
  await writeFile(at('x\ufffd'), 'looks alike');
  await expect(stateOf(folder)).rejects.toMatchObject({ code: 'unreadable' });
});
