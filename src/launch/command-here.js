/**
 * How to invoke the command line of this gateway from where it was started. In plain JavaScript, like the compile
 * cache: it runs before anything else is loaded.
 */
import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

/**
 * What is known of a start.
 * @typedef {object} Start
 * @property {string | undefined} given what the installation itself specifies, as the container does
 * @property {boolean} linked whether the name `parley` leads here from any folder
 * @property {string} clone the folder of this program
 * @property {string} folder its working folder, where settings and database are looked up
 * @property {string} askedFrom the one in which npm was invoked, because npm runs scripts in the clone; the same
 * without npm
 * @property {string} home the person's home folder
 * @property {boolean} windows
 */

/**
 * The command, without what follows it. Pure.
 * @param {Start} start
 */
export function commandHere({ given: command, linked, clone, folder, askedFrom, home, windows }) {
  if (command !== undefined && command !== '') return command;
  if (linked) return 'parley';
  /** @param {string} place */
  const quote = (place) => (windows ? `"${place}"` : shellWord(place, home));
  // Installed as a package, whatever its name.
  if (path.dirname(clone) === path.join(folder, 'node_modules')) return 'npx parley';
  if (folder !== clone)
    return `node ${quote(`${clone}${windows ? '\\' : '/'}src${windows ? '\\' : '/'}launch.js`)}`;
  // Anywhere else, npx would offer a different program of this name.
  return askedFrom === clone ? 'npx parley' : `cd ${quote(clone)} && npx parley`;
}

/**
 * A path as a shell accepts it, with the person's home folder as `~`.
 * @param {string} place
 * @param {string} home
 */
function shellWord(place, home) {
  const isInHome = home.length > 1 && place.startsWith(`${home}/`);
  const rest = isInHome ? place.slice(home.length + 1) : place;
  const word = /^[\w./@%+=:,-]+$/.test(rest) ? rest : `'${rest.replaceAll("'", String.raw`'\''`)}'`;
  return isInHome ? `~/${word}` : word;
}

/**
 * The same for this process; `launcher` is the file that `parley` starts. Never throws.
 * @param {string} launcher
 * @param {NodeJS.ProcessEnv} environment
 */
export function commandOfProcess(launcher, environment) {
  const windows = process.platform === 'win32';
  return commandHere({
    given: environment['PARLEY_COMMAND'],
    linked: isLinked(launcher, environment['PATH'] ?? ''),
    clone: path.resolve(launcher, '../..'),
    folder: realFolder(process.cwd()),
    askedFrom: realFolder(environment['INIT_CWD'] || process.cwd()),
    home: realFolder(homedir()),
    windows,
  });
}

/**
 * Whether a shell finds this program by name. What npm adds to the PATH of its scripts does not count.
 * @param {string} launcher
 * @param {string} searched
 */
function isLinked(launcher, searched) {
  const folders = searched.split(path.delimiter).filter((folder) => folder !== '');
  const file = folders
    .filter((folder) => !/[\\/]node_modules[\\/]\.bin$/.test(folder))
    .map((folder) => path.join(folder, 'parley'))
    .find((candidate) => existsSync(candidate));
  return file !== undefined && realFolder(file) === launcher;
}

/** @param {string} place */
function realFolder(place) {
  try {
    return realpathSync(place);
  } catch {
    // It is gone, or not accessible.
    return place;
  }
}
