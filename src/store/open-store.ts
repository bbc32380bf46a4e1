/** Opens the store: locks the home, starts or finds the database, migrates its tables, and creates the parts of the store. */
import { StoreError } from '../protocol/errors.ts';
import { sleep } from '../lib/async/sleep.ts';
import type { Log } from '../protocol/log.ts';
import type { DatabasePlace } from './database/database.ts';
import { acceptedMigrations } from './embedded/accepted-migrations.ts';
import { type EmbeddedDatabase, openEmbedded } from './embedded/embedded.ts';
import { type HomeLock, instanceOf, liveHolder, lockHome } from './embedded/home.ts';
import { migrateDatabase } from './database/migrate.ts';
import { openStoreAt, type Store, type UseOptions } from './store.ts';

export interface StoreOptions extends UseOptions {
  /** `GATEWAY_HOME`; created (0700) if it is missing. */
  home: string;
  /** `DATABASE_URL`; undefined = the embedded database in the home. */
  databaseUrl?: string | undefined;
  /** Postgres schema of all tables; default `public`. */
  schema?: string | undefined;
  /** For commands: use the embedded database of a running gateway through its socket; without one, open it here. */
  attach?: boolean | undefined;
  /** A worker's name, and where the embedded database listens: its supervisor holds both home and database. */
  worker?: { instance: string; socketPath?: string | undefined } | undefined;
  /** How long to wait for a process that is about to release the home, in milliseconds. */
  lockWaitMs?: number | undefined;
  /** The name of this process in `pg_stat_activity`. */
  applicationName?: string | undefined;
}

/** A store that owns its home. */
export interface HomeStore extends Store {
  /** Identifies this home across restarts, for `lanes.register`. */
  instance: string;
  /** Called when the gateway begins to stop: from now on a process that wants the home waits instead of being refused. Never throws. */
  leaving(): void;
}

/** How long `attach` waits for a gateway that is just starting, in milliseconds. */
const ATTACH_WAIT_MS = 10_000;

/** Throws `StoreError`: `home_locked`, `home_unwritable`, `embedded_failed`, `schema_newer`, `postgres_too_old`, `unavailable`. */
export async function openStore(options: StoreOptions): Promise<HomeStore> {
  const home = await openHome(options);
  try {
    const store = await openStoreAt(home.place, {
      ...options,
      migrate: !home.attached,
      accepted: acceptedMigrations(options.home),
      isShared: options.worker !== undefined,
    });
    let closing: Promise<void> | undefined;
    const leaving = (): void => announceLeaving(home.lock, options.log);
    // A command that opened the home itself ends soon: a gateway that starts in the meantime waits for it.
    if (options.attach === true) leaving();
    const close = async (): Promise<void> => {
      leaving();
      await store.close();
      await home.close();
    };
    return {
      ...store,
      instance: options.worker?.instance ?? home.lock?.instance ?? instanceOf(options.home) ?? 'attached',
      leaving,
      close: () => (closing ??= close()),
    };
  } catch (error) {
    await home.close();
    throw error;
  }
}

/** The database of a home without the functions of a store. */
export interface HomeDatabase {
  place: DatabasePlace;
  close(): Promise<void>;
}

/** Opens it, with its tables up to date. Throws like `openStore`; without `attach` the home is held until `close`. */
export async function openDatabaseOf(options: StoreOptions): Promise<HomeDatabase> {
  const home = await openHome(options);
  try {
    if (!home.attached) {
      options.progress?.step('Preparing the tables…');
      const { retryForMs, progress } = options;
      const accepted = acceptedMigrations(options.home);
      await migrateDatabase(home.place, { retryForMs, progress, accepted });
    }
    return home;
  } catch (error) {
    await home.close();
    throw error;
  }
}

interface OpenedHome {
  place: DatabasePlace;
  lock?: HomeLock;
  /** Another process has brought the tables up to date. */
  attached: boolean;
  close(): Promise<void>;
}

async function openHome(options: StoreOptions): Promise<OpenedHome> {
  const { home, databaseUrl, log, worker } = options;
  const shared = { schema: options.schema ?? 'public', applicationName: options.applicationName };
  const close = (): Promise<void> => Promise.resolve();
  const location = { ...shared, url: databaseUrl, socketPath: worker?.socketPath };
  if (worker !== undefined) return { place: location, attached: false, close };
  if (options.attach === true) {
    if (databaseUrl !== undefined) return { place: location, attached: false, close };
    const socketPath = await socketOfHolder(options);
    if (socketPath !== undefined) return { place: { ...shared, socketPath }, attached: true, close };
  }
  options.progress?.step(`Waiting for another process to leave GATEWAY_HOME ${home}…`);
  const lock = await lockHome(home, options.lockWaitMs === undefined ? {} : { waitMs: options.lockWaitMs });
  if (databaseUrl !== undefined) {
    return { place: location, lock, attached: false, close: async () => lock.release() };
  }
  let embedded: EmbeddedDatabase | undefined;
  const leave = async (): Promise<void> => {
    await embedded?.close();
    lock.release();
  };
  try {
    embedded = await openEmbedded(home, log, { progress: options.progress });
    lock.publishSocket(embedded.socketPath);
    return { place: { ...shared, socketPath: embedded.socketPath }, lock, attached: false, close: leave };
  } catch (error) {
    await leave();
    throw error;
  }
}

/** A failure is only logged: other processes are then refused instead of waiting. */
function announceLeaving(lock: HomeLock | undefined, log: Log): void {
  try {
    lock?.leaving();
  } catch (error) {
    log.warn({ err: error }, 'home_leaving_mark_failed');
  }
}

/**
 * The socket of a running gateway's embedded database; undefined if none runs. Throws `StoreError('home_locked')` for a
 * gateway with another database.
 */
async function socketOfHolder({ home, progress }: StoreOptions): Promise<string | undefined> {
  const deadline = performance.now() + ATTACH_WAIT_MS;
  progress?.step(`Connecting to the running gateway of GATEWAY_HOME ${home}…`);
  for (;;) {
    const holder = await liveHolder(home);
    if (holder === undefined || holder.socketPath !== undefined) return holder?.socketPath;
    if (performance.now() > deadline) {
      throw new StoreError(
        'home_locked',
        `Process ${holder.pid} holds GATEWAY_HOME ${home} but serves no embedded database; is DATABASE_URL set for it?`,
      );
    }
    await sleep(100);
  }
}
