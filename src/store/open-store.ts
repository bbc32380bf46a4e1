/** Opens the store: locks the home, starts or finds the database, migrates its tables, and creates the parts of the store. */
import { StoreError } from '../contracts/errors.ts';
import { sleep } from '../lib/async/sleep.ts';
import type { Log } from '../contracts/log.ts';
import type { DatabasePlace } from './database/database.ts';
import type { BegunHome } from './begin-home.ts';
import { type EmbeddedDatabase, openEmbedded } from './embedded/embedded.ts';
import { type HomeLock, keepRenewing, liveHolder, lockHome } from './embedded/home-lock.ts';
import { migrateDatabase } from './database/migrate.ts';
import { openStoreAt, type Store, type UseOptions } from './store.ts';

export interface StoreOptions extends UseOptions {
  /** `GATEWAY_HOME`; created (0700) if it is missing. */
  home: string;
  /** `DATABASE_URL`; undefined = the embedded database in the home. */
  databaseUrl?: string | undefined;
  /** Postgres schema of all tables; default `public`. */
  schema?: string | undefined;
  /**
   * For the command line: work alongside a gateway that may be running. Its embedded database is reached through its
   * socket; if no gateway is running, the database is opened here.
   */
  attach?: boolean | undefined;
  /** A worker's name: its supervisor holds the home. Only with `databaseUrl`. */
  worker?: string | undefined;
  /** How long to wait for a process that is about to release the home, in milliseconds. */
  lockWaitMs?: number | undefined;
  /** The name of this process in `pg_stat_activity`. */
  applicationName?: string | undefined;
  /** This home, if it is being opened already. It is used for the embedded database, and discarded for another one. */
  begun?: BegunHome | undefined;
}

/** A store that owns its home. */
export interface HomeStore extends Store {
  /** Identifies this home across restarts, for `lanes.register`. */
  instance: string;
  /** Called when the gateway begins to stop: from now on a process that wants the home waits instead of being refused. Never throws. */
  leaving(): Promise<void>;
}

/** How long `attach` waits for a gateway that is just starting, in milliseconds. */
const ATTACH_WAIT_MS = 10_000;

/** Throws `StoreError`: `home_locked`, `home_unwritable`, `embedded_failed`, `schema_newer`, `postgres_too_old`, `unavailable`. */
export async function openStore(options: StoreOptions): Promise<HomeStore> {
  const home = await openHome(options);
  try {
    const store = await openStoreAt(home.place, { ...options, migrate: !home.attached });
    let closing: Promise<void> | undefined;
    const leaving = (): Promise<void> => announceLeaving(home.lock, options.log);
    // A command that opened the home itself ends soon: a gateway that starts in the meantime waits for it.
    if (options.attach === true) await leaving();
    return {
      ...store,
      instance: options.worker ?? home.lock?.instance ?? 'attached',
      leaving,
      close: () =>
        (closing ??= leaving()
          .then(() => store.close())
          .then(() => home.close())),
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
      await migrateDatabase(home.place, { retryForMs, progress });
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
  if (options.databaseUrl !== undefined) await options.begun?.discard();
  const begun = options.begun?.takeHome();
  const shared = { schema: options.schema ?? 'public', applicationName: options.applicationName };
  if (options.attach === true) {
    const attached = await attachTo(options, shared);
    if (attached !== undefined) return attached;
  }
  if (options.worker !== undefined && options.databaseUrl !== undefined) {
    const place = { ...shared, url: options.databaseUrl };
    return { place, attached: false, close: () => Promise.resolve() };
  }
  options.progress?.step(`Waiting for another process to leave GATEWAY_HOME ${options.home}…`);
  const lock =
    begun?.lock ??
    (await lockHome(options.home, {
      isRenewed: options.databaseUrl === undefined,
      ...(options.lockWaitMs !== undefined && { waitMs: options.lockWaitMs }),
    }));
  if (options.databaseUrl !== undefined) {
    const place = { ...shared, url: options.databaseUrl };
    return { place, lock, attached: false, close: () => leave(lock, options.log) };
  }
  let embedded: EmbeddedDatabase | undefined;
  let stopKeeping = (): void => undefined;
  try {
    const { progress } = options;
    const opening = openEmbedded(options.home, options.log, { progress, opening: begun?.database });
    stopKeeping = keepHome(lock, options, async () => (await opening).close());
    embedded = await opening;
    await lock.publishSocket(embedded.socketPath);
  } catch (error) {
    stopKeeping();
    await embedded?.close();
    await leave(lock, options.log);
    throw error;
  }
  return {
    place: { ...shared, socketPath: embedded.socketPath },
    lock,
    attached: false,
    async close() {
      stopKeeping();
      await embedded.close();
      await leave(lock, options.log);
    },
  };
}

/**
 * Shows that this process is running, and closes the embedded database if another process has taken over the home
 * nevertheless: anything that this one still acknowledged would be lost. That only happens on a machine that stood
 * still while another process started.
 */
function keepHome(
  lock: HomeLock,
  { home, log }: StoreOptions,
  closeDatabase: () => Promise<void>,
): () => void {
  return keepRenewing(lock, {
    onFailure: (error) => log.warn({ err: error }, 'home_lock_not_renewed'),
    onLost() {
      const remedy = `Stop one of the two: GATEWAY_HOME ${home} belongs to one process, on a local disk.`;
      log.fatal({ remedy }, 'home_taken_over');
      closeDatabase().catch((error: unknown) => log.warn({ err: error }, 'embedded_close_failed'));
    },
  });
}

/** A failure is only logged: other processes are then refused instead of waiting. */
async function announceLeaving(lock: HomeLock | undefined, log: Log): Promise<void> {
  await lock?.leaving().catch((error: unknown) => log.warn({ err: error }, 'home_leaving_mark_failed'));
}

/** A failure is only logged: once this process has ended, the next start takes over the lock. */
async function leave(lock: HomeLock, log: Log): Promise<void> {
  await lock.release().catch((error: unknown) => log.warn({ err: error }, 'home_unlock_failed'));
}

/** Attaches to Postgres directly, and to the embedded database through the gateway that holds it, if one is running. */
async function attachTo(
  options: StoreOptions,
  shared: { schema: string; applicationName: string | undefined },
): Promise<OpenedHome | undefined> {
  const close = (): Promise<void> => Promise.resolve();
  if (options.databaseUrl !== undefined) {
    return { place: { ...shared, url: options.databaseUrl }, attached: false, close };
  }
  const deadline = performance.now() + ATTACH_WAIT_MS;
  options.progress?.step(`Waiting for the gateway of GATEWAY_HOME ${options.home} to open its database…`);
  for (;;) {
    const holder = await liveHolder(options.home);
    if (holder === undefined) return undefined;
    if (holder.socketPath !== undefined) {
      return { place: { ...shared, socketPath: holder.socketPath }, attached: true, close };
    }
    if (performance.now() > deadline) {
      throw new StoreError(
        'home_locked',
        `Process ${holder.pid} holds GATEWAY_HOME ${options.home} but serves no embedded database; is DATABASE_URL set for it?`,
      );
    }
    await sleep(100);
  }
}
