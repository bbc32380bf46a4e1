/** Bundles of the programs that tests start, as every start of a gateway but the first one begins with one. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildStartupBundle } from '../../src/ops/build-startup-bundle.js';
import { compileCacheFolder } from '../../src/ops/compile-cache.js';
import { startupBundle } from '../../src/ops/startup-bundle.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The program that `src/launch.js` starts. */
export const PARLEY_ENTRY = 'src/cli.ts';
/** The gateway of the crash tests. */
export const CRASH_ENTRY = 'test/crash/gateway-process.ts';

/** What decides about the content of a bundle; `src/launch.js` looks for that of the first one by the same. */
const SOURCES: Record<string, readonly string[] | undefined> = {
  [PARLEY_ENTRY]: undefined,
  [CRASH_ENTRY]: ['src', 'channels', 'test/crash', 'test/fakes'],
};

/** The file to run: of the bundle if there is one of these sources, else of the sources themselves. */
export function programOf(entry: string): string {
  const bundle = bundleOf(entry);
  return bundle?.isThere === true ? bundle.file : path.join(ROOT, entry);
}

/** Makes the bundle of an entry unless it is there; none where others can write to the folder of the packages. */
export async function makeBundle(entry: string): Promise<void> {
  const bundle = bundleOf(entry);
  if (bundle !== undefined) await buildStartupBundle(ROOT, entry, bundle.folder);
}

function bundleOf(entry: string): ReturnType<typeof startupBundle> {
  const sources = SOURCES[entry];
  const cache = compileCacheFolder(path.join(ROOT, 'node_modules'), ROOT);
  return startupBundle(ROOT, cache, { entry, ...(sources && { sources }) });
}
