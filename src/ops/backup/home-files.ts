/** The files of a home that belong in a backup. */
import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import path from 'node:path';
import { type BackupRecord, BACKUPS_FOLDER } from '../../protocol/operator/backup.ts';
import { errorCode } from '../../protocol/errors.ts';

/** What belongs to this process, this machine or the database, or is regenerated. */
const LEFT_OUT =
  /^(pg|pg\.new-.*|cache|logs|instance|lock([.-].*)?|[^/]*\.schema\.json|[^/]*\.new|\.restoring)$/;
/** Bytes in one record. */
const PIECE_BYTES = 64 * 1024;
/** Programs of sessions may replace a file with a link or a pipe at any time. */
const PLAIN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Every file below the home, a record of its bytes at a time; except those whose path is in `except`, and links. A file
 * that vanishes in the meantime is left out. Throws errors of the file system.
 */
export async function* homeFiles(home: string, except: ReadonlySet<string>): AsyncGenerator<BackupRecord> {
  for await (const file of plainFiles(home, '')) {
    if (except.has(file)) continue;
    const handle = await open(path.join(home, file), PLAIN).catch(unless('ENOENT', 'ELOOP', 'ENXIO'));
    if (handle === undefined) continue;
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) continue;
      yield { type: 'file', path: file, mode: stats.mode & 0o777 };
      if (stats.size === 0) continue;
      // No more than its size at the start: a log may keep growing.
      const bytes = handle.createReadStream({
        highWaterMark: PIECE_BYTES,
        end: stats.size - 1,
        autoClose: false,
      });
      for await (const piece of bytes) yield { type: 'bytes', base64: Buffer.from(piece).toString('base64') };
    } finally {
      await handle.close();
    }
  }
}

async function* plainFiles(home: string, folder: string): AsyncGenerator<string> {
  const place = path.join(home, folder);
  const entries = await readdir(place, { withFileTypes: true }).catch(unless('ENOENT', 'ENOTDIR'));
  for (const entry of (entries ?? []).toSorted((a, b) => a.name.localeCompare(b.name, 'en'))) {
    const file = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (folder === '' && (LEFT_OUT.test(entry.name) || entry.name === BACKUPS_FOLDER)) continue;
    if (entry.isDirectory()) yield* plainFiles(home, file);
    else if (entry.isFile()) yield file;
  }
}

/** Undefined for an error with one of these codes; throws any other. */
function unless(...codes: string[]): (error: unknown) => undefined {
  return (error) => {
    if (codes.includes(errorCode(error))) return undefined;
    throw error;
  };
}
