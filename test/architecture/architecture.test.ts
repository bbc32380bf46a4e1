/** The rules of the code that a machine can hold: layers, vendors, length, cycles, words, and that whatever is listed is under its contract. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCycles, listFiles, readSources, ROOT, withoutComments } from './imports.ts';
import { countNames, MAX_ODD_NAMES } from './vocabulary.ts';

/** The composition root: it wires the modules, and nothing imports it. */
const ROOT_FILES = /^(src\/[^/]+|src\/(commands|launch)\/.+|channels\/index\.ts)$/;
/** What every module may import. */
const SHARED = ['src/protocol', 'src/lib'];
/** Every other folder of `src`. */
const MODULES = readdirSync(path.join(ROOT, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `src/${name}`)
  .filter((folder) => !['src/commands', 'src/launch', ...SHARED].includes(folder));
const SHARED_PACKAGES = /^(node:.*|zod|pino|yaml|mdast|mdast-util-[a-z-]+|micromark[a-z-]*)$/;
const TOP_LEVEL =
  'package.json package-lock.json tsconfig.json docker-compose.yml Dockerfile README.md LICENSE CHANGELOG.md SECURITY.md CONTRIBUTING.md src channels plugins docs drizzle test .ci'.split(
    ' ',
  );
const MAX_LINES = 400;
/** The one file that creates every module. */
const COMPOSITION = { path: 'src/modules.ts', lines: 600 };
/** A function is read on one screen. */
const MAX_FUNCTION_LINES = 60;
/** About twenty files a folder: more have a seam. */
const MAX_FILES = 22;

/** One vendor, one module: a pattern of package names and the only places that may import them. */
const VENDORS: [RegExp, string[]][] = [
  [/^(grammy|@grammyjs\/.*)$/, ['channels/telegram/']],
  [/^(discord\.js|@discordjs\/.*|discord-api-types)$/, ['channels/discord/']],
  [/^@slack\//, ['channels/slack/']],
  [/^(hono|@hono\/.*)$/, ['channels/http/']],
  [/^(@matrix-org\/.*|fake-indexeddb.*)$/, ['channels/matrix/']],
  [/^@highlightjs\/.*$/, ['channels/http/']],
  // Of the build only: neither the image nor the package has it.
  [/^esbuild$/, ['channels/http/page-build.ts', 'src/bundle.ts', 'plugins/build.ts']],
  // A plug-in brings its packages in its own file.
  [/^(imapflow|nodemailer|postal-mime|htmlparser2)$/, ['plugins/email/']],
  [/^ws$/, ['channels/http/', 'channels/slack/']],
  [/^(mdast-util-.*|micromark.*)$/, ['src/lib/']],
  [/^(drizzle-orm|postgres)$/, ['src/store/']],
  [/^ollama$/, ['src/providers/']],
  [/^@?nats.*/, ['src/bus/']],
  [/^(linkedom|@mozilla\/readability)$/, ['src/tools/']],
  [/^(sharp|file-type|unpdf|mammoth|read-excel-file.*)$/, ['src/media/']],
  // Two kinds of archives: office documents, and skills as people send them.
  [/^fflate$/, ['src/media/', 'src/skills/']],
  [/^diff$/, ['src/skills/']],
  [/^yaml$/, ['src/lib/']],
  [/^croner$/, ['src/schedule/']],
  [/^prom-client$/, ['src/ops/telemetry/']],
  [/^@opentelemetry\//, ['src/ops/telemetry/']],
  [/^@fastify\/busboy$/, ['channels/http/']],
  [/^jsonc-parser$/, ['src/settings/']],
  [/^undici$/, ['src/security/egress.ts', 'src/security/service-fetch.ts', 'src/providers/']],
  [/^@modelcontextprotocol\/.*/, ['src/mcp/']],
  [/^@agentclientprotocol\//, ['src/commands/acp/']],
];

const everything = readSources(['src', 'channels', 'plugins', 'test']);
const sources = everything.filter((file) => !file.path.startsWith('test/'));

/** The part of the architecture a file belongs to, read from its path: `root`, a shared folder, or a module. */
function partOf(file: string): string {
  return ROOT_FILES.test(file) ? 'root' : file.split('/').slice(0, 2).join('/');
}

function mayImport(from: string, to: string): boolean {
  if (from === 'root' || from === to) return true;
  return from === 'src/lib' ? false : from === 'src/protocol' ? to === 'src/lib' : SHARED.includes(to);
}

/** A module's types are taken from its index, and not by what stands below all modules. */
function offersTypes(from: string, target: string): boolean {
  const owner = partOf(target);
  return !SHARED.includes(from) && owner !== 'root' && target === `${owner}/index.ts`;
}

describe('the architecture', () => {
  it('lets a module import values from protocol, lib, packages and itself, and types from the index of another module: no channel calls the agent (B-02)', () => {
    const crossings = sources.flatMap((file) =>
      file.own
        .filter((target) => !mayImport(partOf(file.path), partOf(target)))
        .filter((target) => !(file.typesOnly.includes(target) && offersTypes(partOf(file.path), target)))
        .map((target) => `${file.path} -> ${target}`),
    );
    expect(crossings).toEqual([]);
  });

  it('has the composition root, protocol, lib and the modules of the page directly below src, and nothing else', () => {
    const parts = new Set(sources.map((file) => partOf(file.path)).filter((part) => part.startsWith('src/')));
    expect([...parts].toSorted()).toEqual([...MODULES, ...SHARED].toSorted());
    const page = readFileSync(path.join(ROOT, 'docs/architecture.md'), 'utf8');
    const [, drawn = ''] = /^modules +src\/\{([a-z,]+)\}/m.exec(page) ?? [];
    expect(MODULES.toSorted()).toEqual(
      drawn
        .split(',')
        .map((name) => `src/${name}`)
        .toSorted(),
    );
  });

  it(`has no folder with more than ${MAX_FILES} files at one level`, () => {
    const counts = new Map<string, number>();
    for (const file of listFiles().filter((name) => /^(src|channels|plugins|test)\//.test(name))) {
      const folder = path.posix.dirname(file);
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
  });

  it('keeps each vendor in its one module, and protocol and lib free of vendors', () => {
    const strays = sources.flatMap((file) =>
      file.packages.filter((name) => isStray(file.path, name)).map((name) => `${file.path} -> ${name}`),
    );
    expect(strays).toEqual([]);
  });

  it('names no channel in code outside its folder and the list, except the one that every gateway has', () => {
    const names = readdirSync(path.join(ROOT, 'channels')).filter((name) => !/^(index\.ts|http)$/.test(name));
    expect(names.length).toBeGreaterThan(1);
    const strays = sources
      .filter((file) => file.path !== 'channels/index.ts')
      .flatMap((file) => {
        const code = withoutComments(file.text, file.path.endsWith('.tsx')).toLowerCase();
        const found = names.filter(
          (name) => !file.path.startsWith(`channels/${name}/`) && code.includes(name),
        );
        return found.map((name) => `${file.path} -> ${name}`);
      });
    expect(strays).toEqual([]);
  });

  it('loads no vendor with a manifest: a channel that is off costs nothing', () => {
    const manifests = sources.filter((file) => file.path.endsWith('/manifest.ts'));
    expect(manifests.length).toBeGreaterThan(2);
    expect(manifests.flatMap((file) => file.packages.filter((name) => name !== 'zod'))).toEqual([]);
  });

  it('loads the client of a model server with its first use: no start pays for it', () => {
    const users = sources.filter(({ packages }) => packages.includes('ollama'));
    expect(users.length).toBeGreaterThan(0);
    const eager = users.filter(({ text }) => /^(import|export) (?!type)[^;]*'ollama'/m.test(text));
    expect(eager.map((file) => file.path)).toEqual([]);
  });

  it('calls fetch only in the egress function and the providers; plug-ins have a proxy around them', () => {
    const callers = sources
      .filter((file) => !/\/page\/|^plugins\//.test(file.path) && /(?<![.\w])fetch\(/.test(file.text))
      .map((file) => file.path);
    expect(
      callers.filter((file) => file !== 'src/security/egress.ts' && !file.startsWith('src/providers/')),
    ).toEqual([]);
  });

  it(`has no file over ${MAX_LINES} lines, and a composition root of ${COMPOSITION.lines} at most`, () => {
    const page = 'channels/http/page';
    const entries = readdirSync(path.join(ROOT, page), { recursive: true, encoding: 'utf8' });
    const styles = entries.filter((name) => /\.(css|html)$/.test(name));
    const browser = styles.map((name) => {
      const text = readFileSync(path.join(ROOT, page, name), 'utf8');
      return { path: `${page}/${name}`, lines: text.split('\n').length - 1 };
    });
    expect(browser.length).toBeGreaterThan(0);
    const all = [...everything, ...browser];
    const most = (name: string) => (name === COMPOSITION.path ? COMPOSITION.lines : MAX_LINES);
    const long = all
      .filter((file) => file.lines > most(file.path))
      .map((file) => `${file.path}: ${file.lines}`);
    expect(long).toEqual([]);
  });

  it(`has no function over ${MAX_FUNCTION_LINES} lines`, () => {
    const all = sources.flatMap(({ path: file, functions }) => functions.map((one) => ({ file, ...one })));
    expect(all.length).toBeGreaterThan(1_000);
    const long = all.filter(({ lines }) => lines > MAX_FUNCTION_LINES);
    expect(long.map(({ file, line, lines }) => `${file}:${line}: ${lines}`)).toEqual([]);
  });

  it('lets its command line be run from a fresh clone', () => {
    expect(statSync(path.join(ROOT, 'src/launch.js')).mode & 0o111).toBe(0o111);
  });

  it('has no import cycle', () => {
    expect(findCycles(sources)).toEqual([]);
  });

  it('has no cycle of types in comments', () => {
    const found = findCycles(sources, true).map((cycle) => cycle.toSorted().join(' '));
    const imported = findCycles(sources).map((cycle) => cycle.toSorted().join(' '));
    expect(found.filter((cycle) => !imported.includes(cycle))).toEqual([]);
  });

  it('gives every file a specific name', () => {
    const vague = sources.filter((file) =>
      /(^|[-/])(utils?|helpers?|manager|base|common|misc)\.(tsx?|js)$/.test(file.path),
    );
    expect(vague.map((file) => file.path)).toEqual([]);
  });

  it('keeps the top level to what the plan names', () => {
    const entries = new Set(listFiles().map((file) => file.split('/')[0] ?? ''));
    expect([...entries].filter((entry) => !TOP_LEVEL.includes(entry) && !entry.startsWith('.'))).toEqual([]);
  });
});

function isStray(file: string, name: string): boolean {
  if (SHARED.includes(partOf(file))) return !SHARED_PACKAGES.test(name);
  return VENDORS.some(
    ([vendor, places]) => vendor.test(name) && !places.some((place) => file.startsWith(place)),
  );
}

describe('the vocabulary', () => {
  it('names variables and parameters with nouns and verbs', () => {
    const { bindings, odd } = countNames(sources);
    expect(bindings).toBeGreaterThan(10_000);
    expect(odd.length / bindings).toBeLessThanOrEqual(MAX_ODD_NAMES);
  });
});

describe('whatever is listed is under its contract', () => {
  const folder = (place: string): string[] => {
    try {
      return readdirSync(path.join(ROOT, place)).filter((name) => !name.startsWith('.'));
    } catch {
      return [];
    }
  };
  const textOf = (file: string): string => everything.find((source) => source.path === file)?.text ?? '';

  it('lists every channel and runs the channel contract over it', () => {
    const list = textOf('channels/index.ts');
    for (const name of folder('channels').filter((entry) => entry !== 'index.ts')) {
      expect(list, `channels/index.ts names ${name}`).toContain(`./${name}/manifest.ts`);
      expect(
        textOf(`test/channels/${name}/${name}.test.ts`),
        `test/channels/${name}/${name}.test.ts`,
      ).toContain('channelContract(');
    }
  });

  it('lists every tool, over which the tool contract runs by itself', () => {
    const list = textOf('src/tools/index.ts');
    const tools = sources.filter(
      (file) => file.path.startsWith('src/tools/') && /defineTool\(/.test(file.text),
    );
    for (const tool of tools)
      expect(list, `src/tools/index.ts names ${tool.path}`).toContain(
        `./${path.posix.relative('src/tools', tool.path)}`,
      );
    const missing =
      tools.length > 0 && !textOf('test/contracts/tools/tool.test.ts').includes('src/tools/index.ts');
    expect(missing, 'test/contracts/tools/tool.test.ts runs over src/tools/index.ts').toBe(false);
  });

  it('lists every search service and runs the search contract over it', () => {
    const at = 'src/tools/web/search/';
    const list = textOf(`${at}services.ts`);
    const kinds = sources.filter(
      ({ path: file, text }) => file.startsWith(at) && /: SearchKind = /.test(text),
    );
    const services = kinds.filter(({ text }) => /\n {2}ask/.test(text));
    expect(services.length).toBeGreaterThan(3);
    for (const { path: file } of services) {
      const name = path.posix.basename(file, '.ts');
      expect(list, `${at}services.ts names ${name}`).toContain(`./${name}.ts`);
      const suite = `test/tools/web/search/${name}.test.ts`;
      expect(textOf(suite), `${suite} runs the suite`).toContain('searchContract(');
    }
  });

  it('lists every provider and runs the provider contract over it', () => {
    const list = textOf('src/providers/index.ts');
    const providers = sources.filter(
      (file) =>
        file.path.startsWith('src/providers/') &&
        /streamChat\(/.test(file.text) &&
        /: LLMProvider/.test(file.text),
    );
    const kinds = sources.filter((file) => /^src\/providers\/[^/]+\/kind\.ts$/.test(file.path));
    expect(kinds.length).toBeGreaterThan(1);
    for (const kind of kinds) {
      const name = path.posix.basename(path.posix.dirname(kind.path));
      expect(list, `src/providers/index.ts names ${kind.path}`).toContain(`./${name}/kind.ts`);
      const suite = `test/providers/${name}/${name}.test.ts`;
      expect(textOf(suite), `${suite} runs the suite`).toContain('providerContract(');
    }
    for (const provider of providers) {
      const name = path.posix.relative('src/providers', provider.path).replace(/\.ts$/, '');
      const folder = path.posix.dirname(provider.path);
      const loader = folder === 'src/providers' ? 'src/providers/index.ts' : `${folder}/kind.ts`;
      expect(textOf(loader), `${loader} loads ${name}`).toContain(`./${path.posix.basename(provider.path)}`);
      expect(textOf(`test/providers/${name}.test.ts`), `test/providers/${name}.test.ts`).toContain(
        'providerContract(',
      );
    }
  });
});
