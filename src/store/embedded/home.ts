/**
 * One process per home. It holds an operating-system lock on the file `lock` for life, which every container that shares
 * the folder sees. `lock.json` says who holds it, for those that are refused or attach. No other code of the process may
 * open `lock`: closing any descriptor of the file would release the lock (fcntl(2)).
 */
import { closeSync, existsSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorCode, StoreError } from '../../protocol/errors.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { newId } from '../../lib/ids.ts';
import { chmod, mkdir, stat } from 'node:fs/promises';

/** How long a second process waits for a first one that is stopping, in milliseconds. */
const LOCK_WAIT_MS = 30_000;
/** How long it waits for one that only looks whether the home is held, in milliseconds. */
const LOOK_MS = 200;
const POLL_MS = 20;

/** SQLITE_BUSY: the lock belongs to another process, or to another part of this one. */
const BUSY = 5;

/** The process that holds a home; `socketPath` is its embedded database's. If it is `leaving`, others can wait for it. */
export interface HomeHolder {
  pid: number;
  socketPath?: string;
  leaving?: boolean;
}

export interface HomeLock {
  /** The same across restarts: with it, a restarted node reclaims its own lanes at once. */
  instance: string;
  /** Tells other processes where the embedded database listens. Throws errors of the file system. */
  publishSocket(socketPath: string): void;
  /** Tells other processes to wait for the home, because this one ends soon. Throws errors of the file system. */
  leaving(): void;
  /** Never throws; may be called twice. */
  release(): void;
}

/**
 * Creates the home (0700) and takes its lock, waiting up to `waitMs` for a holder that is leaving. Throws
 * `StoreError`: `home_locked` with the holder, or `home_unwritable`.
 */
export async function lockHome(home: string, { waitMs = LOCK_WAIT_MS } = {}): Promise<HomeLock> {
  await makeHome(home);
  let lock: DatabaseSync | undefined;
  try {
    lock = await takeLock(home, waitMs);
    let holder: HomeHolder = { pid: process.pid };
    writeHolder(home, holder);
    const tell = (more: Partial<HomeHolder>): void => writeHolder(home, (holder = { ...holder, ...more }));
    const ownLock = lock;
    return {
      instance: readInstance(home),
      publishSocket: (socketPath) => tell({ socketPath }),
      leaving: () => tell({ leaving: true }),
      release: () => (ownLock.isOpen ? ownLock.close() : undefined),
    };
  } catch (error) {
    lock?.close();
    if (error instanceof StoreError) throw error;
    throw homeUnwritable(home, error);
  }
}

/** The process that holds the home now; undefined if none does. Throws the system's error for an unreadable home. */
export async function liveHolder(home: string): Promise<HomeHolder | undefined> {
  const file = path.join(home, 'lock');
  if (!existsSync(file)) return undefined;
  const lock = tryLock(file, 'begin; select count(*) from sqlite_schema');
  lock?.close();
  return await Promise.resolve(lock === undefined ? readHolder(home) : undefined);
}

async function takeLock(home: string, waitMs: number): Promise<DatabaseSync> {
  const file = path.join(home, 'lock');
  closeSync(openSync(file, 'a', 0o600));
  const began = performance.now();
  for (;;) {
    const lock = tryLock(file, 'begin exclusive');
    if (lock !== undefined) return lock;
    const holder = readHolder(home);
    if (performance.now() - began >= (holder.leaving === true ? waitMs : LOOK_MS)) throw locked(home, holder);
    await sleep(POLL_MS);
  }
}

/** The open file once `statement` has locked it; undefined if another process holds a lock that forbids it. */
function tryLock(file: string, statement: string): DatabaseSync | undefined {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec(statement);
    return lock;
  } catch (error) {
    lock.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === BUSY) return undefined;
    throw error;
  }
}

/** What `lock.json` says; nothing but a pid of 0 if it cannot be read. */
function readHolder(home: string): HomeHolder {
  try {
    const holder: HomeHolder = JSON.parse(readFileSync(path.join(home, 'lock.json'), 'utf8'));
    return holder;
  } catch {
    // The holder has the lock and has not written the file yet, or the disk is full.
    return { pid: 0 };
  }
}

function writeHolder(home: string, holder: HomeHolder): void {
  const draft = path.join(home, `lock.json.${process.pid}`);
  writeFileSync(draft, JSON.stringify(holder), { mode: 0o600 });
  renameSync(draft, path.join(home, 'lock.json'));
}

/** The name of a home, which its gateways have in the database; undefined before the first start. Throws the system's error. */
export function instanceOf(home: string): string | undefined {
  try {
    return readFileSync(path.join(home, 'instance'), 'utf8').trim() || undefined;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function readInstance(home: string): string {
  const before = instanceOf(home);
  if (before !== undefined) return before;
  const instance = newId();
  writeFileSync(path.join(home, 'instance'), `${instance}\n`, { mode: 0o600 });
  return instance;
}

function locked(home: string, { pid }: HomeHolder): StoreError {
  const use = pid > 0 ? `is in use by process ${pid}` : 'is in use by another process';
  return new StoreError(
    'home_locked',
    `GATEWAY_HOME ${home} ${use}. Stop that process, or set GATEWAY_HOME to another folder.`,
  );
}

/** Accessible to its owner only. */
const PRIVATE = 0o700;

/** Creates the folder (0700) if it is missing. Throws `StoreError('home_unwritable')`. */
export async function makeHome(home: string): Promise<void> {
  try {
    await makeFolder(home);
  } catch (error) {
    throw homeUnwritable(home, error);
  }
}

/** The error for a home that is not writable. */
function homeUnwritable(home: string, cause: unknown): StoreError {
  const code = errorCode(cause);
  const isFile = code === 'EEXIST' || code === 'ENOTDIR';
  const problem = isFile ? 'is not a folder, or lies below a file' : `is not writable${code && ` (${code})`}`;
  return new StoreError(
    'home_unwritable',
    `GATEWAY_HOME ${home} ${problem}: set it to a folder this user can write.`,
    { cause },
  );
}

/**
 * Creates a folder (0700) and its parents, one level at a time: where the system refuses a folder with ENOENT although
 * its parent exists (below /proc), Node.js would retry forever. Throws the system's error.
 */
export async function makeFolder(folder: string): Promise<void> {
  if (await isFolder(folder)) return;
  const parent = path.dirname(folder);
  if (parent !== folder) await makeFolder(parent);
  try {
    await mkdir(folder, PRIVATE);
  } catch (error) {
    // Another process may have been first.
    if (await isFolder(folder)) return;
    throw error;
  }
  // The umask of the process may have removed rights from the mode above.
  await chmod(folder, PRIVATE);
}

async function isFolder(folder: string): Promise<boolean> {
  try {
    return (await stat(folder)).isDirectory();
  } catch {
    // Missing, or inaccessible: creating it will show which.
    return false;
  }
}
