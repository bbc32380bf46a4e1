/**
 * Builds the plug-ins of this folder into `dist/plugins/<name>`, each with its packages in one file: `npm run build:plugins`.
 * An installed plug-in needs nothing else.
 */
import { copyFile, mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';

const FOLDER = import.meta.dirname;
const MANIFEST = 'parley.plugin.json';
/** Packages that are no ES modules ask for Node's own with `require`. */
const REQUIRE =
  "import { createRequire as createRequireOfNode } from 'node:module'; const require = createRequireOfNode(import.meta.url);";

/** Builds one into `target`. Rejects with esbuild's `BuildFailure`. */
export async function buildPlugin(name: string, target: string): Promise<void> {
  const { build } = await import('esbuild');
  await mkdir(target, { recursive: true });
  await build({
    absWorkingDir: FOLDER,
    entryPoints: [path.join(FOLDER, name, 'main.ts')],
    outfile: path.join(target, 'main.js'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Whoever adds it can read what it does.
    minify: false,
    banner: { js: REQUIRE },
    logLevel: 'silent',
  });
  await copyFile(path.join(FOLDER, name, MANIFEST), path.join(target, MANIFEST));
}

if (import.meta.main) {
  const entries = await readdir(FOLDER, { withFileTypes: true });
  for (const entry of entries.filter((one) => one.isDirectory()))
    await buildPlugin(entry.name, path.join(FOLDER, '../dist/plugins', entry.name));
}
