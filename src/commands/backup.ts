/** `parley backup` and `parley restore`: everything of a gateway in one file, and back, also into the other kind of database. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };
import type { Config } from '../config.ts';
import { ConfigError, GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { Log, StartProgress } from '../protocol/log.ts';
import {
  type BackupRecord,
  BACKUPS_FOLDER,
  type BackupSize,
  SESSIONS_FOLDER,
} from '../protocol/operator/backup.ts';
import { MAX_SHARED_BYTES } from '../protocol/agent/tool.ts';
import { backupRecords } from '../daily-backups.ts';
import { createStaging, type Staging } from '../ops/home-files.ts';
import { readBackup, writeBackup } from '../ops/backup-file.ts';
import {
  dumpDatabase,
  beginLoading,
  type Loading,
  knownMigrations,
  makeFolder,
  openDatabaseOf,
} from '../store/index.ts';
import { readArguments } from './arguments.ts';

/** The arguments of both commands. */
export interface BackupOptions {
  file: string;
  passphraseFile: string | undefined;
  replace: boolean;
}

/** Where the commands report what goes wrong, and what takes time. */
export interface BackupDeps {
  log: Log;
  progress?: StartProgress;
  /** Gives up a backup; what was written of it is removed. */
  signal?: AbortSignal;
}

/** Reads the arguments. Throws `GatewayError('usage')`. */
export function readBackupOptions(command: 'backup' | 'restore', args: string[]): BackupOptions {
  const usage = `Expected: ${command} FILE [--passphrase-file FILE]${command === 'restore' ? ' [--replace]' : ''}`;
  const { positionals, values } = readArguments(args, usage, {
    options: { 'passphrase-file': { type: 'string' }, replace: { type: 'boolean' } },
    allowPositionals: true,
  });
  const [file, ...more] = positionals;
  const { 'passphrase-file': passphraseFile, replace = false } = values;
  if (file === undefined || more.length > 0 || (replace && command === 'backup'))
    throw new GatewayError('usage', usage);
  return { file: path.resolve(file), passphraseFile, replace };
}

/** Writes everything into one file, while the gateway runs or not. Returns what to print. Throws `GatewayError`. */
export async function backupCommand(
  config: Config,
  deps: BackupDeps,
  options: BackupOptions,
): Promise<string> {
  const { file } = options;
  if (existsSync(file)) throw new GatewayError('usage', `${file} already exists: choose another name.`);
  const passphrase = await passphraseOf(options);
  const { home, env } = config;
  await refuseWithin(home, file);
  const database = await openDatabaseOf({ home, databaseUrl: env.DATABASE_URL, ...deps, attach: true });
  const size: BackupSize = { rows: 0, files: 0 };
  try {
    const rows = dumpDatabase(database.place);
    const records = counted(backupRecords(home, rows, new Date()), size);
    await writeBackup(file, records, { passphrase, signal: deps.signal });
  } catch (error) {
    if (deps.signal?.aborted !== true) throw error;
    throw new GatewayError('aborted', 'Stopped: no backup was written.', { cause: error });
  } finally {
    await database.close();
  }
  const secret = passphrase === undefined ? ' It holds secrets and is not encrypted: keep it safe.' : '';
  return `Written: ${file} (${size.rows} rows, ${size.files} files).${secret}`;
}

/** A backup must not become part of the next one. Makes the folder that is meant for them. */
async function refuseWithin(home: string, file: string): Promise<void> {
  const inside = path.relative(path.resolve(home), file).split(path.sep);
  if (inside[0] === '..') return;
  const folder = path.join(home, BACKUPS_FOLDER);
  if (inside.length < 2 || inside[0] !== BACKUPS_FOLDER)
    throw new GatewayError('usage', `Inside GATEWAY_HOME, write backups to the folder ${folder}.`);
  await makeFolder(path.dirname(file));
}

async function* counted(
  records: AsyncIterable<BackupRecord>,
  size: BackupSize,
): AsyncGenerator<BackupRecord> {
  for await (const record of records) {
    if (record.type === 'rows') size.rows += record.rows.length;
    if (record.type === 'file') size.files += 1;
    yield record;
  }
}

/** Restores a backup, all of its database or nothing, and returns what to print. Throws `GatewayError`. */
export async function restoreCommand(
  config: Config,
  deps: BackupDeps,
  options: BackupOptions,
): Promise<string> {
  const { replace } = options;
  const passphrase = await passphraseOf(options);
  const { home, env } = config;
  const database = await openDatabaseOf({ home, databaseUrl: env.DATABASE_URL, ...deps });
  const size: BackupSize = { rows: 0, files: 0 };
  try {
    const loading = await beginLoading(database.place, options);
    const staging = await createStaging(home);
    try {
      await takeIn(counted(readBackup(options.file, passphrase), size), loading, staging);
      if (!replace) await staging.refuseOverwriting();
      await staging.seal();
      await loading.finish().catch(async (error: unknown) => {
        // Without an answer, the rows may have been committed.
        if (!(error instanceof GatewayError && error.retryable)) await staging.unseal();
        throw error;
      });
      const settled = await staging.settle({ replace });
      const keptText = settled.length === 0 ? '' : ` Kept as it is: ${settled.join(', ')}.`;
      return `Restored: ${size.rows} rows, ${size.files} files.${keptText}`;
    } finally {
      await loading.close();
      await staging.discard();
    }
  } finally {
    await database.close();
  }
}

/** Rows go to the database; files to the staging, those of sessions also to the database. */
async function takeIn(
  records: AsyncIterable<BackupRecord>,
  loading: Loading,
  staging: Staging,
): Promise<void> {
  const shared = sharing(loading);
  for await (const record of records) {
    if (record.type === 'head') refuseOther(record);
    else if (record.type === 'table') loading.table(record.table, record.columns);
    else if (record.type === 'rows') await loading.rows(record.rows);
    else if (record.type === 'bytes') {
      const bytes = Buffer.from(record.base64, 'base64');
      await staging.append(bytes);
      shared.append(bytes);
    } else {
      await shared.end();
      if (record.type === 'end') continue;
      await staging.begin(record.path, record.mode);
      shared.begin(record.path);
    }
  }
}

/** Files of sessions on their way to the other nodes of the database, one at a time. */
interface Sharing {
  begin(file: string): void;
  append(bytes: Buffer): void;
  end(): Promise<void>;
}

const SESSION_FILE = new RegExp(`^${SESSIONS_FOLDER}/([^/]+)/(.+)$`);

function sharing(loading: Loading): Sharing {
  let match: RegExpExecArray | null = null;
  let pieces: Buffer[] = [];
  let length = 0;
  return {
    begin(file) {
      match = SESSION_FILE.exec(file);
      pieces = [];
      length = 0;
    },
    append(bytes) {
      length += bytes.length;
      // One that is too large to be shared need not be kept whole.
      if (match !== null && length <= MAX_SHARED_BYTES) pieces.push(bytes);
    },
    async end() {
      const [, folder, inside] = match ?? [];
      if (folder === undefined || inside === undefined || length > MAX_SHARED_BYTES) return;
      await loading.sessionFile(folder, inside, Buffer.concat(pieces));
    },
  };
}

function refuseOther({ version, migrations }: BackupRecord & { type: 'head' }): void {
  if (migrations.join() === knownMigrations().join()) return;
  throw new GatewayError(
    'bad_backup',
    `The backup was made by Parley ${version}, whose tables differ from those of this version (${packageFile.version}). ` +
      'Restore it with that version, then update.',
  );
}

/** The first line of the file. */
async function passphraseOf({ passphraseFile }: BackupOptions): Promise<string | undefined> {
  if (passphraseFile === undefined) return undefined;
  try {
    const [line = ''] = (await readFile(passphraseFile, 'utf8')).split(/\r?\n/, 1);
    return line;
  } catch (error) {
    throw new ConfigError('bad_config', `${passphraseFile} cannot be read: ${toGatewayError(error).message}`);
  }
}
