/**
 * Where Node.js may keep the compiled code of this program: only where no one else could put code. In plain JavaScript:
 * it runs before there is a cache, and a single TypeScript file would make Node load its type stripper, 25 MB.
 */
import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import path from 'node:path';

const WRITABLE_BY_OTHERS = 0o022;
const OPEN_TO_OTHERS = 0o077;

/**
 * A folder (0700) below `packages`, else below `home` if that exists; undefined when other users of the machine could
 * write to either, or nothing can be created there: then the program starts without a cache. Node runs what it finds in
 * the cache, and by default would look in the temporary folder, where anyone can plant files first. Never throws.
 * @param {string} packages
 * @param {string} home
 * @returns {string | undefined}
 */
export function compileCacheFolder(packages, home) {
  return [
    { above: packages, below: '.cache/parley' },
    { above: path.resolve(home), below: 'cache' },
  ]
    .map(({ above: parent, below: subfolder }) => privateFolder(parent, subfolder.split('/')))
    .find((folder) => folder !== undefined);
}

/**
 * Creates the folder and checks everything from `parent` to it.
 * @param {string} parent
 * @param {readonly string[]} names
 * @returns {string | undefined}
 */
function privateFolder(parent, names) {
  const folder = path.join(parent, ...names);
  try {
    if (!isOurs(parent, WRITABLE_BY_OTHERS)) return undefined;
    let place = parent;
    for (const name of names) {
      place = path.join(place, name);
      if (!existsSync(place)) mkdirSync(place, { mode: 0o700 });
      if (!isOurs(place, place === folder ? OPEN_TO_OTHERS : WRITABLE_BY_OTHERS)) return undefined;
    }
    return folder;
  } catch {
    return undefined;
  }
}

/**
 * True for a folder (not a link) of this user with none of the permissions `forbiddenBits`. Windows has neither owners nor
 * modes of this kind.
 * @param {string} place
 * @param {number} forbiddenBits
 */
function isOurs(place, forbiddenBits) {
  const stats = lstatSync(place);
  const user = process.getuid?.();
  if (user === undefined) return stats.isDirectory();
  return stats.isDirectory() && stats.uid === user && (stats.mode & forbiddenBits) === 0;
}
