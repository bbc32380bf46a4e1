/** The files of a folder, copied into a fork's folder: what arrives, what is left out, and what is too much. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionFiles } from '../../../src/protocol/agent/tool.ts';
import { createSessionFiles } from '../../../src/tools/files/session-files.ts';
import { MAX_WORKSPACE_BYTES, MAX_WORKSPACE_ENTRIES } from '../../../src/tools/files/save-file.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';

let root = '';
let files: SessionFiles;

beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'parley-copy-'));
  files = createSessionFiles(path.join(root, 'sessions'), testLog([]));
});
afterEach(() => rm(root, { recursive: true }));

describe('the copy of a folder', () => {
  it('has its plain files with their permissions, at any depth, including empty ones', async () => {
    const from = await files.open('from');
    await mkdir(path.join(from, 'deep', 'er'), { recursive: true });
    await writeFile(path.join(from, 'deep', 'er', 'run.sh'), 'echo hi', { mode: 0o700 });
    await writeFile(path.join(from, 'empty'), '');
    await files.copy('from', 'to');
    const to = path.join(root, 'sessions', 'to');
    expect(await readFile(path.join(to, 'deep', 'er', 'run.sh'), 'utf8')).toBe('echo hi');
    expect((await stat(path.join(to, 'deep', 'er', 'run.sh'))).mode & 0o777).toBe(0o700);
    expect((await stat(path.join(to, 'empty'))).size).toBe(0);
    await writeFile(path.join(from, 'empty'), 'changed');
    expect((await stat(path.join(to, 'empty'))).size).toBe(0);
  });

  it('follows no links and waits for no pipes', async () => {
    const from = await files.open('from');
    await writeFile(path.join(root, 'secret'), 'of the machine');
    await symlink(path.join(root, 'secret'), path.join(from, 'link'));
    await symlink(root, path.join(from, 'folder'));
    execFileSync('mkfifo', [path.join(from, 'pipe')]);
    await files.copy('from', 'to');
    expect(await readdir(path.join(root, 'sessions', 'to'))).toEqual([]);
    await files.copy('never-made', 'none');
    expect(await readdir(path.join(root, 'sessions', 'none'))).toEqual([]);
  });

  it.each([
    [`${MAX_WORKSPACE_BYTES} bytes`, async (place: string) => await large(place, MAX_WORKSPACE_BYTES)],
    [`${MAX_WORKSPACE_ENTRIES} entries`, async (place: string) => await many(place, MAX_WORKSPACE_ENTRIES)],
  ])('is refused when there are more than %s', async (_limit, fill) => {
    const from = await files.open('from');
    await fill(from);
    await files.copy('from', 'fits');
    await writeFile(path.join(from, 'one-more'), 'x');
    await expect(files.copy('from', 'to')).rejects.toMatchObject({ code: 'workspace_full' });
  });

  it('does not start on a file that is larger than all available room', async () => {
    const from = await files.open('from');
    await large(from, 2 ** 40);
    await expect(files.copy('from', 'to')).rejects.toMatchObject({ code: 'workspace_full' });
    expect(await readdir(path.join(root, 'sessions', 'to'))).toEqual([]);
  });
});

/** A sparse file of this length. */
async function large(place: string, bytes: number): Promise<void> {
  await writeFile(path.join(place, 'large'), '');
  await truncate(path.join(place, 'large'), bytes);
}

/** This many folders: entries like files, but cheaper. */
async function many(place: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await mkdir(path.join(place, `f${n}`));
}
