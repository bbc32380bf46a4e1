/** The file of a backup: what is written can be read back, and a cut, changed or oversized one is refused by name. */
import { createHash, randomUUID } from 'node:crypto';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BackupRecord } from '../../src/protocol/operator/backup.ts';
import { MAX_LINE_BYTES, readBackup, UNFINISHED_MS, writeBackup } from '../../src/ops/backup-file.ts';

const PASSPHRASE = 'twelve chars';
const HEAD: BackupRecord = {
  type: 'head',
  version: '1.2.3',
  migrations: [1, 2],
  madeAt: '2026-01-01T00:00:00Z',
};
const RECORDS: BackupRecord[] = [
  HEAD,
  { type: 'table', table: 'message', columns: ['id', 'content'] },
  {
    type: 'rows',
    rows: [
      ['1', 'grüße\nund "mehr"'],
      ['2', null],
    ],
  },
  { type: 'file', path: 'config.json', mode: 0o600 },
  ...Array.from({ length: 40 }, (_, n): BackupRecord => ({ type: 'bytes', base64: noise(n) })),
];

/** Base64 that does not compress much, so that the file has several pieces. */
function noise(seed: number): string {
  const parts = Array.from({ length: 100 }, (_, n) => createHash('sha512').update(`${seed}/${n}`).digest());
  return Buffer.concat(parts).toString('base64');
}

let folder = '';
let file = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'parley-backup-'));
  file = path.join(folder, 'one.backup');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

const write = (records: readonly BackupRecord[], passphrase?: string): Promise<void> =>
  writeBackup(file, each(records), { passphrase });

async function read(passphrase?: string): Promise<BackupRecord[]> {
  const records: BackupRecord[] = [];
  for await (const record of readBackup(file, passphrase)) records.push(record);
  return records;
}

describe.each([
  ['plain', undefined],
  ['encrypted', PASSPHRASE],
])('a backup that is %s', (_, passphrase) => {
  it('returns what was written, then its end, and only its owner may read it', async () => {
    await write(RECORDS, passphrase);
    const records = await read(passphrase);
    expect(records.slice(0, -1)).toEqual(RECORDS);
    expect(records.at(-1)).toMatchObject({ type: 'end' });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['one.backup']);
  });

  it('is refused when it is cut anywhere', async () => {
    await write(RECORDS, passphrase);
    const whole = await readFile(file);
    for (const length of [whole.length - 1, whole.length - 9, whole.length >> 1, whole.indexOf('\n') + 1]) {
      await writeFile(file, whole.subarray(0, length));
      await expect(read(passphrase), `${length} of ${whole.length}`).rejects.toThrow(
        /is cut off|the file was changed or cut/,
      );
    }
  });

  it('is refused when one byte is changed', async () => {
    await write(RECORDS, passphrase);
    const whole = await readFile(file);
    for (const part of [0.1, 0.5, 0.9]) {
      const changed = Buffer.from(whole);
      const at = Math.floor(changed.length * part);
      changed[at] = (changed[at] ?? 0) ^ 0x55;
      await writeFile(file, changed);
      await expect(read(passphrase), `${at}`).rejects.toMatchObject({ code: 'bad_backup' });
    }
  });
});

describe('the folder of a backup', () => {
  it('may hold what others made before: the backup is neither written into it nor through it', async () => {
    await mkdir(path.join(folder, 'shared'), { mode: 0o700 });
    await chmod(path.join(folder, 'shared'), 0o1777);
    file = path.join(folder, 'shared', 'one.backup');
    await writeFile(`${file}.part`, '', { mode: 0o666 });
    await symlink(path.join(folder, 'target'), file);
    await write(RECORDS);
    expect((await lstat(file)).isFile()).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(`${file}.part`, 'utf8')).toBe('');
    expect(await readdir(folder)).toEqual(['shared']);
  });

  it('is refused when all users can replace files in it', async () => {
    await chmod(folder, 0o777);
    await expect(write(RECORDS)).rejects.toThrow(
      /can replace files in .*: choose another folder, or run: chmod o-w/,
    );
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('a passphrase', () => {
  it('is reported when it is wrong, missing, or given for a file without one', async () => {
    await write(RECORDS, PASSPHRASE);
    expect((await readFile(file)).includes('config.json')).toBe(false);
    await expect(read('twelve charz')).rejects.toThrow(/cannot be decrypted: the passphrase is wrong/);
    await expect(read()).rejects.toThrow(/is encrypted: .*--passphrase-file/);
    await write(RECORDS);
    await expect(read(PASSPHRASE)).rejects.toThrow(/is not encrypted/);
  });

  it('has at least 12 characters', async () => {
    await expect(write([HEAD], 'eleven char')).rejects.toThrow(/at least 12 characters/);
    await write([HEAD], PASSPHRASE);
    expect(await readdir(folder)).toEqual(['one.backup']);
  });
});

describe('a file that is refused', () => {
  it('is not ours, from a newer version, or missing', async () => {
    await writeFile(file, 'PK\u0003\u0004 something else');
    await expect(read()).rejects.toThrow(/one\.backup is not a backup of Parley/);
    await writeFile(file, '{"parley":"backup","format":2}\n');
    await expect(read()).rejects.toThrow(/made by a newer version of Parley/);
    await rm(file);
    await expect(read()).rejects.toThrow(/one\.backup cannot be read/);
  });

  it('has a digest that does not match, a line that cannot be read, or something after its end', async () => {
    const made = (...lines: string[]): Promise<void> =>
      writeFile(
        file,
        Buffer.concat([Buffer.from('{"parley":"backup","format":1}\n'), gzipSync(`${lines.join('\n')}\n`)]),
      );
    const head = JSON.stringify(HEAD);
    const digest = createHash('sha256').update(`${head}\n`).digest('hex');
    const end = JSON.stringify({ type: 'end', sha256: digest });
    await made(head, end);
    expect(await read()).toHaveLength(2);
    await made(head.replace('1.2.3', '1.2.4'), end);
    await expect(read()).rejects.toThrow(/its digest does not fit/);
    await made(head, '{"type":"nonsense"}', end);
    await expect(read()).rejects.toThrow(/a line that cannot be read/);
    await made(head, end, head);
    await expect(read()).rejects.toThrow(/continues after its end/);
    await made(head);
    await expect(read()).rejects.toThrow(/is cut off/);
  });

  it('removes what killed writers of any backup have left, but nothing that is still written to, or of other programs', async () => {
    const [dead, live, other] = ['one', 'one', 'two'].map((name) => `${name}.backup.${randomUUID()}.part`);
    const foreign = `film.${randomUUID()}.part`;
    await write(RECORDS);
    const half = (await readFile(file)).subarray(0, 200);
    await rm(file);
    for (const name of [dead, live, other]) await writeFile(path.join(folder, name!), half);
    await writeFile(path.join(folder, foreign), 'half a film');
    const then = new Date(Date.now() - UNFINISHED_MS - 1_000);
    for (const name of [dead, other, foreign]) await utimes(path.join(folder, name!), then, then);
    await write(RECORDS);
    expect(new Set(await readdir(folder))).toEqual(new Set(['one.backup', live, foreign]));
  });

  it('leaves nothing behind when its records end with an error', async () => {
    async function* broken(): AsyncGenerator<BackupRecord> {
      yield HEAD;
      throw new Error('the database is unreachable');
    }
    await expect(writeBackup(file, broken())).rejects.toThrow('the database is unreachable');
    expect(await readdir(folder)).toEqual([]);
  });
});

it('has lines of at most 64 MiB', async () => {
  const empty = JSON.stringify({ type: 'bytes', base64: '' }).length;
  const longest = 'A'.repeat(MAX_LINE_BYTES - empty);
  await write([{ type: 'bytes', base64: longest }]);
  expect(await read()).toHaveLength(2);
  await expect(write([{ type: 'bytes', base64: `${longest}A` }])).rejects.toThrow(/more than 64 MiB/);
  const longer = gzipSync(`${' '.repeat(MAX_LINE_BYTES + 1)}\n`, { level: 1 });
  await writeFile(file, Buffer.concat([Buffer.from('{"parley":"backup","format":1}\n'), longer]));
  await expect(read()).rejects.toThrow(/a line of more than 64 MiB/);
});

it('is refused when it is encrypted and something was appended', async () => {
  await write(RECORDS, PASSPHRASE);
  await writeFile(file, Buffer.concat([await readFile(file), Buffer.from('more')]));
  await expect(read(PASSPHRASE)).rejects.toThrow(/cannot be decrypted/);
});
