/**
 * The data folder of the embedded database, `pg` in the home. It is completed under another name and then renamed, so
 * that a first start that was killed begins again; it is never overwritten.
 */
import { execFile } from 'node:child_process';
import { chmod, chown, lchown, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { StoreError } from '../../protocol/errors.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { newId } from '../../lib/ids.ts';
import { type Account, commandFor, findPrograms, openFailure, type PostgresPrograms } from './programs.ts';

/** The file that every Postgres data folder has. */
export const VERSION_FILE = 'PG_VERSION';

/** The major version of the programs in the packages. */
const MAJOR = '18';

/** Accessible to its owner only. */
const PRIVATE = 0o700;

const runFile = promisify(execFile);

/** Where the database is, and what runs it. */
export interface Cluster {
  /** The data folder. */
  folder: string;
  programs: PostgresPrograms;
  /** Who runs the programs; undefined = the user of this process. */
  account: Account | undefined;
  /** There was none before. */
  isNew: boolean;
}

/**
 * The database's account if root runs Parley and owns the home. It needs no entry in /etc/passwd; neither systemd nor
 * distributions use numbers from 65520.
 */
const OWN_ACCOUNT: Account = { uid: 65_525, gid: 65_525 };
/** Runs initdb, which wants a user with a name, for root. */
const NOBODY: Account = { uid: 65_534, gid: 65_534 };

/** Where `float8ByVal` is in the control file of Postgres 18 (pg_control.h), and the bytes read to get there. */
const BY_VALUE_AT = 248;

/** The gateway's role owns the database and has no rights on the server. Each line is one statement. */
const CREATE_ROLE = 'create role parley login\nalter database postgres owner to parley\n';

/** UTF-8, sorted alike on every machine; small segments of the log, because a home is small. */
const INITDB = [
  '--username=postgres',
  '--auth=trust',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--data-checksums',
  '--wal-segsize=4',
  '--no-instructions',
];

/**
 * Finds or makes the data folder; the home's lock must be held. Throws `StoreError`: `embedded_failed` for files that
 * are no database of this version, or when none can be made, and `embedded_unavailable`.
 */
export async function prepareCluster(home: string, onNew: () => void = () => undefined): Promise<Cluster> {
  const folder = path.join(home, 'pg');
  const isNew = await isMissing(folder);
  const programs = await findPrograms(path.join(home, 'cache', 'postgres'));
  const account = await accountOf(home);
  const cluster = { folder, programs, account, isNew };
  if (isNew) {
    onNew();
    await make(cluster, home);
    return cluster;
  }
  // A home may have been copied, or restored by another user: Postgres insists on both.
  if (account !== undefined && (await stat(folder)).uid !== account.uid) await give(folder, account);
  await chmod(folder, PRIVATE);
  return cluster;
}

/** True if there is no database. Throws for a folder that holds something else, and leaves it as it is. */
async function isMissing(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((): string[] => []);
  if (names.length === 0) return true;
  const alternative = `or move the folder away to begin with an empty database`;
  if (!names.includes(VERSION_FILE)) {
    throw new StoreError(
      'embedded_failed',
      `${folder} holds ${names.length} files but no ${VERSION_FILE}, so it is no complete database. Move the folder away, and restore a backup: ${PARLEY} restore FILE.`,
    );
  }
  const version = (await readFile(path.join(folder, VERSION_FILE), 'utf8')).trim();
  const move = `Run "${PARLEY} backup FILE" with that version, move the folder away, then run "${PARLEY} restore FILE" with this one; ${alternative}.`;
  if (Number(version) > Number(MAJOR)) {
    throw new StoreError(
      'embedded_failed',
      `The database in ${folder} was made by Postgres ${version}, and this version of Parley has Postgres ${MAJOR}. Install the newer version of Parley, ${alternative}.`,
    );
  }
  if (version !== MAJOR || (await isMadeBy32Bit(folder))) {
    throw new StoreError(
      'embedded_failed',
      `The database in ${folder} was made by an earlier version of Parley, and this one cannot open it. ${move}`,
    );
  }
  return false;
}

/** Earlier versions ran a Postgres compiled to WebAssembly, whose files no other Postgres opens. */
async function isMadeBy32Bit(folder: string): Promise<boolean> {
  const control = await readFile(path.join(folder, 'global', 'pg_control')).catch(() => Buffer.alloc(0));
  // A damaged one is left to Postgres, which says so.
  return control.length > BY_VALUE_AT && control[BY_VALUE_AT] === 0;
}

/** Postgres refuses root: it then belongs to the owner of the home, or to an account of its own. */
async function accountOf(home: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(home);
  return uid === 0 ? OWN_ACCOUNT : { uid, gid };
}

/** Made aside and renamed last: initdb syncs every file, Postgres syncs what the statements change. */
async function make({ folder, programs, account }: Cluster, home: string): Promise<void> {
  // A killed start may have left initdb running: another name keeps the two apart.
  const half = `${folder}.new-${newId()}`;
  const maker = account && NOBODY;
  const { initdb, postgres, environment } = programs;
  const run = async (program: string, args: string[], input = ''): Promise<void> => {
    const command = await commandFor(maker, program, args);
    const running = runFile(command.file, command.args, { cwd: half, env: environment, ...command.account });
    running.child.stdin?.end(input);
    await running;
  };
  try {
    for (const name of await readdir(home))
      if (name.startsWith('pg.new-')) await remove(path.join(home, name));
    await mkdir(half, { mode: PRIVATE });
    if (maker !== undefined) await chown(half, maker.uid, maker.gid);
    await run(initdb, [`--pgdata=${half}`, ...INITDB]);
    await run(postgres, ['--single', '-D', half, '-c', 'exit_on_error=on', 'postgres'], CREATE_ROLE);
    if (account !== undefined) await give(half, account);
    await rename(half, folder);
    await using parent = await open(home, 'r');
    await parent.sync();
  } catch (error) {
    await remove(half);
    throw openFailure(folder, wordsOf(error), { cause: error, account, isNew: true });
  }
}

/** What a program wrote before it failed, else what the system said. */
function wordsOf(error: unknown): string {
  if (error instanceof Error && 'stderr' in error && error.stderr !== '') return String(error.stderr);
  return error instanceof Error ? error.message : String(error);
}

/** Also while a program still writes into it. */
async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

/** Makes the account the owner of every file; of the folder last, which shows that it is done. */
async function give(folder: string, { uid, gid }: Account): Promise<void> {
  for (const name of await readdir(folder, { recursive: true }))
    await lchown(path.join(folder, name), uid, gid);
  await chown(folder, uid, gid);
}
