/** The backup that a gateway writes into its home once a day, of which the newest few are kept. */
import { mkdir, readdir, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { GatewayError, toGatewayError, unless } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import { type BackupRecord, BACKUPS_FOLDER, type BackupState } from '../protocol/operator/backup.ts';
import { pauseOn, type Clock } from '../lib/clock.ts';
import { writeBackup } from './backup-file.ts';

/** From the start to the first check: a start has more urgent work, and one that fails soon should write nothing. */
export const FIRST_AFTER_MS = 5 * 60_000;
/** Between two checks, and after a failure, in milliseconds. */
export const CHECK_EVERY_MS = 10 * 60_000;
export const RETRY_AFTER_MS = 60 * 60_000;
/** A backup leaves this much of the disk free: the database needs it more. In bytes. */
export const RESERVE_BYTES = 256 * 1024 ** 2;
/** Records between two looks at the free space; each has about 64 KiB, apart from a row that is larger. */
const RECORDS_PER_LOOK = 256;

const FINISHED = /^parley-(\d{4}-\d{2}-\d{2})\.backup$/;
const UNFINISHED = /^parley-\d{4}-\d{2}-\d{2}\.backup\.[\da-f-]+\.part$/;

/** What it needs. */
export interface DailyBackupDeps {
  home: string;
  /** The settings as they are now; the day begins at midnight in `timeZone`. */
  rules: () => { isOn: boolean; keep: number; timeZone: string };
  /** Everything that belongs in a backup. */
  records: () => AsyncIterable<BackupRecord>;
  /** Whether this gateway writes the backup of that day; with several on one database, one of them does. */
  claim: (day: string) => Promise<boolean>;
  clock: Clock;
  log: Log;
  /** Free bytes of the disk behind a folder. */
  freeBytes?: (folder: string) => Promise<number>;
}

/** The daily backups of a gateway. */
export interface DailyBackups {
  /** Begins to look once in a while whether today has a backup. */
  start(): void;
  /** Undefined while they are off. */
  state(): BackupState | undefined;
  /** Gives up one that is being written. Never throws. */
  close(): Promise<void>;
}

/** Makes them; nothing is written before `start`. A failure is logged and told by `state`. */
export function createDailyBackups(deps: DailyBackupDeps): DailyBackups {
  const { home, rules, claim, clock, log } = deps;
  const folder = path.join(home, BACKUPS_FOLDER);
  const closing = new AbortController();
  const { signal } = closing;
  let working: Promise<void> | undefined;
  let state: BackupState = {};
  /** A file may be gone again, such as one from before the clock was set: once a day is enough all the same. */
  let lastDay = '';

  const writeToday = async (): Promise<void> => {
    const { isOn, keep, timeZone } = rules();
    const day = dayOf(clock.epochMs(), timeZone);
    if (!isOn || day === lastDay) return;
    if (!(await finishedIn(folder)).includes(nameOf(day))) {
      if (!(await claim(day))) return;
      await writeDay(deps, path.join(folder, nameOf(day)), signal);
      for (const name of (await finishedIn(folder)).slice(0, -keep)) await rm(path.join(folder, name));
    }
    lastDay = day;
  };
  const round = async (): Promise<number> => {
    let error: string | undefined;
    try {
      await writeToday();
    } catch (failure) {
      if (signal.aborted) return 0;
      const gatewayError = toGatewayError(failure);
      log.error({ err: gatewayError }, 'backup_failed');
      error = gatewayError.message;
    }
    state = { at: (await newestBackup(home))?.at.toISOString(), error };
    return error === undefined ? CHECK_EVERY_MS : RETRY_AFTER_MS;
  };
  const work = async (): Promise<void> => {
    state = { at: (await newestBackup(home))?.at.toISOString() };
    let restMs = FIRST_AFTER_MS;
    while (!signal.aborted) {
      await pauseOn(clock, restMs, signal);
      if (!signal.aborted) restMs = await round();
    }
  };
  return {
    start: () => void (working ??= work()),
    state: () => (rules().isOn ? state : undefined),
    async close() {
      closing.abort();
      await working;
    },
  };
}

/** The newest daily backup of a home; undefined while there is none. Never throws. */
export async function newestBackup(home: string): Promise<{ file: string; at: Date } | undefined> {
  const folder = path.join(home, BACKUPS_FOLDER);
  try {
    const name = (await finishedIn(folder)).at(-1);
    if (name === undefined) return undefined;
    const file = path.join(folder, name);
    return { file, at: (await stat(file)).mtime };
  } catch {
    // A folder that cannot be read makes the next backup fail, which says why.
    return undefined;
  }
}

async function writeDay(
  { records, clock, log, freeBytes = freeBytesOf }: DailyBackupDeps,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const folder = path.dirname(file);
  const startedAt = clock.monotonicMs();
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeUnfinished(folder);
  await writeBackup(file, whileSpaceLasts(records(), folder, freeBytes), { signal });
  const { size } = await stat(file);
  log.info({ file, bytes: size, ms: Math.round(clock.monotonicMs() - startedAt) }, 'backup_written');
}

/** Throws `GatewayError('disk_full')` before the reserve is used up. */
async function* whileSpaceLasts(
  records: AsyncIterable<BackupRecord>,
  folder: string,
  freeBytes: (folder: string) => Promise<number>,
): AsyncGenerator<BackupRecord> {
  let nth = 0;
  for await (const record of records) {
    if (nth % RECORDS_PER_LOOK === 0 && (await freeBytes(folder)) < RESERVE_BYTES)
      throw new GatewayError(
        'disk_full',
        `A daily backup leaves ${RESERVE_BYTES / 1024 ** 2} MiB of the disk free, and there is no room for one on the disk of ${folder}: free some space, or lower backup.keep.`,
      );
    nth += 1;
    yield record;
  }
}

/** What a process left behind that ended while it wrote. */
async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (UNFINISHED.test(name)) await rm(path.join(folder, name), { force: true });
}

/** Names of the daily backups, the oldest first. Throws errors of the file system, but not for a missing folder. */
async function finishedIn(folder: string): Promise<string[]> {
  const entries = await unless(['ENOENT'], readdir(folder, { withFileTypes: true }), []);
  return entries
    .flatMap((entry) => (entry.isFile() && FINISHED.test(entry.name) ? [entry.name] : []))
    .toSorted();
}

function nameOf(day: string): string {
  return `parley-${day}.backup`;
}

/** `2026-11-29`. */
function dayOf(epochMs: number, timeZone: string): string {
  // The Swedish form of a date is that of ISO 8601.
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(epochMs);
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
