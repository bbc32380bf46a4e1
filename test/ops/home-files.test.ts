/** The files of a home on their way into and out of a backup. */
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkRestore, createStaging, homeFiles, type Staging } from '../../src/ops/home-files.ts';

/** The folder of a session, in which its programs do what they like. */
const SESSION = 'workspace/sessions/a';

/** Places that are on another disk than the home, as far as this machine has any. */
const OTHER_DISKS = ['/dev/shm', '/var/tmp'].filter(
  (place) => existsSync(place) && statSync(place).dev !== statSync(tmpdir()).dev,
);

let home = '';
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'parley-backup-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function put(file: string, text: string): Promise<void> {
  await mkdir(path.join(home, path.dirname(file)), { recursive: true });
  await writeFile(path.join(home, file), text);
}

describe('the files of a home', () => {
  it('are not treated as missing when they cannot be read', async () => {
    await put('profiles', 'a file where the backup has a folder');
    const staging = await createStaging(home);
    await staging.begin('profiles/ada.json', 0o600);
    await expect(staging.refuseOverwriting()).rejects.toThrow(
      `${home}/profiles/ada.json cannot be accessed (ENOTDIR)`,
    );
    await staging.discard();
  });

  it('are all except links, what is regenerated, and backups', async () => {
    const parts = ['config.json', 'profiles/ada.json', 'workspace/sessions/a/pg', 'token'];
    const left = [
      'pg/base/1',
      'pg.new-x/base/1',
      'cache/x',
      'logs/y',
      'instance',
      'lock',
      'lock.json',
      'lock-journal',
      'config.schema.json',
      'backups/old',
    ];
    for (const file of [...parts, ...left, 'known']) await put(file, file);
    await symlink('/etc/passwd', path.join(home, 'workspace/sessions/a/link'));
    const found: string[] = [];
    const texts: string[] = [];
    for await (const record of homeFiles(home, new Set(['known'])))
      if (record.type === 'file') found.push(record.path);
      else if (record.type === 'bytes') texts.push(Buffer.from(record.base64, 'base64').toString());
    expect(texts).toEqual(found);
    expect(found.toSorted()).toEqual(parts.toSorted());
  });

  it('are read in pieces of 64 KiB, an empty one without any', async () => {
    await put('empty', '');
    await put('whole', 'x'.repeat(65_536));
    await put('wide', 'x'.repeat(65_537));
    await chmod(path.join(home, 'wide'), 0o700);
    const said: string[] = [];
    for await (const record of homeFiles(home, new Set()))
      said.push(record.type === 'file' ? `${record.path} ${record.mode & 0o100}` : record.type);
    expect(said.join()).toContain('whole 0,bytes');
    expect(said.join()).toContain('wide 64,bytes,bytes');
    expect(said.toSorted()).toEqual(['bytes', 'bytes', 'bytes', 'empty 0', 'whole 0', 'wide 64']);
  });

  it('are never those that a link leads to, also if it takes the place of a folder while the backup is written', async () => {
    const outside = await mkdtemp(path.join(tmpdir(), 'parley-outside-'));
    await writeFile(path.join(outside, 'key'), 'outside');
    const folders = Array.from({ length: 8 }, (_, n) => path.join(home, SESSION, `d${n}`));
    for (const folder of folders) {
      await mkdir(folder, { recursive: true });
      await writeFile(path.join(folder, 'key'), 'inside');
    }
    let texts = '';
    for await (const record of homeFiles(home, new Set())) {
      if (record.type === 'bytes') texts += `${Buffer.from(record.base64, 'base64').toString()} `;
      // A program of the session puts links in the place of all folders once the first file is read.
      for (const folder of record.type === 'file' ? folders.splice(0) : []) {
        await rename(folder, `${folder}-moved`);
        await symlink(outside, folder);
      }
    }
    await rm(outside, { recursive: true });
    expect(texts).toContain('inside');
    expect(texts).not.toContain('outside');
  });

  it('are complete, although a program locks them with their modes, or leaves pipes and devices among them', async () => {
    await put(`${SESSION}/shut/key`, 'shut');
    await put(`${SESSION}/locked`, 'locked');
    execFileSync('mkfifo', [path.join(home, SESSION, 'pipe')]);
    const all = [home, ...(await readdir(home, { recursive: true })).map((name) => path.join(home, name))];
    if (process.getuid?.() === 0) for (const file of all) await chown(file, 65_534, 65_534);
    await chmod(path.join(home, SESSION, 'shut'), 0o000);
    await chmod(path.join(home, SESSION, 'locked'), 0o000);
    const names: string[] = [];
    await asNobody(async () => {
      for await (const record of homeFiles(home, new Set()))
        if (record.type === 'file') names.push(path.basename(record.path));
    });
    expect(names.toSorted()).toEqual(['key', 'locked']);
  });
});

/** No mode locks root out. */
async function asNobody(work: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) return await work();
  process.seteuid?.(65_534);
  try {
    await work();
  } finally {
    process.seteuid?.(0);
  }
}

describe('what arrives for a home', () => {
  it('is put in place at the end, private, and an existing .env stays', async () => {
    await put('.env', 'MODEL=mine');
    const staging = await createStaging(home);
    for (const [file, text] of [
      ['.env', 'MODEL=theirs'],
      ['bin/run', '#!'],
    ] as const) {
      await staging.begin(file, 0o755);
      await staging.append(Buffer.from(text));
    }
    expect(await readdir(home)).not.toContain('bin');
    await staging.refuseOverwriting();
    await staging.seal();
    expect(await staging.settle({ replace: false })).toEqual(['.env']);
    expect(await readFile(path.join(home, '.env'), 'utf8')).toBe('MODEL=mine');
    expect((await stat(path.join(home, 'bin/run'))).mode & 0o777).toBe(0o700);
    expect((await readdir(home)).toSorted()).toEqual(['.env', 'bin']);
  });

  it('does not replace different content, and leaves identical content alone', async () => {
    await put('config.json', '{}');
    const staging = await createStaging(home);
    await staging.begin('config.json', 0o600);
    await staging.append(Buffer.from('{'));
    await expect(staging.refuseOverwriting()).rejects.toThrow(/config\.json .*--replace/);
    await staging.discard();
    const same = await createStaging(home);
    await same.begin('config.json', 0o600);
    await same.append(Buffer.from('{}'));
    await same.refuseOverwriting();
    await same.discard();
    expect(await readdir(home)).toEqual(['config.json']);
  });

  it('is written through no link that a program of a session has left, and waits for no pipe', async () => {
    const outside = await mkdtemp(path.join(tmpdir(), 'parley-outside-'));
    await put(`${SESSION}/first`, '');
    await symlink(outside, path.join(home, SESSION, 'dir'));
    execFileSync('mkfifo', [path.join(home, SESSION, 'pipe')]);
    for (const file of ['dir/authorized_keys', 'pipe']) {
      const staging = await createStaging(home);
      await staging.begin(`${SESSION}/${file}`, 0o600);
      await expect(staging.refuseOverwriting()).rejects.toMatchObject({ code: 'has_data' });
      await staging.discard();
    }
    const replacing = await createStaging(home);
    await replacing.begin(`${SESSION}/dir/authorized_keys`, 0o600);
    await replacing.seal();
    await replacing.settle({ replace: true });
    expect(await readdir(outside)).toEqual([]);
    expect(await readdir(path.join(home, SESSION))).toEqual(['dir']);
    await rm(outside, { recursive: true });
  });

  it.each([tmpdir(), ...OTHER_DISKS])(
    'arrives where the operator has moved the sessions to, in %s',
    async (place) => {
      const disk = await mkdtemp(path.join(place, 'parley-disk-'));
      await mkdir(path.join(disk, 'old'));
      await mkdir(path.join(home, 'workspace'));
      await symlink(disk, path.join(home, 'workspace/sessions'));
      const staging = await createStaging(home);
      await staging.begin(`${SESSION}/dir/file`, 0o700);
      await staging.append(Buffer.from('text'));
      await staging.refuseOverwriting();
      await staging.seal();
      await staging.settle({ replace: true });
      expect(await readdir(disk, { recursive: true })).toEqual(['a', 'a/dir', 'a/dir/file']);
      expect(await readFile(path.join(disk, 'a/dir/file'), 'utf8')).toBe('text');
      expect((await stat(path.join(disk, 'a/dir/file'))).mode & 0o777).toBe(0o700);
      expect(await readdir(home)).toEqual(['workspace']);
      await rm(disk, { recursive: true });
    },
  );

  it.each(OTHER_DISKS)(
    'is completed by the same restore when it ended half way to another disk, in %s',
    async (place) => {
      const disk = await mkdtemp(path.join(place, 'parley-disk-'));
      await symlink(disk, path.join(home, 'notes'));
      const arrive = async (): Promise<Staging> => {
        const staging = await createStaging(home);
        for (const file of ['notes/a', 'notes/b', 'notes/c']) {
          await staging.begin(file, 0o600);
          await staging.append(Buffer.from(file));
        }
        await staging.seal();
        return staging;
      };
      // A folder in the place of the second file: its copy cannot take its name, as if the process had been killed there.
      await mkdir(path.join(disk, 'b/in'), { recursive: true });
      await expect((await arrive()).settle({ replace: true })).rejects.toThrow(/rename/);
      expect((await readdir(disk)).join(' ')).toMatch(/\.restoring-[0-9a-f]{16}( |$)/);
      await expect(checkRestore(home)).rejects.toMatchObject({ code: 'half_restored' });
      await rm(path.join(disk, 'b'), { recursive: true });
      await (await arrive()).settle({ replace: true });
      await checkRestore(home);
      expect((await readdir(disk)).toSorted()).toEqual(['a', 'b', 'c']);
      expect(await readFile(path.join(disk, 'b'), 'utf8')).toBe('notes/b');
      await rm(disk, { recursive: true });
    },
  );

  it('replaces all session files when asked to replace', async () => {
    await put('workspace/sessions/old/a', 'old');
    await put('notes', 'stay');
    for (const replace of [false, true]) {
      const staging = await createStaging(home);
      await staging.begin('workspace/sessions/new/b', 0o600);
      await staging.seal();
      await staging.settle({ replace });
      const left = await readdir(path.join(home, 'workspace/sessions'));
      expect(left.toSorted()).toEqual(replace ? ['new'] : ['new', 'old']);
    }
    expect(await readFile(path.join(home, 'notes'), 'utf8')).toBe('stay');
  });

  it('is removed by the next start when it was killed early, and names the command to repeat when it was killed at its end', async () => {
    const early = await createStaging(home);
    await early.begin('token', 0o600);
    await checkRestore(home);
    expect(await readdir(home)).toEqual([]);
    // What a killed process no longer holds, this one does.
    await early.discard();
    const refused = await createStaging(home);
    await refused.begin('token', 0o600);
    await refused.seal();
    await refused.unseal();
    await refused.discard();
    await checkRestore(home);
    const late = await createStaging(home);
    await late.begin('token', 0o600);
    await late.seal();
    await late.discard();
    await expect(checkRestore(home)).rejects.toMatchObject({
      code: 'half_restored',
      message: expect.stringContaining(' restore FILE --replace'),
    });
    const again = await createStaging(home);
    await again.begin('token', 0o600);
    await again.seal();
    await again.settle({ replace: true });
    await checkRestore(home);
    expect(await readdir(home)).toEqual(['token']);
  });

  it('never leaves the home', async () => {
    const staging = await createStaging(home);
    for (const file of ['../out', '/etc/out', 'a/../../out', 'a//b', './a', '..'])
      await expect(staging.begin(file, 0o600)).rejects.toThrow(/outside of the home/);
    await expect(staging.append(Buffer.from('x'))).rejects.toThrow(/data that belongs to no file/);
    await staging.discard();
  });
});
