/**
 * The files of a home that belong in a backup. On their way back they arrive next to the home, and move into place once
 * everything is valid.
 */
import { constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { type BackupRecord, BACKUPS_FOLDER, SESSIONS_FOLDER } from '../protocol/operator/backup.ts';
import { errorCode, GatewayError, unless } from '../protocol/errors.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { openPlainFile, walkEverything } from '../lib/walk-folder.ts';

/** What belongs to this process, this machine or the database, or is regenerated. */
const LEFT_OUT =
  /^(pg|pg\.new-.*|cache|logs|versions|accepted-migrations\.json|instance|lock([.-].*)?|[^/]*\.schema\.json|[^/]*\.new|\.restor(ing|ed))$/;
/** Bytes in one record. */
const PIECE_BYTES = 64 * 1024;

/**
 * Every file below the home, a record of bytes at a time, except links and the paths in `except`. Files that vanish are
 * left out; programs of sessions may change everything meanwhile. Throws errors of the file system.
 */
export async function* homeFiles(home: string, except: ReadonlySet<string>): AsyncGenerator<BackupRecord> {
  for await (const { name, isFile, place } of walkEverything(home, isWanted)) {
    if (!isFile || except.has(name)) continue;
    const handle = await openPlainFile(place, { unlock: true });
    if (handle === undefined) continue;
    try {
      const { mode, size } = await handle.stat();
      yield { type: 'file', path: name, mode: mode & 0o777 };
      if (size === 0) continue;
      // No more than its size at the start: a log may keep growing.
      const bytes = handle.createReadStream({ highWaterMark: PIECE_BYTES, end: size - 1, autoClose: false });
      for await (const piece of bytes) yield { type: 'bytes', base64: Buffer.from(piece).toString('base64') };
    } finally {
      await handle.close();
    }
  }
}

function isWanted(name: string): boolean {
  return name.includes('/') || (!LEFT_OUT.test(name) && name !== BACKUPS_FOLDER);
}

/** Files that are kept if the home already has them: this machine's own addresses and secrets. */
const KEPT = ['.env'];

/** Where the files of a restore arrive, and where they are from just before its rows are committed until all are in place. */
const ARRIVING = '.restoring';
const SEALED = '.restored';

/**
 * Removes what a killed restore has left in a home that the caller has locked. Throws `GatewayError('half_restored')` if it may have
 * committed its rows without moving all of its files.
 */
export async function checkRestore(home: string): Promise<void> {
  await rm(path.join(home, ARRIVING), { recursive: true, force: true });
  const sealed = path.join(home, SEALED);
  if (!(await exists(sealed))) return;
  const remedy = `Run it again with the same file: ${PARLEY} restore FILE --replace`;
  const text = `A restore into this home was interrupted at its end, so files may be missing. ${remedy} (the files that had arrived are in ${sealed}).`;
  throw new GatewayError('half_restored', text);
}

/** What has arrived so far. */
export interface Staging {
  /** Starts a file. Throws `GatewayError('bad_backup')` for a path that leads out of the home. */
  begin(file: string, mode: number): Promise<void>;
  append(bytes: Buffer): Promise<void>;
  /**
   * Throws `GatewayError('has_data')` if the home has something else of that name, or a link in the folder of a session that
   * would lead a file out of it.
   */
  refuseOverwriting(): Promise<void>;
  /** Marks the home as half restored until `settle` has ended: called just before the rows are committed. */
  seal(): Promise<void>;
  /** Takes the mark back: the rows were certainly not committed. */
  unseal(): Promise<void>;
  /** Moves all sealed files into place, with `replace` over existing sessions; returns the paths that the home keeps. */
  settle(options: { replace: boolean }): Promise<string[]>;
  /** Removes what has arrived and is not sealed. Never throws. */
  discard(): Promise<void>;
}

/** A file that has arrived, by its path in the home. */
interface ArrivedFile {
  file: string;
  from: string;
  to: string;
  /** The home keeps its own. */
  isKept: boolean;
}

/** Starts with an empty folder in the home, which the caller has locked. */
export async function createStaging(home: string): Promise<Staging> {
  const [folder, sealed] = [path.join(home, ARRIVING), path.join(home, SEALED)];
  for (const left of [folder, sealed]) await rm(left, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  let current: FileHandle | undefined;
  const close = async (): Promise<void> => {
    await current?.close();
    current = undefined;
  };
  return {
    async begin(file, mode) {
      await close();
      const place = path.join(folder, file);
      if (!isInside(file))
        throw new GatewayError('bad_backup', 'The backup names a file outside of the home.');
      await mkdir(path.dirname(place), { recursive: true, mode: 0o700 });
      current = await open(place, 'wx', mode & 0o700);
    },
    async append(bytes) {
      if (current === undefined)
        throw new GatewayError('bad_backup', 'The backup contains data that belongs to no file.');
      await current.appendFile(bytes);
    },
    async refuseOverwriting() {
      await close();
      for (const { file, from, to, isKept } of await filesIn(folder, home)) {
        await refuseLinks(home, file);
        if (isKept || !(await exists(to)) || (await digestOf(from)) === (await digestOf(to))) continue;
        const text = `${to} is another ${file} than that of the backup, which would overwrite it. Move it away, or restore with --replace.`;
        throw new GatewayError('has_data', text);
      }
    },
    async seal() {
      await close();
      await rename(folder, sealed);
    },
    unseal: () => rename(sealed, folder),
    async settle({ replace }) {
      const files = await filesIn(sealed, home);
      // Their sessions are gone.
      if (replace) await emptyFolder(path.join(home, SESSIONS_FOLDER));
      for (const { file, from, to, isKept } of files) {
        if (isKept) continue;
        await mkdir(path.dirname(to), { recursive: true, mode: 0o700 });
        await move({ from, to, file });
      }
      await rm(sealed, { recursive: true, force: true });
      return files.filter(({ isKept }) => isKept).map(({ file }) => file);
    },
    // The caller throws what made the restore fail, not a failure to clean up.
    discard: () =>
      close()
        .then(() => rm(folder, { recursive: true, force: true }))
        .catch(() => undefined),
  };
}

/**
 * A folder of the home may be on another disk: there the file is copied next to its place first, so that it appears whole or not at all.
 * The name is the same each time: when the process dies before the copy has its own, the repeated restore takes it over.
 */
async function move({ from, to, file }: Pick<ArrivedFile, 'from' | 'to' | 'file'>): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (errorCode(error) !== 'EXDEV') throw error;
    const name = createHash('sha256').update(file).digest('hex').slice(0, 16);
    const copy = path.join(path.dirname(to), `${ARRIVING}-${name}`);
    await rm(copy, { force: true });
    // Written through no link that a program has put there since.
    await copyFile(from, copy, constants.COPYFILE_EXCL);
    await rename(copy, to);
  }
}

async function filesIn(folder: string, home: string): Promise<ArrivedFile[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  return await Promise.all(
    files.map(async (from) => {
      const file = path.relative(folder, from);
      const to = path.join(home, file);
      return { file, from, to, isKept: KEPT.includes(file) && (await exists(to)) };
    }),
  );
}

/** True for a path that does not lead out of the home. */
function isInside(file: string): boolean {
  return path.normalize(file) === file && !path.isAbsolute(file) && !file.split('/').includes('..');
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    const code = errorCode(error) || 'unknown';
    if (code === 'ENOENT') return false;
    const folder = path.dirname(file);
    const text = `${file} cannot be accessed (${code}). ${folder} must be a folder of this user: sudo chown "$(id -un)" ${folder} && chmod u+rwx ${folder}`;
    throw new GatewayError('unreadable', text, { cause: error });
  }
}

/** Undefined for what is no file: a pipe that a program has left there would never end. */
async function digestOf(file: string): Promise<string | undefined> {
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  if (!(await handle.stat()).isFile()) return undefined;
  const digest = createHash('sha256');
  await pipeline(handle.createReadStream({ autoClose: false }), digest);
  return digest.digest('hex');
}

/** Programs make links in the folders of their sessions; only the operator makes those above. */
async function refuseLinks(home: string, file: string): Promise<void> {
  if (!file.startsWith(`${SESSIONS_FOLDER}/`)) return;
  const [, ...parents] = path.dirname(file.slice(SESSIONS_FOLDER.length + 1)).split('/');
  let place = path.join(home, SESSIONS_FOLDER, file.split('/')[SESSIONS_FOLDER.split('/').length] ?? '');
  for (const name of parents) {
    place = path.join(place, name);
    const stats = await unless(['ENOENT', 'ENOTDIR'], lstat(place), undefined);
    if (stats?.isSymbolicLink() !== true) continue;
    const text = `${place} is a link, which would lead ${file} elsewhere. Remove it, or restore with --replace.`;
    throw new GatewayError('has_data', text);
  }
}

/** The folder itself stays: it may be a link to another disk. */
async function emptyFolder(place: string): Promise<void> {
  for (const name of await unless(['ENOENT'], readdir(place), []))
    await rm(path.join(place, name), { recursive: true, force: true });
}
