/**
 * One temporary folder for a whole run of vitest: whatever tests, gateways and browsers leave in the system's temporary
 * folder lies in it and goes with it.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Called by vitest before the first test; gives what it calls after the last. */
export default function setup(): () => void {
  const before = process.env['TMPDIR'];
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-'));
  // As the system's own: tests as root give programs and Postgres servers to users without rights.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  return () => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}
