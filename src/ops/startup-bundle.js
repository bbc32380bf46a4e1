/**
 * The program as a few files instead of eight hundred, for the next start: finding, reading and linking so many takes a
 * third of the time until a gateway is ready. In plain JavaScript: with a bundle, no TypeScript is loaded at all.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** Where the sources are: TypeScript and JavaScript. */
const SOURCES = ['src', 'channels'];
/** What else decides about the content; npm writes the second at each installation. */
const ALSO = ['package.json', 'node_modules/.package-lock.json'];

/** The file of a bundle that has the sizes of the others: after a loss of power, some may be empty. */
export const SIZES = 'sizes.json';

/**
 * @typedef {object} StartupBundle
 * @property {string} folder `bundle-` and a digest of the state of the sources: other sources, another folder.
 * @property {string} file What to import instead of the entry.
 * @property {boolean} isThere False until `build-startup-bundle.js` has made it, and when a file of it is damaged.
 */

/**
 * The bundle of the program in `root` as it is now, below `cache`, the folder that `compileCacheFolder` found. Undefined when that
 * is not below the packages, from where the bundle would not find them, or when the sources cannot be read. Never throws.
 * @param {string} root
 * @param {string | undefined} cache
 * @param {{ entry?: string, sources?: readonly string[] }} [of] The module to begin with, and folders; both below `root`.
 * @returns {StartupBundle | undefined}
 */
export function startupBundle(root, cache, { entry = 'src/cli.ts', sources = SOURCES } = {}) {
  if (cache === undefined || !cache.startsWith(path.join(root, 'node_modules') + path.sep)) return undefined;
  try {
    const digest = createHash('sha256').update(entry);
    for (const file of [...ALSO, ...sources.flatMap((folder) => filesIn(root, folder)).toSorted()]) {
      const { size, mtimeMs } = statSync(path.join(root, file));
      digest.update(`${file} ${size} ${mtimeMs}\n`);
    }
    const folder = path.join(cache, `bundle-${digest.digest('hex').slice(0, 24)}`);
    const file = path.join(folder, `${path.parse(entry).name}.js`);
    return { folder, file, isThere: isWhole(folder) };
  } catch {
    return undefined;
  }
}

/**
 * The names of the files of a folder and their sizes in bytes, without `SIZES`.
 * @param {string} folder
 * @returns {Record<string, number>}
 */
export function sizesIn(folder) {
  const names = readdirSync(folder)
    .filter((name) => name !== SIZES)
    .toSorted();
  return Object.fromEntries(names.map((name) => [name, statSync(path.join(folder, name)).size]));
}

/**
 * True for a bundle with all its files.
 * @param {string} folder
 */
export function isWhole(folder) {
  const sizes = path.join(folder, SIZES);
  return existsSync(sizes) && readFileSync(sizes, 'utf8') === JSON.stringify(sizesIn(folder));
}

/**
 * The sources in a folder and below. Not with `recursive`, which is slower: every start waits for this.
 * @param {string} root
 * @param {string} folder
 * @returns {string[]}
 */
function filesIn(root, folder) {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesIn(root, name);
    return entry.isFile() && /\.(ts|js)$/.test(entry.name) ? [name] : [];
  });
}
