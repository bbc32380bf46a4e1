/**
 * What a whole run of vitest shares: the built program and page, and one temporary folder. Whatever tests,
 * gateways and browsers leave in the system's temporary folder is in it and deleted with it. It is in memory if there is plenty: a database is a thousand files, and creating and
 * removing them on a disk takes a quarter of the CPU time of the tests.
 */
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from '../../src/launch/build.js';
import { bundleCrashGateway } from './crash-gateway.ts';
import { leftOut, namesFiles } from './order.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MEMORY = '/dev/shm';
/** Bytes that must be free there; a whole run uses less than a quarter. */
const ROOM = 8 * 2 ** 30;

/** Where the folder is created: `TMPDIR` if set. */
function place(): string {
  if (process.env['TMPDIR'] !== undefined) return tmpdir();
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM ? MEMORY : tmpdir();
  } catch {
    // Not on this system.
    return tmpdir();
  }
}

/** Called by vitest before the first test; returns what it calls after the last. */
export default async function setup(): Promise<() => void> {
  const { length } = leftOut();
  if (length > 0) process.stdout.write(`Left out: ${length} long files. All of them: npm run test:nightly\n`);
  const problem = isBuilt(ROOT) ? undefined : await build(ROOT);
  if (problem !== undefined) throw new Error(`npm run build fails: ${problem}`);
  // In a run of a few files, making it takes longer than what starts without it.
  const removeBundle = namesFiles() ? undefined : await bundleCrashGateway();
  const before = process.env['TMPDIR'];
  const folder = mkdtempSync(path.join(place(), 'parley-'));
  // Like the system's own: tests run as root hand programs and Postgres servers to unprivileged users.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  return () => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
    removeBundle?.();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}
