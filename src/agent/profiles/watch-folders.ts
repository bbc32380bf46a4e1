/** Tells that something in some folders may have changed: soon where the system says so, later where it does not. */
import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { toGatewayError } from '../../contracts/errors.ts';
import type { Log } from '../../contracts/log.ts';

/** An editor writes a file in several steps: one look for all of them, after this many milliseconds. */
const DEBOUNCE_MS = 150;
/** How often it is looked without being told, in milliseconds: network disks and full tables of watches say nothing. */
export const POLL_MS = 5_000;

export interface FolderWatch {
  /** The folders to watch from now on. Never throws. */
  folders(paths: readonly string[]): void;
  close(): void;
}

/** Calls `changed` after changes and every `pollMs`; its errors are its own business. */
export function watchFolders(changed: () => void, log: Log, pollMs = POLL_MS): FolderWatch {
  const watchers = new Map<string, FSWatcher>();
  let soon: NodeJS.Timeout | undefined;
  let closed = false;
  const poll = setInterval(changed, pollMs);
  poll.unref();

  const hear = (): void => {
    soon ??= setTimeout(() => {
      soon = undefined;
      changed();
    }, DEBOUNCE_MS);
  };
  const leave = (folder: string): void => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  const enter = (folder: string): void => {
    try {
      const watcher = watch(folder, { persistent: false }, (kind) => {
        // A folder that was replaced is another one under the same name: it is watched anew.
        if (kind === 'rename') for (const known of watchers.keys()) leave(known);
        hear();
      });
      watcher.on('error', (error) => {
        log.debug({ err: error, folder }, 'a folder can no longer be watched');
        leave(folder);
      });
      watchers.set(folder, watcher);
    } catch (error) {
      log.debug(
        { err: toGatewayError(error), folder },
        'a folder cannot be watched; it is looked at by the clock',
      );
    }
  };
  return {
    folders(paths) {
      if (closed) return;
      for (const folder of watchers.keys()) if (!paths.includes(folder)) leave(folder);
      const fresh = paths.filter((folder) => !watchers.has(folder));
      for (const folder of fresh) enter(folder);
      // What was written between the look that found a folder and this moment was not heard.
      if (fresh.length > 0) hear();
    },
    close() {
      closed = true;
      clearInterval(poll);
      clearTimeout(soon);
      for (const folder of watchers.keys()) leave(folder);
    },
  };
}
