#!/usr/bin/env node
// Starts Parley on this machine's own Node.js if that is new enough, else on the one that came with the
// packages. Runs on any old Node.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync, rmSync } from 'node:fs';
import * as nodeModule from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The oldest Node.js with the security releases of March 2026; package.json says the same in "engines". */
const WANTED = '24.14.1';
const PACKAGES = fileURLToPath(new URL('../node_modules', import.meta.url));
/** The file of the Node.js among the packages; on machines for which none is current, there is none. */
const packaged = path.join(
  PACKAGES,
  `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`,
  process.platform === 'win32' ? 'bin/node.exe' : 'bin/node',
);

const machines = isPackaged(process.execPath) ? nodeOfNpm() : undefined;
if (machines !== undefined) {
  await runOn(machines);
} else if (isNewEnough(process.versions.node)) {
  const { compileCacheFolder } = await import('./ops/compile-cache.js');
  const folder = compileCacheFolder(PACKAGES, process.env['GATEWAY_HOME'] || './.parley');
  if (folder !== undefined) nodeModule.enableCompileCache?.(folder);
  // Every text begins commands with it, so it is set before anything else is loaded.
  const { commandOfProcess } = await import('./ops/command-here.js');
  process.env['PARLEY_COMMAND'] = commandOfProcess(fileURLToPath(import.meta.url), process.env);
  const { startupBundle } = await import('./ops/startup-bundle.js');
  const bundle = startupBundle(path.dirname(PACKAGES), folder);
  const { main } = await programOf(bundle);
  await main(process.argv.slice(2));
  if (process.argv[2] === 'start' && process.exitCode === undefined) makeForNextTime(bundle);
} else if (existsSync(packaged)) {
  await runOn(packaged);
} else {
  process.stderr.write(
    `Parley needs Node.js ${WANTED} or newer (this is ${process.versions.node}), and none came with the packages for ` +
      `${process.platform}-${process.arch}. Install Node.js ${WANTED} or newer from https://nodejs.org, then run npm ci and npm start again.\n`,
  );
  process.exit(1);
}

/**
 * The program from its bundle, or from its sources when there is none or it is damaged.
 * @param {import('./ops/startup-bundle.js').StartupBundle | undefined} bundle
 * @returns {Promise<typeof import('./cli.ts')>}
 */
async function programOf(bundle) {
  if (bundle?.isThere !== true) return await import('./cli.ts');
  // Errors name the lines of the sources.
  process.setSourceMapsEnabled(true);
  try {
    return await import(pathToFileURL(bundle.file).href);
  } catch (error) {
    // What is wrong with the program itself, the sources say, too. The next start makes the bundle again.
    rmSync(bundle.folder, { recursive: true, force: true });
    process.stderr.write(
      `The bundle in ${bundle.folder} cannot be read and was removed (${String(error)}).\n`,
    );
    return await import('./cli.ts');
  }
}

/**
 * The gateway is ready: the next start can be faster. Of several workers, the first one makes the bundle for all; the
 * variable is `WORKER_NUMBER` of worker.ts, which no plain JavaScript may load.
 * @param {import('./ops/startup-bundle.js').StartupBundle | undefined} bundle
 */
function makeForNextTime(bundle) {
  if (bundle === undefined || bundle.isThere || (process.env['PARLEY_WORKER'] ?? '1') !== '1') return;
  const program = fileURLToPath(new URL('ops/build-startup-bundle.js', import.meta.url));
  const args = [program, path.dirname(PACKAGES), 'src/cli.ts', bundle.folder];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  child.on('error', (error) => process.stderr.write(`The start will not be faster: ${error.message}\n`));
  child.unref();
  process.on('exit', () => child.kill());
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
 * True for a Node.js among the packages: npm puts it first in the PATH of its scripts.
 * @param {string} file
 */
function isPackaged(file) {
  if (!existsSync(file) || !existsSync(PACKAGES)) return false;
  return realpathSync(file).startsWith(realpathSync(PACKAGES) + path.sep);
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
  const args = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
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
