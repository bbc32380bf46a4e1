/** The house rules a machine can hold: floors, vendors, length, cycles, and that whatever is listed is under its contract. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCycles, listFiles, readSources, ROOT } from './imports.ts';
import type { SourceFile } from './imports.ts';

const ROOMS = [
  'intake',
  'bus',
  'agent',
  'tools',
  'providers',
  'store',
  'delivery',
  'schedule',
  'security',
  'ops',
];
const ROOF = [
  'src/main.ts',
  'src/cli.ts',
  'src/gateway.ts',
  'src/ground.ts',
  'src/mind.ts',
  'src/doors.ts',
  'src/life.ts',
  'src/config.ts',
  'src/launch.js',
  'channels/index.ts',
];
const WORD_PACKAGES = /^(node:.*|zod|pino|mdast|mdast-util-[a-z-]+|micromark[a-z-]*)$/;
const TOP_LEVEL =
  'package.json package-lock.json tsconfig.json docker-compose.yml Dockerfile README.md LICENSE src channels drizzle test .ci'.split(
    ' ',
  );
const MAX_LINES = 300;

/** One vendor, one room: a pattern of package names and the only places that may import them. */
const VENDORS: [RegExp, string[]][] = [
  [/^(grammy|@grammyjs\/.*)$/, ['channels/telegram/']],
  [/^(discord\.js|@discordjs\/.*|discord-api-types)$/, ['channels/discord/']],
  [/^(hono|@hono\/.*)$/, ['channels/http/']],
  [/^(drizzle-orm|postgres|@electric-sql\/pglite)$/, ['src/store/']],
  [/^(ollama|openai)$/, ['src/providers/']],
  [/^@?nats.*/, ['src/bus/']],
  [/^(linkedom|@mozilla\/readability)$/, ['src/tools/']],
  [/^croner$/, ['src/schedule/']],
  [/^undici$/, ['src/security/egress.ts', 'src/providers/']],
];

const sources = readSources(['src', 'channels']);

/** Where a file lives: a word, the roof, or the name of its room. */
function floorOf(file: string): string {
  if (ROOF.includes(file)) return 'roof';
  const parts = file.split('/');
  if (parts[0] === 'channels') return `channels/${parts[1]}`;
  if (parts.length === 2 || parts[1] === 'lib') return 'words';
  return `src/${parts[1]}`;
}

function mayImport(file: SourceFile, target: string): boolean {
  const from = floorOf(file.path);
  const to = floorOf(target);
  if (from === 'roof') return true;
  if (file.path.startsWith('src/lib/')) return target.startsWith('src/lib/');
  return to === 'words' || to === from;
}

describe('the house', () => {
  it('lets a room import words, packages and itself, never another room: no channel calls the agent (B-02)', () => {
    const crossings = sources.flatMap((file) =>
      file.own.filter((target) => !mayImport(file, target)).map((target) => `${file.path} -> ${target}`),
    );
    expect(crossings).toEqual([]);
  });

  it('has only the rooms of the plan', () => {
    const rooms = new Set(
      sources.map((file) => floorOf(file.path)).filter((floor) => floor.startsWith('src/')),
    );
    expect([...rooms].filter((room) => !ROOMS.includes(room.slice(4)))).toEqual([]);
  });

  it('keeps each vendor in its one room, and words free of vendors', () => {
    const strays = sources.flatMap((file) =>
      file.packages.filter((name) => isStray(file.path, name)).map((name) => `${file.path} -> ${name}`),
    );
    expect(strays).toEqual([]);
  });

  it('calls fetch only in the egress function and the providers', () => {
    const callers = sources
      .filter((file) => !file.path.includes('/page/') && /(?<![.\w])fetch\(/.test(file.text))
      .map((file) => file.path);
    expect(
      callers.filter((file) => file !== 'src/security/egress.ts' && !file.startsWith('src/providers/')),
    ).toEqual([]);
  });

  it(`has no file over ${MAX_LINES} lines`, () => {
    const page = 'channels/http/page';
    const styles = readdirSync(path.join(ROOT, page)).filter((name) => /\.(css|html)$/.test(name));
    const browser = styles.map((name) => {
      const text = readFileSync(path.join(ROOT, page, name), 'utf8');
      return { path: `${page}/${name}`, lines: text.split('\n').length - 1 };
    });
    expect(browser.length).toBeGreaterThan(0);
    const all = [...readSources(['src', 'channels', 'test']), ...browser];
    const long = all.filter((file) => file.lines > MAX_LINES).map((file) => `${file.path}: ${file.lines}`);
    expect(long).toEqual([]);
  });

  it('lets its command line be run from a fresh clone', () => {
    expect(statSync(path.join(ROOT, 'src/launch.js')).mode & 0o111).toBe(0o111);
  });

  it('has no import cycle', () => {
    expect(findCycles(sources)).toEqual([]);
  });

  it('names no file after nothing in particular', () => {
    const vague = sources.filter((file) =>
      /(^|[-/])(utils?|helpers?|manager|base|common|misc)\.(ts|js)$/.test(file.path),
    );
    expect(vague.map((file) => file.path)).toEqual([]);
  });

  it('keeps the top level to what the plan names', () => {
    const entries = new Set(listFiles().map((file) => file.split('/')[0] ?? ''));
    expect([...entries].filter((entry) => !TOP_LEVEL.includes(entry) && !entry.startsWith('.'))).toEqual([]);
  });
});

function isStray(file: string, name: string): boolean {
  if (floorOf(file) === 'words') return !WORD_PACKAGES.test(name);
  return VENDORS.some(
    ([vendor, places]) => vendor.test(name) && !places.some((place) => file.startsWith(place)),
  );
}

describe('whatever is listed is under its contract', () => {
  const folder = (place: string): string[] => {
    try {
      return readdirSync(path.join(ROOT, place)).filter((name) => !name.startsWith('.'));
    } catch {
      return [];
    }
  };
  const textOf = (file: string): string =>
    readSources(['src', 'channels', 'test']).find((source) => source.path === file)?.text ?? '';

  it('lists every channel and runs the channel contract over it', () => {
    const list = textOf('channels/index.ts');
    for (const name of folder('channels').filter((entry) => entry !== 'index.ts')) {
      expect(list, `channels/index.ts names ${name}`).toContain(`./${name}/index.ts`);
      expect(textOf(`test/channels/${name}.test.ts`), `test/channels/${name}.test.ts`).toContain(
        'channelContract(',
      );
    }
  });

  it('lists every tool, over which the tool contract runs by itself', () => {
    const list = textOf('src/tools/index.ts');
    const tools = readSources(['src/tools']).filter((file) => /defineTool\(/.test(file.text));
    for (const tool of tools)
      expect(list, `src/tools/index.ts names ${tool.path}`).toContain(`./${path.basename(tool.path)}`);
    const missing = tools.length > 0 && !textOf('test/contracts/tool.test.ts').includes('src/tools/index.ts');
    expect(missing, 'test/contracts/tool.test.ts runs over src/tools/index.ts').toBe(false);
  });

  it('lists every provider and runs the provider contract over it', () => {
    const list = textOf('src/providers/index.ts');
    const providers = readSources(['src/providers']).filter(
      (file) => /streamChat\(/.test(file.text) && /: LLMProvider/.test(file.text),
    );
    for (const provider of providers) {
      const name = path.basename(provider.path, '.ts');
      expect(list, `src/providers/index.ts names ${name}`).toContain(`./${name}.ts`);
      expect(textOf(`test/providers/${name}.test.ts`), `test/providers/${name}.test.ts`).toContain(
        'providerContract(',
      );
    }
  });
});
