/** What the pages say about the code, compared with the code: links, paths, commands, events, tables and behaviors. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { PermissionFlagsBits } from 'discord.js';
import { describe, expect, it } from 'vitest';
import { COMMAND_FORMS } from '../../src/commands/command-forms.ts';
import project from '../../package.json' with { type: 'json' };
import { EVENTS } from '../../src/protocol/event.ts';
import { listFiles } from '../architecture/imports.ts';
import { rowsIn } from '../rows.ts';
import { stepsOf } from './page-files.ts';
import { FIELD_TERMS, MAX_OWN_WORDS, OWN_WORDS } from '../architecture/vocabulary.ts';
import { anchorsOf, PAGES, proseOf, readText, relativeLinks, ROOT, tableRows } from './pages.ts';

function everyMatch(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, found = '']) => found))];
}

describe('the pages', () => {
  it.each(PAGES)('of %s lead to files and headings that exist', (page) => {
    const broken = relativeLinks(page).filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
      if (!existsSync(path.join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(target).has(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('name only files and folders of the repository that exist', () => {
    const places = PAGES.flatMap((page) =>
      everyMatch(proseOf(page), /`((?:src|channels|test|docs|drizzle)\/[\w./-]*)`/g).map((place) => ({
        page,
        place,
      })),
    );
    expect(places.length).toBeGreaterThan(20);
    const told = new Set(stepsOf('docs/extending.md').map(({ file }) => file));
    const missing = places.filter(({ place }) => !existsSync(path.join(ROOT, place)) && !told.has(place));
    expect(missing).toEqual([]);
  });

  it('name only npm scripts that exist', () => {
    const scripts = PAGES.flatMap((page) => everyMatch(readText(page), /npm run ([a-z:]+)/g));
    expect(scripts.length).toBeGreaterThan(4);
    expect(scripts.filter((name) => !Object.hasOwn(project.scripts, name))).toEqual([]);
  });

  it('list the commands as parley --help does', () => {
    const lines = COMMAND_FORMS.map(({ usage, does }) => `npx parley ${usage.padEnd(28)} ${does}`);
    expect(readText('docs/getting-started.md')).toContain(`\n${lines.join('\n')}\n`);
  });

  it('are all linked from the README', () => {
    const linked = relativeLinks('README.md').map((link) => link.split('#')[0]);
    // Those of the API are linked from its page.
    const others = PAGES.filter((page) => page !== 'README.md' && !page.startsWith('docs/api/'));
    expect(others.filter((page) => !linked.includes(page))).toEqual([]);
  });
});

describe('the repository', () => {
  it('points to no document outside of it', () => {
    const outside = /\b(DESIGN|STYLE)\b(\.md| §|:| T\d)|\bcomplaint \d|\.\.\/shared\/|\b[Nn]avi\b/;
    // What people import from is named where that is described.
    const imports =
      /^((src|test)\/commands\/import\/|src\/commands\/command-forms\.ts|docs\/(importing|getting-started)\.md|CHANGELOG\.md)/;
    const strays = listFiles()
      .filter(
        (file) => /\.(tsx?|js|md|css|html|yml|json)$/.test(file) && file !== 'test/docs/reference.test.ts',
      )
      .filter((file) => {
        const text = readText(file);
        return outside.test(text) || (text.includes('nanobot') && !imports.test(file));
      });
    expect(strays).toEqual([]);
  });
});

describe('the page about troubleshooting', () => {
  it('quotes only messages that the gateway has', () => {
    const sources = listFiles()
      .filter((file) => /^(src|channels)\/.*\.(tsx?|js)$/.test(file))
      .map(readText)
      .join('\n');
    const quoted = tableRows('docs/troubleshooting.md').flatMap(([cell = '']) =>
      everyMatch(cell, /\*([^*]+)\*/g),
    );
    expect(quoted.length).toBeGreaterThan(8);
    const parts = quoted.flatMap((text) => text.split(/…|\bN\b|\b\d{2,4}\b/).map((part) => part.trim()));
    expect(parts.filter((part) => part.length > 3 && !sources.includes(part))).toEqual([]);
  });
});

describe('the page about Discord', () => {
  it('has a link with the permissions that it names', () => {
    const text = readText('docs/discord.md').replaceAll(/\s+/g, ' ');
    const [, list = ''] = /the permissions (.*?)\. With/.exec(text) ?? [];
    const names = list.split(', ').map((name) => name.replaceAll(' ', '').toLowerCase());
    expect(names).toHaveLength(6);
    const bits = Object.entries(PermissionFlagsBits).flatMap(([flag, bit]) =>
      names.some((name) => [flag, `${flag}s`].map((known) => known.toLowerCase()).includes(name))
        ? [bit]
        : [],
    );
    expect(bits).toHaveLength(names.length);
    const sum = bits.reduce((all, bit) => all | bit, 0n);
    expect(text).toContain(`&permissions=${sum} `);
  });
});

describe('the page about architecture', () => {
  const page = 'docs/architecture.md';
  const section = (heading: string): string => {
    const text = readText(page);
    const from = text.indexOf(`\n## ${heading}\n`);
    const end = text.indexOf('\n## ', from + 1);
    return text.slice(from, end === -1 ? undefined : end);
  };
  const rowNames = (heading: string): string[] =>
    everyMatch(section(heading).replaceAll(/^(\|[^|]*\|).*$/gm, '$1'), /`([a-z_]+)`/g);

  it('lists every event, and no others', () => {
    const events = EVENTS.map(({ shape }) => shape.type.value);
    expect(new Set(events).size).toBe(events.length);
    expect(events.length).toBeGreaterThan(30);
    const rows = section('Events')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const listed = everyMatch(rows.map((row) => row.split('|')[1]).join(' '), /`([a-z_]+)`/g);
    expect(listed.toSorted()).toEqual(events.toSorted());
  });

  it('lists every table, and no others', () => {
    const folder = 'src/store/database';
    const schemas = readdirSync(path.join(ROOT, folder)).filter((name) => name.startsWith('schema'));
    const tables = schemas.flatMap((name) =>
      everyMatch(readText(`${folder}/${name}`), /pgTable\(\s*'(\w+)'/g),
    );
    expect(tables.length).toBeGreaterThan(15);
    expect(rowNames('Tables').toSorted()).toEqual(tables.toSorted());
  });

  it('lists every class of lane, and no others', () => {
    const union =
      /export const LANE_CLASSES = ([^;]+);/.exec(readText('src/protocol/store/lanes.ts'))?.[1] ?? '';
    const listed = everyMatch(section('Two buses'), /^\| `([a-z]+):/gm);
    expect(listed.toSorted()).toEqual(everyMatch(union, /'([a-z]+)'/g).toSorted());
  });

  it('lists every module', () => {
    const modules = readdirSync(path.join(ROOT, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !['protocol', 'lib'].includes(entry.name))
      .map(({ name }) => name);
    const listed = everyMatch(section('Layers'), /^\| `([a-z]+)`/gm);
    expect(listed.toSorted()).toEqual(modules.toSorted());
  });

  it(`explains every word of our own in the glossary, at most ${MAX_OWN_WORDS}`, () => {
    const explained = section('Glossary')
      .split('\n')
      .flatMap((line) => /^\| (?!word)(\w[\w ]*?) \| \S/.exec(line)?.[1] ?? []);
    expect(explained.toSorted()).toEqual([...OWN_WORDS, ...FIELD_TERMS].toSorted());
    expect(OWN_WORDS.length).toBeLessThanOrEqual(MAX_OWN_WORDS);
  });
});

describe('the behaviors', () => {
  const listed = tableRows('docs/behaviours.md').flatMap(([code = '']) => rowsIn(code));

  it('are 73 of the loop, 50 of the executor and 49 of bus, tools and channels, each once', () => {
    const counts = ['N', 'S', 'B'].map((group) => listed.filter((code) => code.startsWith(group)).length);
    expect(counts).toEqual([73, 50, 49]);
    expect(new Set(listed).size).toBe(listed.length);
  });

  it('explain every code that source and tests name', () => {
    const named = listFiles()
      .filter((file) => /^(src|channels|test)\/.*\.(tsx?|js)$/.test(file))
      .flatMap((file) => rowsIn(readText(file)).map((code) => `${code} in ${file}`));
    expect(named.length).toBeGreaterThan(500);
    expect(named.filter((place) => !listed.includes(place.split(' ')[0] ?? ''))).toEqual([]);
  });

  it('are each named by a test', () => {
    const tests = listFiles().filter((file) => /^test\/.*\.ts$/.test(file) && !file.startsWith('test/docs/'));
    const named = new Set(tests.flatMap((file) => rowsIn(readText(file))));
    expect(listed.filter((code) => !named.has(code))).toEqual([]);
  });
});
