/** How the store is divided: its folders are floors, each of which imports only those below, and each has one way to write SQL. */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSources } from './imports.ts';

const STORE = 'src/store';
/** The floors, the lowest first: whatever is below a folder's path belongs to it. */
const LADDER = ['embedded', 'database', 'tables', 'statements', 'lanes', 'turns', ''];
/** The only file that loads drizzle, and what it offers apart from the query builder: the connection and the migrations. */
const LOADER = `${STORE}/database/drizzle.ts`;
const CONNECTION = ['drizzle', 'migrate', 'readMigrationFiles', 'type Orm'];

const store = readSources([STORE]);
type Source = (typeof store)[number];

/** The floor of a file of the store: the longest path of the ladder that its folder begins with. */
function floorOf(file: string): string {
  const folder = path.posix.relative(STORE, path.posix.dirname(file));
  const floors = LADDER.filter((floor) => `${folder}/`.startsWith(`${floor}/`));
  return floors.toSorted((one, other) => other.length - one.length)[0] ?? folder;
}

/** True if it writes with drizzle's query builder, or declares tables with it. The folder of the connection also loads what is not the builder. */
function isBuilder({ path: file, own, text }: Source): boolean {
  if (/\bdatabase\s*\.query\(/.test(text)) return true;
  if (!own.includes(LOADER) || floorOf(file) !== 'database') return own.includes(LOADER);
  const lists = [...text.matchAll(/^import \{([^}]*)\} from '[^']*\/drizzle\.ts'/gm)].map(
    ([, list = '']) => list,
  );
  const names = lists.flatMap((list) => list.split(',').map((name) => name.trim()));
  return names.length === 0 || names.some((name) => name !== '' && !CONNECTION.includes(name));
}

/** True if it writes SQL as text for postgres.js. */
function isText({ text }: Source): boolean {
  return /^import [^;]*\bSql\b|\bdatabase\s*\.(run|rows?|count|exists|once|write|transaction)\(/m.test(text);
}

const pathsOf = (files: readonly Source[]): string[] => files.map((file) => file.path);

describe('the store', () => {
  it('has the folders of the ladder, and no others', () => {
    expect(store.length).toBeGreaterThan(0);
    const floors = new Set(store.map((file) => floorOf(file.path)));
    expect([...floors].toSorted()).toEqual(LADDER.toSorted());
  });

  it('imports down the ladder only', () => {
    const height = (file: string): number => LADDER.indexOf(floorOf(file));
    const climbs = store.flatMap(({ path: file, own, documented }) =>
      [...own, ...documented]
        .filter((target) => target.startsWith(`${STORE}/`) && height(target) > height(file))
        .map((target) => `${file} -> ${target}`),
    );
    expect(climbs).toEqual([]);
  });

  it('loads drizzle in one place', () => {
    expect(pathsOf(store.filter((file) => /drizzle-orm/.test(file.text)))).toEqual([LOADER]);
  });

  it('writes each file in one dialect: the drizzle builder in tables and schema, SQL text elsewhere', () => {
    const builders = store.filter(isBuilder);
    expect(builders.length).toBeGreaterThan(6);
    expect(pathsOf(builders.filter(isText)), 'have both').toEqual([]);
    const strays = builders.filter((file) => !/^(tables|database)$/.test(floorOf(file.path)));
    expect(pathsOf(strays), 'use the builder').toEqual([]);
    const texts = store.filter((file) => floorOf(file.path) === 'tables' && isText(file));
    expect(pathsOf(texts), 'write text').toEqual([]);
  });

  it('passes no SQL text to drizzle', () => {
    expect(pathsOf(store.filter(({ text }) => /\.\s*execute\s*[<(]/.test(text)))).toEqual([]);
  });
});
