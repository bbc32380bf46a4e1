#!/usr/bin/env node
// Starts Parley on this machine's own Node.js if that is new enough, else on the one that came with the
// packages. Runs on any old Node.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import * as nodeModule from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The oldest Node.js with the security releases of March 2026; package.json says the same in "engines". */
const WANTED = '24.14.1';
const LAUNCHER = fileURLToPath(import.meta.url);
const ROOT = path.resolve(LAUNCHER, '../..');
/** The file of the Node.js among the packages; on machines for which none is current, there is none. */
const packaged = packagedNode();

const machines = isPackaged(process.execPath) ? nodeOfNpm() : undefined;
if (machines !== undefined) {
  await runOn(machines);
} else if (isNewEnough(process.versions.node)) {
  await runHere();
} else if (packaged !== undefined) {
  await runOn(packaged);
} else {
  process.stderr.write(
    `Parley needs Node.js ${WANTED} or newer (this is ${process.versions.node}), and none came with the packages for ` +
      `${process.platform}-${process.arch}. Install Node.js ${WANTED} or newer from https://nodejs.org, then start Parley again.\n`,
  );
  process.exit(1);
}

/** Runs the program in this process. */
async function runHere() {
  const { closeInherited } = await import('./launch/inherited.js');
  closeInherited();
  const { compileCacheFolder } = await import('./launch/compile-cache.js');
  const { homeOf } = await import('./launch/default-home.js');
  const folder = compileCacheFolder(path.join(ROOT, 'node_modules'), homeOf(process.env));
  if (folder !== undefined) nodeModule.enableCompileCache?.(folder);
  // Every text begins commands with it, so it is set before anything else is loaded.
  const { commandOfProcess } = await import('./launch/command-here.js');
  process.env['PARLEY_COMMAND'] = commandOfProcess(LAUNCHER, process.env);
  const { programFile } = await import('./launch/build.js');
  // Only a start waits for a build. Workers (`WORKER_NUMBER` of worker.ts) run what their supervisor has built.
  const mayBuild = process.argv[2] === 'start' && process.env['PARLEY_WORKER'] === undefined;
  /** @param {string} line */
  const say = (line) => void process.stderr.write(`${line}\n`);
  const file = await programFile(ROOT, mayBuild, say);
  if (file === undefined) process.exit(1);
  // Errors name the lines of the sources.
  process.setSourceMapsEnabled(true);
  /** @type {typeof import('./cli.ts')} */
  const { main } = await import(pathToFileURL(file).href);
  await main(process.argv.slice(2));
}

/** As npm places it: below this package, or next to it where this is a package itself. */
function packagedNode() {
  const windows = process.platform === 'win32';
  const name = `node-${windows ? 'win' : process.platform}-${process.arch}`;
  const folders = nodeModule.createRequire(import.meta.url).resolve.paths(name) ?? [];
  return folders
    .map((folder) => path.join(folder, name, windows ? 'bin/node.exe' : 'bin/node'))
    .find((file) => existsSync(file));
}

/** @param {string} version */
function isNewEnough(version) {
  const [has, wants] = [version, WANTED].map((text) =>
    text.split('.').map((part) => Number.parseInt(part, 10)),
  );
  const [major = 0, minor = 0, patch = 0] = has ?? [];
  const [wantedMajor = 0, wantedMinor = 0, wantedPatch = 0] = wants ?? [];
  if (major !== wantedMajor) return major > wantedMajor;
  return minor === wantedMinor ? patch >= wantedPatch : minor > wantedMinor;
}

/**
 * True for the Node.js among the packages: npm puts it first in the PATH of its scripts.
 * @param {string} file
 */
function isPackaged(file) {
  return packaged !== undefined && existsSync(file) && realpathSync(file) === realpathSync(packaged);
}

/** The Node.js that npm itself runs on, when it is this machine's own and new enough: npm tells both to its scripts. */
function nodeOfNpm() {
  const { npm_node_execpath: file, npm_config_user_agent: agent = '' } = process.env;
  const [, version] = / node\/v(\d+\.\d+\.\d+) /.exec(agent) ?? [];
  if (file === undefined || version === undefined || !isNewEnough(version)) return undefined;
  return existsSync(file) && !isPackaged(file) ? file : undefined;
}

/**
 * Runs this file on another Node.js.
 * @param {string} file
 */
async function runOn(file) {
  const args = [...process.execArgv, LAUNCHER, ...process.argv.slice(2)];
  // Once is enough: whatever starts there decides for itself.
  const { npm_node_execpath: _, ...env } = process.env;
  // If this process can become the other, no second one waits next to it.
  if (process.platform !== 'win32') process.execve?.(file, [file, ...args], env);
  const child = spawn(file, args, { stdio: 'inherit', env });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    // Ctrl-C reaches the child from the terminal already, and a second one would end it at once.
    const fromTerminal = signal === 'SIGINT' && process.stdin.isTTY;
    process.on(signal, () => fromTerminal || child.kill(signal));
  }
  child.on('error', (error) => {
    process.stderr.write(`${file} could not be started: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
}
