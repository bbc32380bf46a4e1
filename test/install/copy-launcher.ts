/** The launcher on its own, for tests that have a program of theirs behind it. */
import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url));
/** All that runs before the program, below `src`, and what makes the bundle for the next start. */
const FILES = [
  'launch.js',
  'ops/build-startup-bundle.js',
  'ops/command-here.js',
  'ops/compile-cache.js',
  'ops/startup-bundle.js',
];

/** Copies it to `root`, where `src/cli.ts` is still missing. */
export function copyLauncher(root: string): void {
  for (const file of FILES) {
    const copy = path.join(root, 'src', file);
    mkdirSync(path.dirname(copy), { recursive: true });
    copyFileSync(path.join(SOURCES, file), copy);
  }
}
