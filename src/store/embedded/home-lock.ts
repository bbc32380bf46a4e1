/**
 * One process per home. The lock is a file `lock.<n>`; the highest n counts. A process that finds its holder dead or
 * gone links its own file as n + 1, which only one process can do; the file of a live holder is never removed. A
 * holder is alive while its socket is open (life-socket.ts). A socket cannot be reached from another machine that
 * shares the folder, nor from some virtual machines: a holder there is alive while it renews the date of its file.
 */
import { link, open, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { StoreError } from '../../contracts/errors.ts';
import { newId } from '../../lib/ids.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { homeUnwritable, makeHome } from './home-folder.ts';
import { openLifeSocket } from './life-socket.ts';
import { type HomeHolder, isAlive, NOBODY, parseHolder, thisMachine, thisProcess } from './home-holder.ts';

/** How long a second process waits for a first one that is stopping, in milliseconds. */
const LOCK_WAIT_MS = 30_000;

const POLL_MS = 100;

/** How often the holder of an embedded database renews its lock file, in milliseconds. */
const RENEW_MS = 1_000;
/** A holder on another machine that has not renewed its file for this long is dead, in milliseconds. */
export const RENEWED_WITHIN_MS = 6_000;

export interface HomeLock {
  /** The same across restarts: with it, a restarted node reclaims its own lanes at once. */
  instance: string;
  /** Tells other processes where the embedded database listens. */
  publishSocket(socketPath: string): Promise<void>;
  /** Tells other processes to wait for the home, because this one ends soon. */
  leaving(): Promise<void>;
  release(): Promise<void>;
  /**
   * Shows other machines that this process is running; `keepRenewing` calls it for a lock with `isRenewed`. False once
   * another process has taken over the home, because it could not see that.
   */
  renew(): Promise<boolean>;
}

/** What happens to a lock while it is renewed. */
export interface RenewalEvents {
  /** Another process has taken over the home; nothing is renewed any more. */
  onLost: () => void;
  /** Once it failed; the next attempt follows. */
  onFailure: (error: unknown) => void;
}

/** Renews a lock until the result is called. It does not keep the process running. Never throws. */
export function keepRenewing(lock: HomeLock, { onLost, onFailure }: RenewalEvents): () => void {
  const timer = setInterval(() => {
    lock.renew().then((isOurs) => {
      if (isOurs) return;
      clearInterval(timer);
      onLost();
    }, onFailure);
  }, RENEW_MS).unref();
  return () => clearInterval(timer);
}

/**
 * Creates the home (0700) and takes its lock, waiting up to `waitMs` for a holder that is leaving; if the holder is
 * alive for any other reason, fails at once. A holder left by another machine is first watched for `renewedWithinMs`; 0
 * takes it to be alive.
 * Throws `StoreError('home_locked')` naming the holder, or `StoreError('home_unwritable')`.
 */
export async function lockHome(
  home: string,
  { waitMs = LOCK_WAIT_MS, isRenewed = false, renewedWithinMs = RENEWED_WITHIN_MS } = {},
): Promise<HomeLock> {
  try {
    await makeHome(home);
    const life = `life.${newId().slice(-12)}`;
    const endLife = await openLifeSocket(home, life);
    let mine: HomeHolder = {
      ...thisProcess(),
      ...(endLife !== undefined && { life }),
      ...(isRenewed && { machine: thisMachine() }),
    };
    let file: string;
    try {
      file = await takeLock(home, mine, { waitMs, renewedWithinMs });
    } catch (error) {
      await endLife?.();
      throw error;
    }
    const instance = await readInstance(home);
    const write = (holder: HomeHolder): Promise<void> => replaceFile(home, file, holder);
    const tell = (more: Partial<HomeHolder>): Promise<void> => write((mine = { ...mine, ...more }));
    return {
      instance,
      publishSocket: (socketPath) => tell({ socketPath }),
      leaving: () => tell({ leaving: true }),
      async release() {
        await write(NOBODY);
        await endLife?.();
      },
      async renew() {
        if (path.join(home, `lock.${Math.max(0, ...(await lockTurns(home)))}`) !== file) return false;
        const now = new Date();
        await utimes(file, now, now);
        return true;
      },
    };
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw homeUnwritable(home, error);
  }
}

/** The process that holds the home now, if it is still running. */
export async function liveHolder(home: string): Promise<HomeHolder | undefined> {
  const { holder } = await readLock(home);
  return (await isAlive(home, holder)) ? holder : undefined;
}

/** The path of the lock file that is now ours. */
async function takeLock(
  home: string,
  holder: HomeHolder,
  { waitMs, renewedWithinMs }: { waitMs: number; renewedWithinMs: number },
): Promise<string> {
  const deadline = performance.now() + waitMs;
  const mine = await writeAside(home, holder);
  try {
    for (;;) {
      const { turn, holder: other } = await readLock(home);
      if (!(await isAlive(home, other)) && !(await isRenewedElsewhere(home, turn, other, renewedWithinMs))) {
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

/** Links our file as lock number n; undefined if another process was first, with this number or a later one. */
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
    // Our listing was outdated: that number had already been used and removed.
    await rm(file, { force: true });
    return undefined;
  }
  for (const past of turns) if (past < turn) await rm(path.join(home, `lock.${past}`), { force: true });
  return file;
}

/**
 * Watches the lock file of a holder on another machine, whose socket means nothing here: true as soon as it is
 * renewed, false if it has not been for `withinMs`. Dates are compared only for equality, as clocks may differ.
 */
async function isRenewedElsewhere(
  home: string,
  turn: number,
  { pid, machine }: HomeHolder,
  withinMs: number,
): Promise<boolean> {
  if (pid === 0 || machine === undefined || machine === thisMachine()) return false;
  if (withinMs === 0) return true;
  const file = path.join(home, `lock.${turn}`);
  const before = await dateOf(file);
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline) {
    await sleep(POLL_MS);
    if ((await dateOf(file)) !== before) return true;
  }
  return false;
}

/** When the file was last written; undefined if it is gone. Opens the file, so that a network file system asks its server. */
async function dateOf(file: string): Promise<number | undefined> {
  try {
    await using handle = await open(file, 'r');
    return (await handle.stat()).mtimeMs;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
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
  const isElsewhere = holder.machine !== undefined && holder.machine !== thisMachine();
  const where = isElsewhere ? ' of another machine' : '';
  return new StoreError(
    'home_locked',
    `GATEWAY_HOME ${home} is in use by process ${holder.pid}${where}. Stop that process, or set GATEWAY_HOME to another folder.`,
  );
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
