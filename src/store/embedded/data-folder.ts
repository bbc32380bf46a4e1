/** Prepares the folder of the embedded database: creates it only if there was none, and never overwrites what is there. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { StoreError } from '../../contracts/errors.ts';

/** The file that every Postgres data folder has; without it a new database would be created in the folder. */
export const VERSION_FILE = 'PG_VERSION';

export interface DataFolder {
  path: string;
  /** It contained no database. */
  isNew: boolean;
  /** Called once the database has opened. Rejects if the home is not writable. */
  opened(): Promise<void>;
}

/**
 * Prepares `pg` in the home. A first start that was interrupted begins again: nothing was acknowledged before the
 * database was opened. Throws `StoreError('embedded_failed')` for a folder that contains files but no database.
 */
export async function prepareDataFolder(home: string): Promise<DataFolder> {
  const folder = path.join(home, 'pg');
  const mark = path.join(home, 'pg.creating');
  const names = await readdir(home);
  if (names.includes(path.basename(mark))) await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const files = await readdir(folder);
  if (files.length > 0 && !files.includes(VERSION_FILE)) {
    throw new StoreError(
      'embedded_failed',
      `${folder} holds ${files.length} files but no ${VERSION_FILE}, so it is no complete database. Restore it from a backup; to begin with an empty database instead, move the folder away.`,
    );
  }
  if (files.length > 0) return { path: folder, isNew: false, opened: () => Promise.resolve() };
  await writeFile(mark, '', { mode: 0o600 });
  return { path: folder, isNew: true, opened: () => rm(mark, { force: true }) };
}
