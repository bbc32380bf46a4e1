/** Reports changes of folders: quickly if the file system notifies, else at the next poll. */
import { type FSWatcher, watch } from 'node:fs';
import { toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { FolderWatch } from '../protocol/settings.ts';

/** An editor writes a file in several steps: one read for all of them, after this many milliseconds. */
const DEBOUNCE_MS = 150;
/** Poll interval in milliseconds: network disks and full watch tables send no notification. */
const POLL_MS = 5_000;

/** Calls `changed` after changes and every `pollMs`. `changed` must not throw. */
export function watchFolders(changed: () => void, log: Log, pollMs = POLL_MS): FolderWatch {
  const watchers = new Map<string, FSWatcher>();
  let soon: NodeJS.Timeout | undefined;
  let closed = false;
  const poll = setInterval(changed, pollMs);
  poll.unref();

  const notify = (): void => {
    soon ??= setTimeout(() => {
      soon = undefined;
      changed();
    }, DEBOUNCE_MS);
  };
  const unwatch = (folder: string): void => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  const watchFolder = (folder: string): void => {
    try {
      const watcher = watch(folder, { persistent: false }, (kind) => {
        // A replaced folder is a different one under the same name, so every folder is watched again.
        if (kind === 'rename') for (const known of watchers.keys()) unwatch(known);
        notify();
      });
      watcher.on('error', (error) => {
        log.debug({ err: error, folder }, 'folder_watch_lost');
        unwatch(folder);
      });
      watchers.set(folder, watcher);
    } catch (error) {
      log.debug({ err: toGatewayError(error), folder }, 'folder_watch_unavailable');
    }
  };
  return {
    folders(paths) {
      if (closed) return;
      for (const folder of watchers.keys()) if (!paths.includes(folder)) unwatch(folder);
      const fresh = paths.filter((folder) => !watchers.has(folder));
      for (const folder of fresh) watchFolder(folder);
      // A write after the folder was read and before it was watched caused no notification.
      if (fresh.length > 0) notify();
    },
    close() {
      closed = true;
      clearInterval(poll);
      clearTimeout(soon);
      for (const folder of watchers.keys()) unwatch(folder);
    },
  };
}
