/**
 * The page as it is built into `dist/page/`: `assets/` with the hash of their bytes in their names, which browsers keep
 * permanently, `stand-ins/` for those of other versions, and the few that keep their names.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { assetName } from './page-files.ts';

/** Returns the address of what `import('…')` loads: a module of the page, or a file of a package. */
type AddressOf = (specifier: string, importer: string) => Promise<string>;

/** Browsers of 2023 and later. */
const TARGET = 'es2022';

/** What the page consists of besides its scripts. */
const SERVED = /\.(html|css|js|svg|png|webmanifest)$/;
const PICTURE = /\.(svg|png)$/;
const PAGE = new URL('./page/', import.meta.url);
/** What a page of another version gets in place of its script. */
const RECOVERY = 'recover.js';
/** The script that runs before anything is painted: in the page itself, because a file of its own would be one more request. */
const EARLY = 'first-paint.js';
/** The script that the page links, once it begins with the texts of a language, and the module that it begins with. */
const MAIN = 'main.js';
const ENTRY = 'main.tsx';
/** These have places for texts and values. */
const TEMPLATES = ['index.html', 'manifest.webmanifest'];
/** The frame that draws a diagram and its script. */
const FRAME = 'diagrams/diagram.html';
const FRAME_SCRIPT = 'diagrams/frame.ts';
const WORKER = 'notifications/worker.ts';
/** Its imports, and how they are named there. */
const SHARED = 'shared.ts';
const SHARED_IMPORT = /^import (?:\* as \w+|(\{[\w, ]+\})) from '(.+)';$/gm;
const STYLES_LINK = /^ *<link rel="stylesheet" href="\/page\/(.+?)" \/>\n/gm;

/** A module that the first script shares: its name there, and which of its exports, such as `{ signal }`; all by default. */
interface SharedModule {
  name: string;
  names?: string | undefined;
}

type Content = string | Buffer<ArrayBuffer>;

/** The files of the page by their path below `dist/page/`. Rejects with file system errors and with what `bundleScript` rejects with. */
export async function buildPage(): Promise<Map<string, Content>> {
  const names = (await readdir(PAGE, { recursive: true })).map((name) => name.replaceAll(path.sep, '/'));
  const sources = names.filter((name) => SERVED.test(name));
  const read = sources.map(async (name) => [name, await readFile(new URL(name, PAGE))] as const);
  return await new PageBuild(new Map(await Promise.all(read))).build();
}

class PageBuild {
  readonly #sources;
  readonly #built = new Map<string, Content>();
  /** Modules that later scripts take from the first one: names of packages, and paths. */
  #shared: ReadonlyMap<string, SharedModule> = new Map();
  /** How files refer to others, with the addresses that replace it. */
  readonly #addresses: [string, string][] = [];

  constructor(sources: ReadonlyMap<string, Buffer<ArrayBuffer>>) {
    this.#sources = sources;
  }

  async build(): Promise<Map<string, Content>> {
    for (const [file, body] of this.#sources) {
      const { base } = path.posix.parse(file);
      if (PICTURE.test(base)) this.#addresses.push([`/page/${base}`, this.#publish(base, body)]);
    }
    const links = [...this.#textOf('index.html').matchAll(STYLES_LINK)];
    const styles = this.#publish('styles.css', links.map(([, name = '']) => this.#textOf(name)).join('\n'));
    const [first = '', ...others] = links.map(([link]) => link);
    this.#addresses.push([first, `    <link rel="stylesheet" href="${styles}" />\n`]);
    this.#addresses.push(...others.map((link): [string, string] => [link, '']));
    const early = await this.#bundle(fileURLToPath(new URL(EARLY, PAGE)), new Map());
    this.#addresses.push([`<script src="/page/${EARLY}"></script>`, `<script>${early}</script>`]);
    const shared = (await readFile(new URL(SHARED, PAGE), 'utf8')).matchAll(SHARED_IMPORT);
    this.#shared = new Map(
      Array.from(shared, ([, names, name = '']) => [
        name.startsWith('.') ? fileURLToPath(new URL(name, PAGE)) : name,
        { name, names },
      ]),
    );
    this.#built.set(MAIN, await this.#bundle(fileURLToPath(new URL(ENTRY, PAGE)), new Map()));
    await this.#buildFrame();
    const worker = await this.#bundle(fileURLToPath(new URL(WORKER, PAGE)), new Map());
    this.#built.set(
      'sw.js',
      this.#addresses.reduce(
        (text, [reference, address]) => text.replaceAll(reference, () => address),
        worker,
      ),
    );
    for (const name of [...TEMPLATES, FRAME])
      this.#built.set(
        path.posix.basename(name),
        this.#addresses.reduce(
          (text, [reference, address]) => text.replaceAll(reference, () => address),
          this.#textOf(name),
        ),
      );
    return this.#built;
  }

  /** The library cannot be a module. Neither script has a stand-in: a diagram of another version stays code. */
  async #buildFrame(): Promise<void> {
    const library = await readFile(new URL(import.meta.resolve('@mermaid-js/tiny/dist/mermaid.tiny.js')));
    const script = await bundleScript(fileURLToPath(new URL(FRAME_SCRIPT, PAGE)), (specifier, importer) =>
      this.#publishLater(specifier, importer),
    );
    this.#addresses.push(['/page/mermaid.js', this.#publish('mermaid.js', library, false)]);
    this.#addresses.push(['/page/frame.js', this.#publish('frame.js', script, false)]);
  }

  #textOf(name: string): string {
    return String(this.#sources.get(name) ?? '');
  }

  /** Returns the script that begins with a module, and keeps the ones that it loads later. */
  async #bundle(entry: string, shared: ReadonlyMap<string, SharedModule>): Promise<string> {
    // Only scripts of one version fit together.
    this.#built.set(`stand-ins/${scriptName(entry)}`, this.#textOf(RECOVERY));
    const addressOf: AddressOf = (specifier, importer) => this.#publishLater(specifier, importer);
    return await bundleScript(entry, addressOf, shared);
  }

  /** A module of the page as its own script, or a file of a package unchanged. */
  async #publishLater(specifier: string, importer: string): Promise<string> {
    if (!specifier.startsWith('.'))
      return this.#publish(
        path.posix.basename(specifier),
        await readFile(new URL(import.meta.resolve(specifier))),
      );
    const script = await this.#bundle(path.resolve(path.dirname(importer), specifier), this.#shared);
    return this.#publish(scriptName(specifier), script, false);
  }

  /** Keeps a file under a name of its bytes; returns its address. */
  #publish(name: string, content: Content, standsIn = true): string {
    const asset = assetName(name, content);
    this.#built.set(`assets/${asset}`, content);
    if (standsIn) this.#built.set(`stand-ins/${name}`, content);
    return `/page/assets/${asset}`;
  }
}

/** What the script that begins with a module is called: `main.js` for `main.tsx`. */
function scriptName(module: string): string {
  return `${path.parse(module).name}.js`;
}

/**
 * One script with the module `entry` (a path) and all that it imports, without names and comments, except for what the
 * first script shares with it: the names in `globalThis.parleyShared` by package or path. What is imported later is not in
 * it either. Rejects with esbuild's `BuildFailure`, which names the file and the line.
 */
export async function bundleScript(
  entry: string,
  addressOf: AddressOf,
  shared: ReadonlyMap<string, SharedModule> = new Map(),
): Promise<string> {
  // Only a build needs it, and says so where it is not installed.
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    write: false,
    target: TARGET,
    legalComments: 'none',
    logLevel: 'silent',
    plugins: [
      {
        name: 'imported later',
        setup: (bundler) =>
          bundler.onResolve({ filter: /./ }, async ({ kind, path, importer }) =>
            kind === 'dynamic-import' ? { path: await addressOf(path, importer), external: true } : undefined,
          ),
      },
      {
        name: SHARED,
        setup: (bundler) => {
          bundler.onResolve({ filter: /./ }, ({ path: specifier, importer }) => {
            const isPath = specifier.startsWith('.');
            const match = shared.get(isPath ? path.resolve(path.dirname(importer), specifier) : specifier);
            return match && { path: match.name, namespace: SHARED, pluginData: match.names };
          });
          bundler.onLoad({ filter: /./, namespace: SHARED }, ({ path: name, pluginData: names }) => {
            const module = `globalThis.parleyShared[${JSON.stringify(name)}]`;
            return {
              contents:
                names === undefined ? `module.exports = ${module};` : `export const ${names} = ${module};`,
            };
          });
        },
      },
    ],
  });
  return outputFiles[0]?.text ?? '';
}
