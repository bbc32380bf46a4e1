/**
 * Refuses a package-lock.json or package.json, here or in another of FOLDERS, that would install anything but what the registry
 * published under a fixed version and digest. `node test/install/lint-lockfile.js` runs before the first install, so on any old Node.js and
 * without packages; exits 1 and names each invalid entry.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/**
 * Packages without a digest: native parts of development tools for machines other than the gate's. The registry had
 * none of these versions when the lockfile was created, so there is no digest to record. Nothing that runs in production.
 * @type {readonly string[]}
 */
export const WITHOUT_DIGEST = [
  ...['@oxfmt/binding', '@oxlint/binding'].flatMap((name) =>
    [
      'android-arm-eabi',
      'android-arm64',
      'darwin-arm64',
      'darwin-x64',
      'freebsd-x64',
      'linux-arm-gnueabihf',
      'linux-arm-musleabihf',
      'linux-arm64-musl',
      'linux-ppc64-gnu',
      'linux-riscv64-gnu',
      'linux-riscv64-musl',
      'linux-s390x-gnu',
      'linux-x64-musl',
      'openharmony-arm64',
      'win32-arm64-msvc',
      'win32-ia32-msvc',
      'win32-x64-msvc',
    ].map((machine) => `${name}-${machine}`),
  ),
  ...['darwin-arm64', 'darwin-x64', 'win32-arm64', 'win32-x64'].map(
    (machine) => `@oxlint-tsgolint/${machine}`,
  ),
];

/** The folders that the gate installs packages in, each with a lockfile of its own. */
export const FOLDERS = ['', 'test/clients/', 'test/openapi/'];

/** An exact version: no range, tag, address or alias. */
const EXACT = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;
/** A registry entry has no address in this lockfile (`omit-lockfile-registry-resolved`), or this one. */
const REGISTRY = 'https://registry.npmjs.org/';

/**
 * @typedef {{ name?: string, version?: string, resolved?: string, integrity?: string, link?: boolean, dev?: boolean, optional?: boolean, os?: string | string[] }} Entry
 * @typedef {{ lockfileVersion?: number, packages?: Record<string, Entry> }} Lockfile
 * @typedef {Record<string, unknown>} Manifest
 */

/**
 * One line for each problem.
 * @param {Lockfile} lockfile
 * @param {Manifest} manifest
 * @returns {string[]}
 */
export function problemsOf(lockfile, manifest) {
  const problems = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((field) =>
    Object.entries(Object(manifest[field])).flatMap(([name, version]) =>
      EXACT.test(String(version))
        ? []
        : [`package.json: ${name}: "${String(version)}" is not an exact version`],
    ),
  );
  if (lockfile.lockfileVersion !== 3) problems.push('package-lock.json: lockfileVersion is not 3');
  const entries = Object.entries(lockfile.packages ?? {}).filter(([place]) => place !== '');
  if (entries.length === 0) problems.push('package-lock.json: it names no packages');
  for (const [place, entry] of entries)
    problems.push(
      ...problemsOfEntry(place, entry).map((problem) => `package-lock.json: ${place}: ${problem}`),
    );
  return problems;
}

/**
 * @param {string} place
 * @param {Entry} entry
 * @returns {string[]}
 */
function problemsOfEntry(place, entry) {
  const problems = [];
  const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
  if (!place.startsWith('node_modules/') || entry.link === true)
    problems.push('is a folder, not a package of the registry');
  if (entry.name !== undefined && entry.name !== name)
    problems.push(`installs another package, ${entry.name}`);
  if (entry.resolved !== undefined && !entry.resolved.startsWith(REGISTRY))
    problems.push(`comes from ${entry.resolved}, not from the registry`);
  if (!EXACT.test(entry.version ?? '')) problems.push('has no exact version');
  if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity ?? '')) {
    if (entry.integrity !== undefined || !WITHOUT_DIGEST.includes(name))
      problems.push('has no sha512 digest');
    else if (entry.dev !== true || entry.optional !== true)
      problems.push('has no digest, and is more than an optional part of a development tool');
  }
  return problems;
}

/** @param {string} name */
const read = (name) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const problems = FOLDERS.flatMap((folder) =>
    problemsOf(read(`${folder}package-lock.json`), read(`${folder}package.json`)).map(
      (problem) => folder + problem,
    ),
  );
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
