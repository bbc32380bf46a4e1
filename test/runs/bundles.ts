/** Bundles of the programs that tests start, as every start of a gateway but the first one begins with one. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildStartupBundle } from '../../src/ops/build-startup-bundle.js';
import { compileCacheFolder } from '../../src/ops/compile-cache.js';
import { startupBundle } from '../../src/ops/startup-bundle.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The module that a program begins with, and the folders of its sources if they are not those of Parley itself. */
interface Program {
  entry: string;
  sources?: readonly string[];
}

/** What `src/launch.js` starts. */
export const PARLEY: Program = { entry: 'src/cli.ts' };
/** The gateway of the crash tests. */
export const CRASH_GATEWAY: Program = {
  entry: 'test/crash/gateway-process.ts',
  sources: ['src', 'channels', 'test/crash', 'test/fakes'],
};

/** The file to run: of the bundle if there is one of these sources, else of the sources themselves. */
export function fileOf(program: Program): string {
  const bundle = bundleOf(program);
  return bundle?.isThere === true ? bundle.file : path.join(ROOT, program.entry);
}

/** Makes the bundle of a program unless it is there; false where others can write to the folder of the packages: none is made then. */
export async function makeBundle(program: Program): Promise<boolean> {
  const bundle = bundleOf(program);
  if (bundle === undefined) return false;
  await buildStartupBundle(ROOT, program.entry, bundle.folder);
  return true;
}

function bundleOf(program: Program): ReturnType<typeof startupBundle> {
  return startupBundle(ROOT, compileCacheFolder(path.join(ROOT, 'node_modules'), ROOT), program);
}
