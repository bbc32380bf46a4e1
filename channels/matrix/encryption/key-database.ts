/**
 * IndexedDB for the keys of one device, whose transactions end only once Postgres has what they changed.
 *
 * `matrix-sdk-crypto-wasm` keeps its keys in memory or in IndexedDB. `fake-indexeddb` gives Node.js an IndexedDB in memory; here it is
 * filled from the store when the machine opens, and every change is written through in the order of its transaction, before the
 * machine learns that it is complete. So whatever leaves the process, a public key, a ciphertext or a one-time key, was stored
 * before, and a `kill -9` loses nothing that others have seen. A snapshot of the whole after each step was the alternative: it grows
 * with the rooms, and a message would write megabytes. The values are sealed by the machine before they arrive here.
 */
import { deserialize, serialize } from 'node:v8';
import 'fake-indexeddb/auto';
import { z } from 'zod';
import type { KeyStore } from '../../../src/protocol/channel.ts';
import { KeyedLock } from '../../../src/lib/async/keyed-lock.ts';

interface Change {
  /** The database and the object store. */
  table: string;
  key: IDBValidKey;
  /** Undefined: deleted. */
  value: unknown;
}

const Index = z.object({
  name: z.string(),
  keyPath: z.union([z.string(), z.array(z.string())]),
  unique: z.boolean(),
  multiEntry: z.boolean(),
});
const Schema = z.object({
  version: z.int(),
  tables: z.array(
    z.object({
      name: z.string(),
      keyPath: z.union([z.string(), z.array(z.string())]).nullable(),
      autoIncrement: z.boolean(),
      indexes: z.array(Index),
    }),
  ),
});
type Schema = z.infer<typeof Schema>;

/** The key of a database's schema; those of records begin with `[`. */
const SCHEMA = 'schema:';
/** Tables of the keys with which messages of rooms are read. The machine never removes one. */
const ROOM_KEYS = /\/inbound_group_sessions\d*$/;

/** A row of such a table in the store: `at` is the version of the store with which it came, by which the oldest are found. */
const Dated = z.object({ at: z.int(), row: z.unknown() });

/** What is being stored is never given up. */
const NEVER = new AbortController().signal;

/** Databases in use, by the part of their name before `::`. */
const open = new Map<string, KeyDatabase>();
const changesOf = new WeakMap<IDBTransaction, Change[]>();
let opened = 0;

/** The databases of one device. Other processes may write the same store: the first write after theirs is refused. */
export class KeyDatabase {
  /** What the machine opens. */
  readonly prefix: string;
  readonly #store: KeyStore;
  readonly #name: string;
  /** The version of the store that this copy has. */
  #version = 0;
  #isFilled = false;
  /** Changes from before `settle`. */
  #early: Change[] | undefined = [];
  /** When the keys of rooms came, by their record. */
  readonly #arrivals = new Map<string, number>();
  readonly #lock = new KeyedLock();
  #isStale = false;

  private constructor(store: KeyStore, name: string) {
    this.#store = store;
    this.#name = name;
    this.prefix = `${name} ${(opened += 1)}`;
  }

  /** Fills a copy from the store; `settle` follows once the machine has opened it. Throws `StoreError`. */
  static async fill(store: KeyStore, name: string): Promise<KeyDatabase> {
    const { version, records } = await store.records(name);
    const filled = new KeyDatabase(store, name);
    filled.#version = version;
    open.set(filled.prefix, filled);
    for (const [key, value] of records) {
      if (isRoomKey(key)) filled.#arrivals.set(key, Dated.safeParse(deserialize(value)).data?.at ?? 0);
      if (key.startsWith(SCHEMA))
        await fillDatabase(
          filled.prefix,
          key.slice(SCHEMA.length),
          Schema.parse(deserialize(value)),
          records,
        );
    }
    filled.#isFilled = true;
    return filled;
  }

  /** Whether another process has written since. Throws `StoreError`. */
  async isStale(): Promise<boolean> {
    return await this.#lock.run('', NEVER, async () => {
      this.#isStale ||= (await this.#store.version(this.#name)) !== this.#version;
      return this.#isStale;
    });
  }

  /** Removes the oldest keys of rooms beyond `most`; returns how many. Messages that need them cannot be read any more. Throws like `write`. */
  async trim(most: number): Promise<number> {
    const surplus = this.#arrivals.size - most;
    if (surplus <= 0) return 0;
    const oldest = [...this.#arrivals].toSorted(([, a], [, b]) => a - b).slice(0, surplus);
    const tables = Map.groupBy(oldest, ([record]) => tableOf(record) ?? '');
    for (const [table, records] of tables) {
      const at = table.lastIndexOf('/');
      const keys = records.map(([record]) => (JSON.parse(record) as [string, IDBValidKey])[1]);
      await removeRows(`${this.prefix}::${table.slice(0, at)}`, table.slice(at + 1), keys);
    }
    return surplus;
  }

  /** Nothing is stored yet. */
  get isNew(): boolean {
    return this.#version === 0;
  }

  /** The machine has opened the databases, and may have moved them to another schema: stores what that changed. Throws like `write`. */
  async settle(): Promise<void> {
    const { records } = await this.#store.records(this.#name);
    const changes = new Map<string, Uint8Array | undefined>();
    for (const { name = '' } of await indexedDB.databases()) {
      if (!name.startsWith(`${this.prefix}::`)) continue;
      const suffix = name.slice(this.prefix.length + 2);
      const { schema, rows } = await readDatabase(name);
      const known = records.get(SCHEMA + suffix);
      if (known !== undefined && Schema.parse(deserialize(known)).version === schema.version) continue;
      for (const key of records.keys())
        if (tableOf(key)?.startsWith(`${suffix}/`) === true) changes.set(key, undefined);
      changes.set(SCHEMA + suffix, serialize(schema));
      for (const row of rows) changes.set(keyOf(row), this.#valueOf(row));
    }
    for (const change of this.#early ?? []) changes.set(keyOf(change), this.#valueOf(change));
    this.#early = undefined;
    if (changes.size > 0) await this.#enqueue(changes);
  }

  /** Stores the changes of a transaction. Throws `StoreError`, `StaleKeys`. */
  async write(changes: readonly Change[]): Promise<void> {
    if (!this.#isFilled) return;
    if (this.#early !== undefined) this.#early.push(...changes);
    else await this.#enqueue(new Map(changes.map((one) => [keyOf(one), this.#valueOf(one)])));
  }

  /** Frees the copy, whose machine is closed or refuses to write from now on. Never throws. */
  close(): void {
    open.delete(this.prefix);
    void indexedDB.databases().then((all) => {
      for (const { name = '' } of all)
        if (name.startsWith(`${this.prefix}::`)) indexedDB.deleteDatabase(name);
    });
  }

  async #enqueue(changes: ReadonlyMap<string, Uint8Array | undefined>): Promise<void> {
    await this.#lock.run('', NEVER, async () => {
      if (this.#isStale) throw new StaleKeys();
      // Also after a failure: a lost answer may mean that it was written.
      this.#isStale = true;
      if (!(await this.#store.changeKeys(this.#name, this.#version, changes))) throw new StaleKeys();
      this.#version += 1;
      this.#isStale = false;
    });
  }

  /** A row as it is stored; undefined for one that was removed. */
  #valueOf(change: Change): Uint8Array | undefined {
    const [key, { value }] = [keyOf(change), change];
    if (!isRoomKey(key)) return value === undefined ? undefined : serialize(value);
    if (value === undefined) {
      this.#arrivals.delete(key);
      return undefined;
    }
    // A key that is stored again is as old as before.
    const at = this.#arrivals.get(key) ?? this.#version;
    this.#arrivals.set(key, at);
    return serialize({ at, row: value } satisfies z.input<typeof Dated>);
  }
}

/** Another process has changed the keys in between. */
export class StaleKeys extends Error {}

function keyOf({ table, key }: Pick<Change, 'table' | 'key'>): string {
  return JSON.stringify([table, key]);
}

function isRoomKey(key: string): boolean {
  return ROOM_KEYS.test(tableOf(key) ?? '');
}

/** A row from its stored form. */
function rowOf(key: string, value: Uint8Array): unknown {
  const row: unknown = deserialize(value);
  return isRoomKey(key) ? (Dated.safeParse(row).data?.row ?? row) : row;
}

/** Throws what the store throws, if it refuses the change. */
async function removeRows(name: string, table: string, keys: readonly IDBValidKey[]): Promise<void> {
  const database = await resultOf(indexedDB.open(name));
  try {
    const transaction = database.transaction(table, 'readwrite');
    for (const key of keys) transaction.objectStore(table).delete(key);
    await new Promise<void>((resolve, reject) => {
      transaction.addEventListener('complete', () => resolve());
      transaction.addEventListener('abort', () => reject(new StaleKeys()));
    });
  } finally {
    database.close();
  }
}

function tableOf(key: string): string | undefined {
  return key.startsWith('[') ? (JSON.parse(key) as [string])[0] : undefined;
}

async function fillDatabase(
  prefix: string,
  suffix: string,
  schema: Schema,
  records: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const request = indexedDB.open(`${prefix}::${suffix}`, schema.version);
  request.addEventListener('upgradeneeded', () => {
    for (const { name, keyPath, autoIncrement, indexes } of schema.tables) {
      const table = request.result.createObjectStore(name, { keyPath, autoIncrement });
      for (const { name: index, keyPath: path, ...options } of indexes)
        table.createIndex(index, path, options);
    }
    for (const [record, value] of records) {
      const [table, key] = record.startsWith('[') ? (JSON.parse(record) as [string, IDBValidKey]) : ['', ''];
      if (!table.startsWith(`${suffix}/`)) continue;
      const rows = request.transaction?.objectStore(table.slice(suffix.length + 1));
      if (rows?.keyPath === null) rows.put(rowOf(record, value), key);
      else rows?.put(rowOf(record, value));
    }
  });
  (await resultOf(request)).close();
}

async function readDatabase(name: string): Promise<{ schema: Schema; rows: Change[] }> {
  const database = await resultOf(indexedDB.open(name));
  const names = [...database.objectStoreNames];
  const suffix = name.slice(name.indexOf('::') + 2);
  const schema: Schema = { version: database.version, tables: [] };
  const rows: Change[] = [];
  const transaction = names.length === 0 ? undefined : database.transaction(names);
  for (const table of names) {
    const store = transaction?.objectStore(table);
    if (store === undefined) continue;
    const { keyPath, autoIncrement } = store;
    const indexes = [...store.indexNames].map((one) => {
      const { name: index, keyPath: path, unique, multiEntry } = store.index(one);
      return { name: index, keyPath: path, unique, multiEntry };
    });
    schema.tables.push({ name: table, keyPath, autoIncrement, indexes });
    const [keys, values] = await Promise.all([resultOf(store.getAllKeys()), resultOf(store.getAll())]);
    keys.forEach((key, at) => rows.push({ table: `${suffix}/${table}`, key, value: values[at] as unknown }));
  }
  database.close();
  return { schema, rows };
}

async function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return await new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('IndexedDB gave no reason.')));
  });
}

function note({ name, transaction }: IDBObjectStore, key: IDBValidKey, value: unknown): void {
  const { name: database } = transaction.db;
  const table = `${database.slice(database.indexOf('::') + 2)}/${name}`;
  const changes = changesOf.get(transaction) ?? [];
  changes.push({ table, key, value });
  changesOf.set(transaction, changes);
}

/** Gives a method of all objects of a class another body. */
function replace<T extends object, Name extends keyof T>(
  prototype: T,
  name: Name,
  bodyWith: (original: T[Name]) => T[Name],
): void {
  prototype[name] = bodyWith(prototype[name]);
}

/** Notes what the methods of object stores change. */
function noteRowChanges(rows: IDBObjectStore): void {
  for (const name of ['put', 'add'] as const)
    replace(
      rows,
      name,
      (original) =>
        function (this: IDBObjectStore, value: unknown, key?: IDBValidKey) {
          const copy: unknown = structuredClone(value);
          const request = original.call(this, value, key);
          request.addEventListener('success', () => note(this, request.result, copy));
          return request;
        },
    );
  const noteRemoval = (table: IDBObjectStore, query?: IDBValidKey | IDBKeyRange): void => {
    const keys = table.getAllKeys(query);
    keys.addEventListener('success', () => keys.result.forEach((key) => note(table, key, undefined)));
  };
  replace(
    rows,
    'delete',
    (original) =>
      function (this: IDBObjectStore, query: IDBValidKey | IDBKeyRange) {
        noteRemoval(this, query);
        return original.call(this, query);
      },
  );
  replace(
    rows,
    'clear',
    (original) =>
      function (this: IDBObjectStore) {
        noteRemoval(this);
        return original.call(this);
      },
  );
}

/** Notes what the methods of cursors change. */
function noteCursorChanges(cursors: IDBCursor): void {
  const tableUnder = ({ source }: IDBCursor): IDBObjectStore =>
    source instanceof IDBIndex ? source.objectStore : source;
  replace(
    cursors,
    'update',
    (original) =>
      function (this: IDBCursor, value: unknown) {
        const [table, key, copy] = [tableUnder(this), this.primaryKey, structuredClone(value)];
        const request = original.call(this, value);
        request.addEventListener('success', () => note(table, key, copy));
        return request;
      },
  );
  replace(
    cursors,
    'delete',
    (original) =>
      function (this: IDBCursor) {
        const [table, key] = [tableUnder(this), this.primaryKey];
        const request = original.call(this);
        request.addEventListener('success', () => note(table, key, undefined));
        return request;
      },
  );
}

/** Holds back the end of each transaction until the store has its changes; if it refuses them, the transaction is aborted. */
function holdCompletion(): void {
  replace(
    IDBDatabase.prototype,
    'transaction',
    (begin) =>
      function (this: IDBDatabase, ...args: Parameters<typeof begin>) {
        const transaction = begin.apply(this, args);
        const dispatch = transaction.dispatchEvent.bind(transaction);
        transaction.dispatchEvent = (event) => {
          const changes = changesOf.get(transaction);
          if (event.type !== 'complete' || changes === undefined) return dispatch(event);
          changesOf.delete(transaction);
          const keys = open.get(this.name.slice(0, this.name.indexOf('::')));
          const written = keys?.write(changes) ?? Promise.reject(new StaleKeys());
          written.then(
            () => dispatch(event),
            () => dispatch(Object.assign(event, { type: 'abort' })),
          );
          return true;
        };
        return transaction;
      },
  );
}

noteRowChanges(IDBObjectStore.prototype);
noteCursorChanges(IDBCursor.prototype);
holdCompletion();
