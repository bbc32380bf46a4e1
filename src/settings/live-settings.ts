/** Settings that are reloaded when their file changes: a change takes effect all at once or not at all. */
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import path from 'node:path';
import { ConfigError, errorCode, toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type {
  ApplySettings,
  FolderWatch,
  Settings,
  SettingsReport,
  WatchFolders,
} from '../protocol/settings.ts';

/** What the log says in addition to a file's errors. */
const STAYS = 'The last valid content of the file stays in use.';

/** Where settings come from. */
export interface SettingsSource<Values> {
  /** Absolute path of the file. */
  file: string;
  /** What the file's content means: settings, or one line per error. */
  read: (text: string) => { values: Values } | { errors: readonly string[] };
  /** The part of the next settings that takes effect in a gateway running with `now`. */
  join: (now: Values, next: Values) => Values;
  /** The fields in which two settings differ. */
  changed: (before: Values, after: Values) => readonly string[];
  /** The fields among these that take effect only after a restart. */
  waiting: (fields: readonly string[]) => readonly string[];
}

/** The settings with their life cycle. */
export interface LiveSettings<Values> extends Settings<Values> {
  report(): SettingsReport;
  /** Reads the file now, and again whenever it changes. Resolves after the first time; never throws. */
  start(): Promise<void>;
  /** Stops reading; resolves when no read is in progress. Never throws; may be called more than once. */
  stop(): Promise<void>;
}

/** Makes them; `first` applies until the file says otherwise. */
export function createLiveSettings<Values>(
  first: Values,
  source: SettingsSource<Values>,
  { watch, log }: { watch: WatchFolders; log: Log },
): LiveSettings<Values> {
  const { file } = source;
  const state = new SettingsState(first, source, log);
  /** Undefined before the first read; null without a file. */
  let text: string | null | undefined;
  let watcher: FolderWatch | undefined;

  const look = async (): Promise<void> => {
    try {
      // Before the file is read, so that no change is missed; replacing the file ended the watch.
      watcher?.folders([path.dirname(file)]);
      const content = contentOf(file);
      // What was refused is tried again: what it refers to may exist by now.
      if (content === text && state.report.errors.length === 0) return;
      if (content === null && text !== undefined) return state.refuse([`${file}: is gone`]);
      text = content;
      const read = source.read(content ?? '{}');
      if ('errors' in read) state.refuse(read.errors);
      else await state.change(read.values);
    } catch (error) {
      const { message } = toGatewayError(error);
      state.refuse([error instanceof ConfigError ? message : `${file}: cannot be read: ${message}`]);
    }
  };
  let last = Promise.resolve();
  const lookSoon = (): Promise<void> => (last = last.then(look));
  return {
    current: () => state.current,
    report: () => state.report,
    subscribe: (prepare) => void state.participants.push(prepare),
    start() {
      watcher ??= watch(() => void lookSoon());
      return lookSoon();
    },
    async stop() {
      watcher?.close();
      await last;
    },
  };
}

/** The settings that count now, and what is said of the file. */
class SettingsState<Values> {
  readonly participants: Parameters<Settings<Values>['subscribe']>[0][] = [];
  readonly #first: Values;
  readonly #source: SettingsSource<Values>;
  readonly #log: Log;
  /** As it was read: including what waits for a restart, unlike `current`. */
  #written: Values;
  current: Values;
  report: SettingsReport = { errors: [], needsRestart: [] };

  constructor(first: Values, source: SettingsSource<Values>, log: Log) {
    this.#first = first;
    this.#written = first;
    this.current = first;
    this.#source = source;
    this.#log = log;
  }

  /** What counts stays. */
  refuse(errors: readonly string[]): void {
    const { file } = this.#source;
    if (errors.join('\n') !== this.report.errors.join('\n'))
      this.#log.error({ file, errors, detail: STAYS }, 'settings_invalid');
    this.report = { ...this.report, errors };
  }

  /** All participants prepare before the first applies. Throws what they throw; nothing has changed then. */
  async change(next: Values): Promise<void> {
    const { file, changed: changedFields, waiting: waitingFields, join } = this.#source;
    const fields = changedFields(this.#written, next);
    if (fields.length === 0) {
      if (this.report.errors.length > 0) this.#log.info({ file }, 'settings_valid_again');
      this.report = { ...this.report, errors: [] };
      return;
    }
    const joinedValues = join(this.current, next);
    const applies: ApplySettings[] = [];
    for (const prepare of this.participants) applies.push(await prepare(joinedValues));
    this.current = joinedValues;
    this.#written = next;
    for (const apply of applies) apply();
    this.report = { errors: [], needsRestart: waitingFields(changedFields(this.#first, next)) };
    this.#log.info({ fields }, 'settings_changed');
    if (waitingFields(fields).length > 0 && this.report.needsRestart.length > 0)
      this.#log.warn({ fields: this.report.needsRestart }, 'settings_need_restart');
  }
}

/** The content of a file; null without one. Throws other errors of the file system. */
function contentOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** An editor writes a file in several steps: one read for all of them, after this many milliseconds. */
const DEBOUNCE_MS = 150;

/** Poll interval in milliseconds: network disks and full watch tables send no notification. */
const POLL_MS = 5_000;

/** Calls `changed` after changes and every `pollMs`. `changed` must not throw. */
export function watchFolders(onChange: () => void, log: Log, pollMs = POLL_MS): FolderWatch {
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const poll = setInterval(onChange, pollMs);
  poll.unref();

  const notify = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      onChange();
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
        if (kind === 'rename') for (const name of watchers.keys()) unwatch(name);
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
      if (isClosed) return;
      for (const folder of watchers.keys()) if (!paths.includes(folder)) unwatch(folder);
      const fresh = paths.filter((folder) => !watchers.has(folder));
      for (const folder of fresh) watchFolder(folder);
      // A write after the folder was read and before it was watched caused no notification.
      if (fresh.length > 0) notify();
    },
    close() {
      isClosed = true;
      clearInterval(poll);
      clearTimeout(timer);
      for (const folder of watchers.keys()) unwatch(folder);
    },
  };
}
