/** A part of the composition root: what a backup of this gateway consists of, and the one it writes once a day. */
import packageFile from '../package.json' with { type: 'json' };
import { type Config, zoneOf } from './config.ts';
import type { Log } from './protocol/log.ts';
import type { BackupRecord } from './protocol/operator/backup.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { createDailyBackups, type DailyBackups } from './ops/daily-backups.ts';
import { homeFiles } from './ops/home-files.ts';
import type { LiveSettings } from './settings/index.ts';
import { knownMigrations, type HomeStore } from './store/index.ts';

/** The row that says which gateway writes the backup of which day. */
const CHOICE = 'daily_backup';

/** Everything of a gateway: these rows, and the files of its home that are not among them. */
export async function* backupRecords(
  home: string,
  rows: AsyncIterable<BackupRecord>,
  now: Date,
): AsyncGenerator<BackupRecord> {
  const head = { version: packageFile.version, migrations: knownMigrations(), madeAt: now.toISOString() };
  yield { type: 'head', ...head };
  const inDatabase = new Set<string>();
  for await (const record of rows) {
    if (record.type === 'file') inDatabase.add(record.path);
    yield record;
  }
  yield* homeFiles(home, inDatabase);
}

/** Whether a gateway writes daily backups: by default only of the embedded database, which nobody else backs up. */
export function writesDailyBackups({ backup, env }: Pick<Config, 'backup' | 'env'>): boolean {
  return backup.daily ?? env.DATABASE_URL === undefined;
}

/** The daily backups of a gateway with these settings. */
export function openDailyBackups(
  settings: LiveSettings<Config>,
  store: Pick<HomeStore, 'choices' | 'instance' | 'dump'>,
  log: Log,
  clock: Clock = systemClock,
): DailyBackups {
  const { home } = settings.current();
  return createDailyBackups({
    home,
    rules() {
      const config = settings.current();
      return { isOn: writesDailyBackups(config), keep: config.backup.keep, timeZone: zoneOf(config) };
    },
    records: () => backupRecords(home, store.dump(), new Date(clock.epochMs())),
    claim: (day) => claimDay(store, day),
    clock,
    log,
  });
}

/** True for the first gateway that asks, then and later: it tries again after a failure or a restart. */
async function claimDay(
  { choices, instance }: Pick<HomeStore, 'choices' | 'instance'>,
  day: string,
): Promise<boolean> {
  const claim = `${day} ${instance}`;
  const last = await choices.chosen(CHOICE);
  if (last?.startsWith(day) === true) return last === claim;
  return (await choices.choose(CHOICE, claim, last)) === claim;
}
