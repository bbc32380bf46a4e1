/** The gateway of the crash tests as a few files, as `dist/` has Parley itself: tests start it hundreds of times. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../../src/bundle.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCE = 'test/crash/gateway-process.ts';
/** Where the processes of a run find it. */
const VARIABLE = 'PARLEY_CRASH_GATEWAY';

/** What to start: the bundle of this run, or the sources in a run of a few files, for which none is made. */
export function crashGateway(): string {
  return process.env[VARIABLE] ?? path.join(ROOT, SOURCE);
}

/** Makes it for this process and those that it starts; returns what removes it. Rejects like `bundleProgram`. */
export async function bundleCrashGateway(): Promise<() => void> {
  // Below the packages' folder, where its imports find them.
  mkdirSync(path.join(ROOT, 'test/.tmp'), { recursive: true });
  const folder = mkdtempSync(path.join(ROOT, 'test/.tmp/crash-gateway-'));
  const files = await bundleProgram(ROOT, SOURCE, path.relative(ROOT, folder));
  for (const [name, content] of files) writeFileSync(path.join(folder, name), content);
  process.env[VARIABLE] = path.join(folder, 'gateway-process.js');
  return () => rmSync(folder, { recursive: true, force: true });
}
