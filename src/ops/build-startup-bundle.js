/**
 * Makes the bundle that the next start begins with: `node build-startup-bundle.js ROOT ENTRY FOLDER`. A program of its own,
 * with low priority, because a gateway that has just started works next to it.
 */
import { readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { isWhole, SIZES, sizesIn } from './startup-bundle.js';

/** Packages of many small ES modules that every start loads, with all that they import. All others stay where they are. */
const JOINED = /^(hono|@hono\/node-server|mdast-util-|micromark|unist-util-)/;
/** A running gateway loads parts of its bundle later: this many of the newest are kept. */
const KEPT = 3;
const LOWER = 10;

/**
 * Writes the bundle of `entry` to `folder` unless it is there, all at once: nobody sees a half. Rejects with esbuild's `BuildFailure`, which names
 * the file and the line.
 * @param {string} root
 * @param {string} entry
 * @param {string} folder
 */
export async function buildStartupBundle(root, entry, folder) {
  if (isWhole(folder)) return;
  const half = `${folder}.${process.pid}`;
  try {
    await build({
      absWorkingDir: root,
      entryPoints: [entry],
      outdir: half,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      // Node.js counts the characters of each line as it loads a file with a source map.
      minifyWhitespace: true,
      sourcemap: 'linked',
      sourcesContent: false,
      logLevel: 'silent',
      plugins: [{ name: 'places', setup: keepPlaces }],
    });
    writeFileSync(path.join(half, SIZES), JSON.stringify(sizesIn(half)));
    // Another process may have made it in the meantime, and a gateway may begin with it.
    if (isWhole(folder)) return;
    rmSync(folder, { recursive: true, force: true });
    // Before the new one is there: a start that ends then ends this process, too.
    for (const old of oldest(half)) rmSync(old, { recursive: true, force: true });
    renameSync(half, folder);
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}

/**
 * Packages are found by their names, also from the bundle; a module that asks where it is gets the place of its source.
 * @param {import('esbuild').PluginBuild} bundler
 */
function keepPlaces(bundler) {
  bundler.onResolve({ filter: /^[^./]/ }, ({ path: name, kind, importer }) =>
    kind === 'entry-point' || JOINED.test(name) || isPackaged(importer)
      ? undefined
      : { path: name, external: true },
  );
  bundler.onLoad({ filter: /\.(ts|js)$/ }, ({ path: file }) => {
    if (isPackaged(file)) return undefined;
    const contents = readFileSync(file, 'utf8')
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href))
      .replaceAll('import.meta.dirname', JSON.stringify(path.dirname(file)));
    return { contents, loader: file.endsWith('.ts') ? 'ts' : 'js' };
  });
}

/** @param {string} file */
function isPackaged(file) {
  return file.includes(`${path.sep}node_modules${path.sep}`);
}

/**
 * All bundles beside the one that is being made, except the newest; what a killed process left of one counts as well.
 * @param {string} half
 */
function oldest(half) {
  const cache = path.dirname(half);
  return readdirSync(cache)
    .filter((name) => name.startsWith('bundle-'))
    .map((name) => path.join(cache, name))
    .filter((bundle) => bundle !== half)
    .toSorted((a, b) => madeAt(b) - madeAt(a))
    .slice(KEPT - 1);
}

/** @param {string} bundle */
function madeAt(bundle) {
  return statSync(bundle, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

const [, program, root, entry, folder] = process.argv;
if (program === import.meta.filename && root !== undefined && entry !== undefined && folder !== undefined) {
  setPriority(LOWER);
  await buildStartupBundle(root, entry, folder);
}
