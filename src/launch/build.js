/**
 * The built program, `dist/`: what Parley starts from, when it is up to date, and how it is made. In plain JavaScript,
 * because every start runs it. As a program (`npm run build`), it builds.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';

/** Written last into `dist/`; see `Stamp`. */
export const STAMP = 'stamp.json';
/** What `dist/` is built from: all files in these folders, and these. */
const FOLDERS = ['src', 'channels'];
const FILES = ['package.json', 'package-lock.json'];
/** Builds; an installed package has what it built instead. */
const BUILDER = 'src/bundle.ts';

/**
 * @typedef {object} Stamp
 * @property {string} sources `digestOfSources` before the build.
 * @property {Record<string, number>} files The files of the build and their sizes in bytes: after a power loss, some may be empty.
 */

/**
 * The module to import as the program in `root`. `mayBuild` builds first where `dist/` is missing or not of these sources;
 * without it, and where that fails, the program is its sources. Undefined for an installed package that is not whole.
 * @param {string} root
 * @param {boolean} mayBuild
 * @param {(line: string) => void} say Gets what a person should know about it.
 * @returns {Promise<string | undefined>}
 */
export async function programFile(root, mayBuild, say) {
  const program = path.join(root, 'dist/cli.js');
  if (!hasSources(root)) {
    if (stampOf(root) !== undefined) return program;
    say(`The package in ${root} is not complete: install it again.`);
    return undefined;
  }
  if (isBuilt(root)) return program;
  const sources = path.join(root, 'src/cli.ts');
  if (!mayBuild) return sources;
  say('Building Parley …');
  const problem = await build(root);
  if (problem === undefined) return program;
  say(
    `Parley could not be built (${problem}). It runs from its sources: the start takes longer, and the chat page is the one of the last build, if there was one.`,
  );
  return sources;
}

/**
 * False for an installed package.
 * @param {string} root
 */
function hasSources(root) {
  return existsSync(path.join(root, BUILDER));
}

/**
 * True when `dist/` is whole and built from the sources as they are, or these cannot be read. Never throws.
 * @param {string} root
 */
export function isBuilt(root) {
  const stamp = stampOf(root);
  const digest = digestOfSources(root);
  return stamp !== undefined && (digest === undefined || digest === stamp.sources);
}

/**
 * Builds `dist/`. Gives the reason in a few words when that failed; `dist/` is then as it was. Never throws.
 * @param {string} root
 * @returns {Promise<string | undefined>}
 */
export async function build(root) {
  const digest = digestOfSources(root);
  if (digest === undefined)
    return `not all of ${FOLDERS.join(', ')} and ${FILES.join(', ')} in ${root} can be read`;
  // A process of its own without an error stream: esbuild, when it is interrupted, writes pages about its goroutines.
  const child = spawn(process.execPath, [path.join(root, BUILDER), digest], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const [reason, [code, signal]] = await Promise.all([buffer(child.stdout), once(child, 'close')]);
    if (code === 0) return undefined;
    return reason.toString().trim() || `the build ended with ${signal ?? `code ${code}`}`;
  } catch (error) {
    return String(error);
  }
}

/**
 * The stamp of a `dist/` that has all its files; undefined for any other, and none. Never throws.
 * @param {string} root
 * @returns {Stamp | undefined}
 */
export function stampOf(root) {
  const dist = path.join(root, 'dist');
  try {
    /** @type {Stamp} */
    const stamp = JSON.parse(readFileSync(path.join(dist, STAMP), 'utf8'));
    const isWhole = Object.entries(stamp.files).every(
      ([file, size]) => statSync(path.join(dist, file)).size === size,
    );
    return isWhole ? stamp : undefined;
  } catch {
    // There is none, or it cannot be read: either way it is not one to start from.
    return undefined;
  }
}

/**
 * The names and contents of all sources: a copy and a checkout have other times than their origin. It takes about 20 ms. Undefined
 * when one of them cannot be read.
 * @param {string} root
 */
function digestOfSources(root) {
  const digest = createHash('sha256');
  try {
    for (const file of [...FILES, ...FOLDERS.flatMap((folder) => filesIn(root, folder)).toSorted()]) {
      const content = readFileSync(path.join(root, file));
      digest.update(`${file} ${content.length}\n`).update(content);
    }
  } catch {
    // Who may read them can build; others have what is built.
    return undefined;
  }
  return digest.digest('hex');
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {string[]}
 */
function filesIn(root, folder) {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesIn(root, name);
    // Editors leave hidden files next to what they have open.
    return entry.isFile() && !entry.name.startsWith('.') ? [name] : [];
  });
}

if (import.meta.main) {
  const root = path.resolve(import.meta.dirname, '../..');
  const problem = hasSources(root) ? await build(root) : undefined;
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}
