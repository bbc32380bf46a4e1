/** Caches what is made from files and reads them again when they change; a check is an open and a stat. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { errorCode, toGatewayError } from '../../contracts/errors.ts';
import type { Log } from '../../contracts/log.ts';
import { stripEnd } from '../../lib/text.ts';

/** The beginning of a file. */
export interface FileText {
  file: string;
  /** At most the requested bytes, whole characters only. */
  text: string;
  /** Bytes of the whole file. */
  size: number;
}

export interface FileCache<T> {
  /**
   * The value made from the file; undefined when there is no file or it cannot be read, which is logged. Never throws.
   */
  read(file: string): Promise<T | undefined>;
  /** Drops every file but these. */
  keepOnly(files: ReadonlySet<string>): void;
}

/** `make` turns the first `maxBytes` bytes of a file into the cached value; it is called once per change. */
export function createFileCache<T>(maxBytes: number, make: (read: FileText) => T, log: Log): FileCache<T> {
  const cache = new Map<string, { mtimeMs: number; size: number; value: T }>();
  const errors = new Map<string, string>();

  const readFrom = async (handle: FileHandle, file: string): Promise<T> => {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error('It is not a plain file.');
    const { mtimeMs, size } = stats;
    const known = cache.get(file);
    if (known?.mtimeMs === mtimeMs && known.size === size) return known.value;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
    // A character that was cut at the end became a replacement character.
    const text = stripEnd(buffer.toString('utf8', 0, bytesRead), '\ufffd');
    const value = make({ file, text, size });
    cache.set(file, { mtimeMs, size, value });
    return value;
  };

  return {
    async read(file) {
      try {
        // O_NONBLOCK: a pipe without a writer must not block the thread.
        await using handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
        const value = await readFrom(handle, file);
        errors.delete(file);
        return value;
      } catch (error) {
        cache.delete(file);
        const absent = errorCode(error) === 'ENOENT';
        const { message } = toGatewayError(error);
        if (absent) errors.delete(file);
        else if (errors.get(file) !== message) {
          errors.set(file, message);
          log.warn({ err: error, file }, 'prompt_file_unreadable');
        }
        return undefined;
      }
    },
    keepOnly(files) {
      for (const map of [cache, errors])
        for (const file of map.keys()) if (!files.has(file)) map.delete(file);
    },
  };
}
