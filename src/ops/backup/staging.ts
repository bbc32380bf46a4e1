/** The files of a backup on their way into the home: they arrive beside it, and take their places once everything is right. */
import { constants } from 'node:fs';
import { access, appendFile, chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { GatewayError } from '../../contracts/errors.ts';

/** Files that stay as they are where the home has one: this machine's own addresses and secrets. */
const KEPT = ['.env'];

/** What has arrived so far. */
export interface Staging {
  /** Begins a file. Throws `GatewayError('bad_backup')` for a path that leads out of the home. */
  begin(file: string, mode: number): Promise<void>;
  append(bytes: Buffer): Promise<void>;
  /** Puts all files in their places; gives the paths of those that the home keeps. */
  settle(): Promise<string[]>;
  /** Removes what arrived. Never throws. */
  discard(): Promise<void>;
}

/** Begins with an empty folder in the home, which the caller has locked. */
export async function createStaging(home: string): Promise<Staging> {
  const folder = path.join(home, '.restoring');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  let current = '';
  return {
    async begin(file, mode) {
      current = path.join(folder, file);
      const isInside =
        path.normalize(file) === file && !path.isAbsolute(file) && !file.split('/').includes('..');
      if (!isInside) throw new GatewayError('bad_backup', 'The backup names a file outside of the home.');
      await mkdir(path.dirname(current), { recursive: true, mode: 0o700 });
      await writeFile(current, '', { mode: 0o600 });
      await chmod(current, mode & 0o700);
    },
    append: (bytes) => appendFile(current, bytes),
    async settle() {
      const kept: string[] = [];
      for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
        if (!entry.isFile()) continue;
        const from = path.join(entry.parentPath, entry.name);
        const file = path.relative(folder, from);
        const to = path.join(home, file);
        if (KEPT.includes(file) && (await exists(to))) {
          kept.push(file);
          continue;
        }
        await mkdir(path.dirname(to), { recursive: true, mode: 0o700 });
        await rename(from, to);
      }
      await rm(folder, { recursive: true, force: true });
      return kept;
    },
    discard: () => rm(folder, { recursive: true, force: true }).catch(() => undefined),
  };
}

async function exists(file: string): Promise<boolean> {
  return await access(file, constants.F_OK).then(
    () => true,
    () => false,
  );
}
