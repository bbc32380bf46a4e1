/** Public API of the store module. */
export { dumpDatabase } from './database/dump.ts';
export { beginLoading } from './database/load.ts';
export type { Loading } from './database/load.ts';
export { compareMigrations, knownMigrations } from './database/migrate.ts';
export { acceptMigrations } from './embedded/accepted-migrations.ts';
export { openEmbedded } from './embedded/embedded.ts';
export type { EmbeddedDatabase } from './embedded/embedded.ts';
export { lockHome, makeFolder, makeHome } from './embedded/home.ts';
export type { HomeLock } from './embedded/home.ts';
export { holderOf, inspectDatabase } from './inspect.ts';
export { openDatabaseOf, openStore } from './open-store.ts';
export type { HomeStore } from './open-store.ts';
export type { Store } from './store.ts';
export type { ForeignTurn } from './turns/imports.ts';
