/** Reads files of another program's folder, and of nothing outside it. Changes nothing there. */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorCode, GatewayError } from '../../protocol/errors.ts';
import { inMegabytes, oneLine } from '../../lib/text.ts';
import { MAX_FILE_BYTES } from './items.ts';

/** A link in the last part of a path is not followed, and a pipe does not block. */
const PLAIN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Entries of a folder that are listed. */
const MAX_ENTRIES = 20_000;

/** A folder of another program. Paths are relative to it, with `/`. All functions throw `GatewayError('import_unreadable')`. */
export interface SourceFolder {
  /** Its absolute path, for messages. */
  root: string;
  /** Names of the files and folders below a folder, sorted, without links; none if it is missing. */
  list(folder: string): Promise<{ name: string; isFolder: boolean }[]>;
  /** The text of a file; undefined if it is missing, a link or no file. */
  text(file: string): Promise<string | undefined>;
  /** Its bytes, likewise. */
  bytes(file: string): Promise<Uint8Array | undefined>;
  /** The open file, likewise; the caller closes it. */
  open(file: string): Promise<FileHandle | undefined>;
  /** The absolute path of a plain file inside, for SQLite; undefined if it is missing, a link or no file. */
  plainFile(file: string): Promise<string | undefined>;
}

/** Opens a folder. Throws `GatewayError('import_not_found')` if it is none. */
export async function openSourceFolder(place: string): Promise<SourceFolder> {
  const label = oneLine(place).slice(0, 200);
  const stats = await stat(place).catch((cause: unknown) => {
    throw new GatewayError('import_not_found', `${label} cannot be opened (${errorCode(cause)}).`, { cause });
  });
  if (!stats.isDirectory()) throw new GatewayError('import_not_found', `${label} is not a folder.`);
  const root = await realpath(place);

  const openFile = async (file: string): Promise<FileHandle | undefined> => {
    const place = await inside(root, file);
    const handle = place === undefined ? undefined : await open(place, PLAIN).catch(unreadable(place));
    if (handle === undefined || (await handle.stat()).isFile()) return handle;
    await handle.close();
    return undefined;
  };
  const bytes = async (file: string): Promise<Uint8Array | undefined> => {
    const handle = await openFile(file);
    return handle && (await readWhole(handle, path.join(root, file)));
  };
  return {
    root,
    list: (folder) => listFolder(root, folder),
    async text(file) {
      const content = await bytes(file);
      return content && new TextDecoder().decode(content);
    },
    bytes,
    open: openFile,
    async plainFile(file) {
      const handle = await openFile(file);
      await handle?.close();
      return handle && path.join(root, file);
    },
  };
}

/** The absolute path; undefined for one that is missing, or that a link leads out of the folder. */
async function inside(root: string, file: string): Promise<string | undefined> {
  const whole = path.join(root, file);
  const parent = await realpath(path.dirname(whole)).catch(none);
  if (parent === undefined) return undefined;
  return parent === root || parent.startsWith(root + path.sep) ? whole : undefined;
}

async function listFolder(root: string, folder: string): Promise<{ name: string; isFolder: boolean }[]> {
  const place = folder === '' ? root : await inside(root, folder);
  if (place === undefined || (await lstat(place).catch(none))?.isDirectory() !== true) return [];
  const entries = (await readdir(place, { withFileTypes: true }).catch(unreadable(place))) ?? [];
  return entries
    .filter((entry) => entry.isFile() || entry.isDirectory())
    .slice(0, MAX_ENTRIES)
    .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Its bytes; the file is closed in any case. */
async function readWhole(handle: FileHandle, label: string): Promise<Uint8Array> {
  try {
    const { size } = await handle.stat();
    if (size <= MAX_FILE_BYTES) return await handle.readFile();
    const problem = `${label} has ${inMegabytes(size)}; at most ${inMegabytes(MAX_FILE_BYTES)} of such a file are read.`;
    throw new GatewayError('import_unreadable', problem);
  } finally {
    await handle.close();
  }
}

/** Undefined for what does not exist, or is a link where a file is expected; a sentence for any other error. */
function unreadable(file: string): (error: unknown) => undefined {
  return (error) => {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'].includes(errorCode(error))) return undefined;
    const problem = `${oneLine(file)} cannot be read (${errorCode(error)}).`;
    throw new GatewayError('import_unreadable', problem, { cause: error });
  };
}

function none(): undefined {
  return undefined;
}
