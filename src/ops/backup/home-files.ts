/** The files of a home that belong into a backup. */
import { createReadStream } from 'node:fs';
import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { BackupRecord } from '../../contracts/operator/backup.ts';

/** What belongs to this process, this machine or the database, or is made anew. */
const LEFT_OUT =
  /^(pg|pg\.sock|pg\.creating|cache|logs|instance|lock\..*|life\..*|[^/]*\.schema\.json|[^/]*\.new|\.restoring)$/;
/** Bytes that one record holds. */
const PIECE_BYTES = 256 * 1024;

/** Every file below the home, a record of its bytes at a time; not those whose path is in `except`. A file that vanishes meanwhile is left out. */
export async function* homeFiles(home: string, except: ReadonlySet<string>): AsyncGenerator<BackupRecord> {
  for await (const file of plainFiles(home, '')) {
    if (except.has(file)) continue;
    const place = path.join(home, file);
    const stats = await lstat(place).catch(() => undefined);
    if (stats === undefined || !stats.isFile()) continue;
    yield { type: 'file', path: file, mode: stats.mode & 0o777 };
    // No more than it was: a log may grow for ever.
    const bytes = createReadStream(place, { highWaterMark: PIECE_BYTES, end: Math.max(0, stats.size - 1) });
    if (stats.size > 0)
      for await (const piece of bytes) yield { type: 'bytes', base64: Buffer.from(piece).toString('base64') };
  }
}

async function* plainFiles(home: string, folder: string): AsyncGenerator<string> {
  const entries = await readdir(path.join(home, folder), { withFileTypes: true }).catch((): Dirent[] => []);
  for (const entry of entries.toSorted((a, b) => a.name.localeCompare(b.name, 'en'))) {
    const file = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (folder === '' && LEFT_OUT.test(entry.name)) continue;
    if (entry.isDirectory()) yield* plainFiles(home, file);
    else if (entry.isFile()) yield file;
  }
}
