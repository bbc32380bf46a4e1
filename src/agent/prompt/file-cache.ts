/** Files whose content is kept and read again when they change: looking costs an open and a stat. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { toGatewayError } from '../../contracts/errors.ts';
import type { Log } from '../../contracts/log.ts';

/** The beginning of a file. */
export interface FileText {
  file: string;
  /** At most the asked bytes, whole characters only. */
  text: string;
  /** Bytes of the whole file. */
  size: number;
}

export interface FileCache<T> {
  /** The value made of the file; undefined when there is no file or it cannot be read, which is logged. Never throws. */
  read(file: string): Promise<T | undefined>;
  /** Drops every file but these. */
  keepOnly(files: ReadonlySet<string>): void;
}

/** `make` turns a file's first `maxBytes` bytes into what is kept; it is called once per change. */
export function createFileCache<T>(maxBytes: number, make: (read: FileText) => T, log: Log): FileCache<T> {
  const kept = new Map<string, { mtimeMs: number; size: number; value: T }>();
  const errors = new Map<string, string>();

  const readFrom = async (handle: FileHandle, file: string): Promise<T> => {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error('It is not a plain file.');
    const { mtimeMs, size } = stats;
    const known = kept.get(file);
    if (known?.mtimeMs === mtimeMs && known.size === size) return known.value;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
    // A character cut in two at the end would become a mark of its own.
    const text = buffer.toString('utf8', 0, bytesRead).replace(/\ufffd+$/, '');
    const value = make({ file, text, size });
    kept.set(file, { mtimeMs, size, value });
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
        kept.delete(file);
        const absent = error instanceof Error && 'code' in error && error.code === 'ENOENT';
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
      for (const map of [kept, errors]) for (const file of map.keys()) if (!files.has(file)) map.delete(file);
    },
  };
}
