/**
 * Begins to open a home before the program is loaded: the embedded database takes about as long as that, in a thread of
 * its own. So this file imports little.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { StoreError } from '../contracts/errors.ts';
import { VERSION_FILE } from './embedded/data-folder.ts';
import { beginEmbedded, type OpeningDatabase } from './embedded/embedded.ts';
import { type HomeLock, keepRenewing, lockHome } from './embedded/home-lock.ts';

/** A home that is locked, and whose embedded database is opening. */
export interface BegunHome {
  /** Both, for whoever looks after them from now on; undefined when it was taken or discarded before. */
  takeHome(): { lock: HomeLock; database: OpeningDatabase } | undefined;
  /**
   * Closes the database and releases the lock, unless they were taken. May be called twice. Rejects with the system's
   * error when the lock cannot be released; it is free nevertheless once this process has ended.
   */
  discard(): Promise<void>;
}

/**
 * Locks `home` and starts the thread of its embedded database. Undefined when that is not possible at once, for whatever
 * reason: `openStore` then waits, or finds the reason itself. A home without a database is not begun either: a wrong
 * configuration must be reported before one is created. Throws only what is no `StoreError`.
 */
export async function beginHome(home: string): Promise<BegunHome | undefined> {
  if (!existsSync(path.join(home, 'pg', VERSION_FILE))) return undefined;
  let lock: HomeLock | undefined;
  try {
    lock = await lockHome(home, { isRenewed: true, waitMs: 0, renewedWithinMs: 0 });
    return begunHome(lock, await beginEmbedded(home));
  } catch (error) {
    await lock?.release();
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}

function begunHome(lock: HomeLock, database: OpeningDatabase): BegunHome {
  let isOurs = true;
  const stopRenewing = keepRenewing(lock, {
    onLost: () => void database.thread.end(),
    // There is no log yet, and whoever takes the home renews the lock again.
    onFailure: () => undefined,
  });
  const takeHome = (): { lock: HomeLock; database: OpeningDatabase } | undefined => {
    const taken = isOurs ? { lock, database } : undefined;
    isOurs = false;
    stopRenewing();
    return taken;
  };
  return {
    takeHome,
    async discard() {
      if (takeHome() === undefined) return;
      await database.thread.end();
      await database.removeSocket();
      await lock.release();
    },
  };
}
