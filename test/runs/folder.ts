/**
 * One temporary folder for a whole run of vitest: whatever tests, gateways and browsers leave in the system's temporary
 * folder lies in it and goes with it. It is in memory where there is plenty: a database is a thousand files, and making and
 * removing them on a disk takes a quarter of the processor time of tests.
 */
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { leftOut } from './order.ts';

const MEMORY = '/dev/shm';
/** Bytes that must be free there; a whole run takes less than a quarter. */
const ROOM = 8 * 2 ** 30;

/** Where the folder is made: `TMPDIR` where that is set. */
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

/** Called by vitest before the first test; gives what it calls after the last. */
export default function setup(): () => void {
  const { length } = leftOut();
  if (length > 0)
    process.stdout.write(
      `Left out: ${length} files that repeat kills, campaigns and corpora. All of them: CI=true npm test\n`,
    );
  const before = process.env['TMPDIR'];
  const folder = mkdtempSync(path.join(place(), 'parley-'));
  // As the system's own: tests as root give programs and Postgres servers to users without rights.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  return () => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}
