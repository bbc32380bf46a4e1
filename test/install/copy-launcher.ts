/** The launcher on its own, for tests that have a program of theirs behind it. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url));

/** Copies all that runs before the program to `root`, and builds it with this text of its module. */
export function copyLauncher(root: string, program: string): void {
  for (const name of ['launch.js', 'launch'])
    cpSync(path.join(SOURCES, name), path.join(root, 'src', name), { recursive: true });
  mkdirSync(path.join(root, 'dist'), { recursive: true });
  writeFileSync(path.join(root, 'dist/cli.js'), program);
  writeFileSync(path.join(root, 'dist/stamp.json'), JSON.stringify({ files: { 'cli.js': program.length } }));
}
