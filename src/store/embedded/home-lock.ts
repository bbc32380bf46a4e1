/**
 * One process per home. The lock is a file `lock.<n>`; the highest n counts. A process that finds its holder dead or gone
 * links its own file as n + 1, which only one process can do; the file of a live holder is never removed. A holder lives
 * while its socket is open (life-socket.ts).
 */
import { chmod, link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { StoreError } from '../../contracts/errors.ts';
import { newId } from '../../lib/ids.ts';
import { sleep } from '../../lib/sleep.ts';
import { openLifeSocket } from './life-socket.ts';
import { type HomeHolder, isAlive, NOBODY, parseHolder, thisProcess } from './home-holder.ts';

/** How long a second process waits for a first one that is stopping, in milliseconds. */
const LOCK_WAIT_MS = 30_000;

const POLL_MS = 100;

export interface HomeLock {
  /** The same across restarts: with it a restarted node takes back its own lanes at once. */
  instance: string;
  /** Tells other processes where the embedded database listens. */
  announce(socketPath: string): Promise<void>;
  /** Tells other processes to wait for the home, because this one ends soon. */
  leaving(): Promise<void>;
  release(): Promise<void>;
  /** False once another process has taken the home over, because it could not see that this one runs. */
  isOurs(): Promise<boolean>;
}

/**
 * Creates the home (0700) and takes its lock, waiting up to `waitMs` for a holder that is leaving; with any other live
 * holder it fails at once. Throws `StoreError('home_locked')` naming the holder, or `StoreError('home_unwritable')`.
 */
export async function lockHome(home: string, { waitMs = LOCK_WAIT_MS } = {}): Promise<HomeLock> {
  try {
    const made = await mkdir(home, { recursive: true, mode: 0o700 });
    // The umask of the process may have removed rights from the mode above.
    if (made !== undefined) await chmod(home, 0o700);
    const life = `life.${newId().slice(-12)}`;
    const endLife = await openLifeSocket(home, life);
    let mine: HomeHolder = { ...thisProcess(), ...(endLife !== undefined && { life }) };
    let file: string;
    try {
      file = await takeLock(home, mine, waitMs);
    } catch (error) {
      await endLife?.();
      throw error;
    }
    const instance = await readInstance(home);
    const write = (holder: HomeHolder): Promise<void> => replaceFile(home, file, holder);
    const tell = (more: Partial<HomeHolder>): Promise<void> => write((mine = { ...mine, ...more }));
    return {
      instance,
      announce: (socketPath) => tell({ socketPath }),
      leaving: () => tell({ leaving: true }),
      async release() {
        await write(NOBODY);
        await endLife?.();
      },
      isOurs: async () => path.join(home, `lock.${Math.max(0, ...(await lockTurns(home)))}`) === file,
    };
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(
      'home_unwritable',
      `GATEWAY_HOME ${home} is not writable: set it to a folder this user can write.`,
      { cause: error },
    );
  }
}

/** The process that holds the home now, if it still runs. */
export async function liveHolder(home: string): Promise<HomeHolder | undefined> {
  const { holder } = await readLock(home);
  return (await isAlive(home, holder)) ? holder : undefined;
}

/** The path of the lock file that is ours now. */
async function takeLock(home: string, holder: HomeHolder, waitMs: number): Promise<string> {
  const deadline = performance.now() + waitMs;
  const mine = await writeAside(home, holder);
  try {
    for (;;) {
      const { turn, holder: other } = await readLock(home);
      if (!(await isAlive(home, other))) {
        const file = await takeTurn(home, turn + 1, mine);
        if (file === undefined) continue;
        if (other.life !== undefined) await rm(path.join(home, other.life), { force: true });
        return file;
      }
      if (other.leaving !== true || performance.now() >= deadline) throw locked(home, other);
      await sleep(POLL_MS);
    }
  } finally {
    await rm(mine, { force: true });
  }
}

/** Links our file as lock number n; undefined when another process was first, with this number or a later one. */
async function takeTurn(home: string, turn: number, mine: string): Promise<string | undefined> {
  const file = path.join(home, `lock.${turn}`);
  try {
    await link(mine, file);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return undefined;
    throw error;
  }
  const turns = await lockTurns(home);
  if (turns.some((other) => other > turn)) {
    // Our listing was old: that number had already been used and removed.
    await rm(file, { force: true });
    return undefined;
  }
  for (const past of turns) if (past < turn) await rm(path.join(home, `lock.${past}`), { force: true });
  return file;
}

async function readLock(home: string): Promise<{ turn: number; holder: HomeHolder }> {
  const turn = Math.max(0, ...(await lockTurns(home)));
  if (turn === 0) return { turn, holder: NOBODY };
  try {
    return { turn, holder: parseHolder(await readFile(path.join(home, `lock.${turn}`), 'utf8')) };
  } catch (error) {
    // A later holder has just removed it.
    if (hasCode(error, 'ENOENT')) return readLock(home);
    throw error;
  }
}

async function lockTurns(home: string): Promise<number[]> {
  try {
    const names = await readdir(home);
    return names.flatMap((name) => (/^lock\.\d+$/.test(name) ? [Number(name.slice(5))] : []));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Only the holder writes its lock file. */
async function replaceFile(home: string, file: string, holder: HomeHolder): Promise<void> {
  await rename(await writeAside(home, holder), file);
}

async function writeAside(home: string, holder: HomeHolder): Promise<string> {
  const aside = path.join(home, `lock.${newId()}`);
  await writeFile(aside, JSON.stringify(holder), { mode: 0o600 });
  return aside;
}

async function readInstance(home: string): Promise<string> {
  const file = path.join(home, 'instance');
  try {
    const known = (await readFile(file, 'utf8')).trim();
    if (known !== '') return known;
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  const instance = newId();
  await writeFile(file, `${instance}\n`, { mode: 0o600 });
  return instance;
}

function locked(home: string, holder: HomeHolder): StoreError {
  return new StoreError(
    'home_locked',
    `GATEWAY_HOME ${home} is in use by process ${holder.pid}. Stop that process, or set GATEWAY_HOME to another folder.`,
  );
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
