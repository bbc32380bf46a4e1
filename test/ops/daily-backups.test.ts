/** The backup that a gateway writes once a day: when it is written, what stays of older ones, and what a failure leaves. */
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { BackupRecord } from '../../src/protocol/operator/backup.ts';
import { createLog } from '../../src/ops/log.ts';
import {
  CHECK_EVERY_MS,
  createDailyBackups,
  type DailyBackupDeps,
  type DailyBackups,
  FIRST_AFTER_MS,
  newestBackup,
  RETRY_AFTER_MS,
} from '../../src/ops/daily-backups.ts';
import { readBackup } from '../../src/ops/backup-file.ts';
import { FakeClock } from '../fakes/clock.ts';

const DAY_MS = 24 * 3_600_000;
/** The clock of these tests begins on this day at 22:13 in UTC. */
const FIRST_DAY = '2023-11-14';

let home = '';
let clock = new FakeClock();
let lines: string[] = [];
const opened: DailyBackups[] = [];
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'parley-daily-'));
  clock = new FakeClock();
  lines = [];
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((backups) => backups.close()));
  if (clock.waiting > 0) throw new Error('A timer is still waiting.');
  await rm(home, { recursive: true, force: true });
});

async function* records(): AsyncGenerator<BackupRecord> {
  yield { type: 'head', version: '1.2.3', migrations: [1], madeAt: '' };
  yield { type: 'table', table: 'message', columns: ['id'] };
}

function open(more: Partial<DailyBackupDeps> = {}): DailyBackups {
  const log = createLog({ level: 'info', redact: (text) => text, write: (line) => lines.push(line) });
  const rules = () => ({ isOn: true, keep: 7, timeZone: 'UTC' });
  const claim = () => Promise.resolve(true);
  const backups = createDailyBackups({ home, rules, records, claim, clock, log, ...more });
  opened.push(backups);
  backups.start();
  return backups;
}

/** Lets that much time pass, and waits for what it starts. */
async function pass(ms: number): Promise<void> {
  await idle();
  await clock.advance(ms);
  await idle();
}

async function idle(): Promise<void> {
  await vi.waitFor(() => expect(clock.waiting).toBe(opened.length));
}

const files = async (): Promise<string[]> => (await readdir(path.join(home, 'backups'))).toSorted();
const events = (): string[] => lines.map((line) => String(JSON.parse(line).msg));

describe('a daily backup', () => {
  it('is written five minutes after the start, whole, and for its owner alone', async () => {
    const backups = open();
    await pass(FIRST_AFTER_MS - 1);
    await expect(files()).rejects.toThrow(/ENOENT/);
    expect(backups.state()).toEqual({ at: undefined });
    await pass(1);
    expect(await files()).toEqual([`parley-${FIRST_DAY}.backup`]);
    const file = path.join(home, 'backups', `parley-${FIRST_DAY}.backup`);
    const read: BackupRecord[] = [];
    for await (const record of readBackup(file, undefined)) read.push(record);
    expect(read.map(({ type }) => type)).toEqual(['head', 'table', 'end']);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
    expect(backups.state()).toEqual({ at: (await stat(file)).mtime.toISOString() });
    expect(events()).toEqual(['backup_written']);
  });

  it('comes once a day of the time zone, and a start on the same day writes no other', async () => {
    open({ rules: () => ({ isOn: true, keep: 7, timeZone: 'Asia/Tokyo' }) });
    await pass(FIRST_AFTER_MS);
    expect(await files()).toEqual(['parley-2023-11-15.backup']);
    await opened.pop()?.close();
    open({ rules: () => ({ isOn: true, keep: 7, timeZone: 'Asia/Tokyo' }) });
    // It is 7:18 in Tokyo.
    await pass(16 * 3_600_000);
    await pass(30 * 60_000);
    expect(events()).toEqual(['backup_written']);
    for (let nth = 0; nth < 4; nth += 1) await pass(CHECK_EVERY_MS);
    expect(await files()).toEqual(['parley-2023-11-15.backup', 'parley-2023-11-16.backup']);
    expect(events()).toEqual(['backup_written', 'backup_written']);
  });

  it('makes up for days without a gateway with one', async () => {
    await open().close();
    opened.pop();
    await clock.advance(10 * DAY_MS);
    open();
    await pass(FIRST_AFTER_MS);
    await pass(CHECK_EVERY_MS);
    expect(await files()).toEqual(['parley-2023-11-24.backup']);
  });

  it('stays until seven newer ones exist, and no file of another name is touched', async () => {
    const folder = path.join(home, 'backups');
    await mkdir(folder);
    const others = ['mine.backup', 'parley-2020-01-01.backup.gz', 'parley-2020-01-01.backup-old'];
    for (const name of others) await writeFile(path.join(folder, name), '');
    await symlink('/etc/hostname', path.join(folder, 'parley-2020-01-02.backup'));
    await mkdir(path.join(folder, 'parley-2020-01-03.backup'));
    open();
    for (let day = 0; day < 9; day += 1) await pass(DAY_MS);
    const daily = (await files()).filter((name) => /^parley-2023.*\.backup$/.test(name));
    expect(daily).toHaveLength(7);
    expect(daily.at(-1)).toBe('parley-2023-11-22.backup');
    const rest = [...others, 'parley-2020-01-02.backup', 'parley-2020-01-03.backup'];
    expect(await files()).toEqual([...rest, ...daily].toSorted());
  });

  it('is left to another gateway that has taken the day', async () => {
    const days: string[] = [];
    open({ claim: async (day) => days.push(day) > 1 });
    await pass(FIRST_AFTER_MS);
    await expect(files()).rejects.toThrow(/ENOENT/);
    await pass(CHECK_EVERY_MS);
    expect(await files()).toEqual([`parley-${FIRST_DAY}.backup`]);
    expect(days).toEqual([FIRST_DAY, FIRST_DAY]);
  });

  it('is not written while it is off, and its state is not reported', async () => {
    const rules = { isOn: false, keep: 7, timeZone: 'UTC' };
    const backups = open({ rules: () => rules });
    await pass(FIRST_AFTER_MS);
    await expect(files()).rejects.toThrow(/ENOENT/);
    expect(backups.state()).toBeUndefined();
    rules.isOn = true;
    await pass(CHECK_EVERY_MS);
    expect(await files()).toHaveLength(1);
  });
});

describe('a daily backup that fails', () => {
  it('is reported, keeps all older ones, leaves nothing behind, and is tried again after an hour', async () => {
    const folder = path.join(home, 'backups');
    await mkdir(folder);
    const old = Array.from({ length: 9 }, (_, day) => `parley-2023-10-1${day}.backup`);
    for (const name of old) await writeFile(path.join(folder, name), '');
    let fails = true;
    const backups = open({
      async *records() {
        yield* records();
        if (fails) throw new Error('the database is unreachable');
      },
    });
    await pass(FIRST_AFTER_MS);
    expect(await files()).toEqual(old);
    expect(events()).toEqual(['backup_failed']);
    expect(backups.state()?.error).toBe('the database is unreachable');
    fails = false;
    await pass(RETRY_AFTER_MS - 1);
    expect(await files()).toEqual(old);
    await pass(1);
    expect(await files()).toEqual([...old.slice(3), `parley-${FIRST_DAY}.backup`]);
    expect(backups.state()?.error).toBeUndefined();
  });

  it('stops before it takes the last space of the disk', async () => {
    let free = 300 * 1024 ** 2;
    const backups = open({
      freeBytes: async () => free,
      async *records() {
        yield* records();
        free = 200 * 1024 ** 2;
        for (let nth = 0; nth < 300; nth += 1) yield { type: 'rows', rows: [[String(nth)]] };
      },
    });
    await pass(FIRST_AFTER_MS);
    expect(await files()).toEqual([]);
    expect(backups.state()?.error).toMatch(/leaves 256 MiB of the disk free.*backup\.keep/);
  });

  it('names a folder that others can change', async () => {
    await mkdir(path.join(home, 'backups'));
    await chmod(path.join(home, 'backups'), 0o777);
    const backups = open();
    await pass(FIRST_AFTER_MS);
    expect(await files()).toEqual([]);
    expect(backups.state()?.error).toMatch(/can replace files in .*backups: .*chmod o-w/);
  });
});

describe('a gateway that ends while it writes', () => {
  it('gives up immediately and removes what it wrote', async () => {
    const writing = Promise.withResolvers<void>();
    const backups = open({
      async *records() {
        yield* records();
        writing.resolve();
        for (;;) {
          yield { type: 'bytes', base64: 'AAAA' };
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
    });
    await idle();
    await clock.advance(FIRST_AFTER_MS);
    await writing.promise;
    await backups.close();
    expect(await files()).toEqual([]);
    expect(events()).toEqual([]);
  });

  it('by force leaves a part, which the next backup removes', async () => {
    const folder = path.join(home, 'backups');
    await mkdir(folder);
    const part = 'parley-2023-11-13.backup.0b54f6de-6f4b-4e0e-8d0b-0e2f6f5c2c11.part';
    await writeFile(path.join(folder, part), 'half');
    await writeFile(path.join(folder, 'mine.part'), '');
    open();
    await pass(FIRST_AFTER_MS);
    expect(await files()).toEqual(['mine.part', `parley-${FIRST_DAY}.backup`]);
  });
});

describe('the newest daily backup', () => {
  it('is the one of the last day, with the time at which it was written', async () => {
    expect(await newestBackup(home)).toBeUndefined();
    const folder = path.join(home, 'backups');
    await mkdir(folder);
    const at = new Date('2023-11-14T00:03:00Z');
    for (const name of ['parley-2023-11-14.backup', 'parley-2023-09-30.backup', 'zebra.backup']) {
      await writeFile(path.join(folder, name), '');
      await utimes(path.join(folder, name), at, at);
    }
    expect(await newestBackup(home)).toEqual({ file: path.join(folder, 'parley-2023-11-14.backup'), at });
  });
});
