/**
 * Builds `dist/`: the program as a few files instead of eight hundred, and the page. `node src/bundle.ts DIGEST`, which
 * `launch/build.js` runs; the reason of a failure goes to standard output.
 */
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { PluginBuild } from 'esbuild';
import { buildPage } from '../channels/http/page-build.ts';
import { STAMP, stampOf } from './launch/build.js';

/** Packages of many small ES modules that every start loads, with all that they import. All others stay where they are. */
const JOINED = /^(hono|@hono\/node-server|mdast-util-|micromark|unist-util-)/;
/** How a module starts another one as a worker or a process of its own. */
const STARTED = /new URL\('([\w./-]+)\.(?:ts|js)', import\.meta\.url\)/g;
/** What a build that was killed has left is removed after this time, in milliseconds. */
const ABANDONED_MS = 60_000;

/** Files of a build, by their path in its folder. */
type BuiltFiles = Map<string, string | Uint8Array>;

/**
 * Joins the program that begins with `entry` into files for `folder`, both below `root`. Modules that are loaded later, or
 * started as workers and processes, stay separate. Rejects with esbuild's `BuildFailure`, which names the file and the line.
 */
export async function bundleProgram(root: string, entry: string, folder: string): Promise<BuiltFiles> {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry, ...startedModules(root)],
    outdir: folder,
    entryNames: '[name]',
    bundle: true,
    write: false,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Node.js counts the characters of each line as it loads a file with a source map.
    minifyWhitespace: true,
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'silent',
    plugins: [{ name: 'places', setup: (bundler) => keepPlaces(bundler, path.resolve(root, folder)) }],
  });
  return new Map(outputFiles.map((file) => [path.basename(file.path), file.contents]));
}

/** Version of the published types of plug-ins; the first number is that of the contract. */
const SDK_VERSION = '1.0.0';

/** The package `@parley/sdk`, as files of the build: the contract of plug-ins, which consists of types only. */
export function sdkFiles(root: string): BuiltFiles {
  const files = { 'plugin.ts': 'index.d.ts', 'plugin-channel.ts': 'plugin-channel.d.ts' };
  const types = Object.entries(files).map(([name, published]): [string, string] => {
    const text = readFileSync(path.join(root, 'src/protocol', name), 'utf8');
    return [`sdk/${published}`, text.replaceAll("'./plugin-channel.ts'", "'./plugin-channel.js'")];
  });
  const about = {
    name: '@parley/sdk',
    version: SDK_VERSION,
    license: 'MIT',
    type: 'module',
    types: 'index.d.ts',
  };
  const exports = { '.': { types: './index.d.ts' } };
  return new Map([...types, ['sdk/package.json', JSON.stringify({ ...about, exports }, undefined, 2)]]);
}

/** What `STARTED` finds in the sources. */
function startedModules(root: string): string[] {
  return globSync('{src,channels}/**/*.ts', { cwd: root }).flatMap((file) =>
    [...readFileSync(path.join(root, file), 'utf8').matchAll(STARTED)].flatMap(([, name = '']) =>
      ['.ts', '.js']
        .map((extension) => path.join(path.dirname(file), name + extension))
        .filter((module) => existsSync(path.join(root, module))),
    ),
  );
}

/**
 * Packages are found by their names, also from the built files; a module that asks where it is gets the place of its
 * source, and what it starts is next to it.
 */
function keepPlaces(bundler: PluginBuild, folder: string): void {
  bundler.onResolve({ filter: /^[^./]/ }, ({ path: name, kind, importer }) =>
    kind === 'entry-point' || JOINED.test(name) || isPackaged(importer)
      ? undefined
      : { path: name, external: true },
  );
  bundler.onLoad({ filter: /\.(ts|js)$/ }, ({ path: file }) => {
    if (isPackaged(file)) return undefined;
    const source = path.relative(folder, file).replaceAll(path.sep, '/');
    const contents = readFileSync(file, 'utf8')
      .replaceAll(
        STARTED,
        (_, name: string) => `new URL('./${path.posix.basename(name)}.js', import_meta_url)`,
      )
      .replaceAll('import.meta.url', `new URL(${JSON.stringify(source)}, import.meta.url).href`)
      .replaceAll('import_meta_url', 'import.meta.url');
    return { contents, loader: file.endsWith('.ts') ? 'ts' : 'js' };
  });
}

function isPackaged(file: string): boolean {
  return file.includes(`${path.sep}node_modules${path.sep}`);
}

/**
 * Writes `dist/` in `root`: first all of it next to what is there, which then takes a moment to replace, and the stamp last. Program
 * files of the build before stay: a gateway that runs may load them later. Throws file system errors.
 */
function writeDist(root: string, sources: string, newFiles: BuiltFiles): void {
  const dist = path.join(root, 'dist');
  const oldStamp = stampOf(root);
  // Another process has built the same, and a gateway may begin with it.
  if (oldStamp?.sources === sources) return;
  const before = Object.keys(oldStamp?.files ?? {}).filter((name) => !name.startsWith('page/'));
  const sizes = [...newFiles].map(([name, content]) => [name, Buffer.byteLength(content)]);
  const stamp = JSON.stringify({ sources, files: Object.fromEntries(sizes) });
  const files: BuiltFiles = new Map([...newFiles, [STAMP, stamp]]);
  const next = path.join(dist, `.next-${process.pid}`);
  try {
    for (const [name, content] of files) writeAs(root, path.join(next, name), content);
    rmSync(path.join(dist, STAMP), { force: true });
    for (const name of files.keys()) {
      makeFolders(root, path.dirname(path.join(dist, name)));
      renameSync(path.join(next, name), path.join(dist, name));
    }
    removeOld(dist, new Set([...files.keys(), ...before]));
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** As readable as the sources: the account of a service is not the one that builds. */
function writeAs(root: string, file: string, content: string | Uint8Array): void {
  makeFolders(root, path.dirname(file));
  writeFileSync(file, content);
  makeLike(path.join(root, 'package.json'), file);
}

function makeFolders(root: string, folder: string): void {
  if (existsSync(folder)) return;
  makeFolders(root, path.dirname(folder));
  // Undefined when another build has just made it.
  const firstFolder = mkdirSync(folder, { recursive: true });
  if (firstFolder !== undefined) makeLike(path.join(root, 'src'), folder);
}

/** Gives `target` the permissions of `source`, and its owner, if this is root: who owns the sources must be able to build again. */
function makeLike(source: string, target: string): void {
  const { mode, uid, gid } = statSync(source);
  chmodSync(target, mode & 0o777);
  if (process.getuid?.() === 0) chownSync(target, uid, gid);
}

/** Removes what no build needs any more, and what killed ones have left. */
function removeOld(dist: string, neededNames: ReadonlySet<string>): void {
  const page = readdirSync(path.join(dist, 'page'), { recursive: true, encoding: 'utf8' });
  const names = [...readdirSync(dist), ...page.map((name) => path.join('page', name))];
  for (const name of names.filter((one) => !neededNames.has(one.replaceAll(path.sep, '/')))) {
    const stats = statSync(path.join(dist, name), { throwIfNoEntry: false });
    const isKilled = name.startsWith('.next-') && Date.now() - (stats?.mtimeMs ?? 0) > ABANDONED_MS;
    if (isKilled || stats?.isFile()) rmSync(path.join(dist, name), { recursive: true, force: true });
  }
}

/** Why a build failed, in a few words. */
function reasonOf(error: unknown, root: string): string {
  if (!(error instanceof Error)) return String(error);
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'ERR_MODULE_NOT_FOUND') return 'esbuild is not installed; "npm ci --include=dev" installs it';
  if (/^(EACCES|EPERM|EROFS)$/.test(code))
    return `${error.message}; run "npm run build" as the owner of ${root}`;
  return error.message;
}

const [, , digest] = process.argv;
if (import.meta.main && digest !== undefined) {
  const root = path.resolve(import.meta.dirname, '..');
  try {
    const [program, page] = await Promise.all([bundleProgram(root, 'src/cli.ts', 'dist'), buildPage()]);
    writeDist(
      root,
      digest,
      new Map([
        ...program,
        ...sdkFiles(root),
        ...[...page].map(([name, content]) => [`page/${name}`, content] as const),
      ]),
    );
  } catch (error) {
    process.stdout.write(`${reasonOf(error, root)}\n`);
    process.exitCode = 1;
  }
}
