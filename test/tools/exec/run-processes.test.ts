/** The memory of a run as /proc describes its processes, also while they end. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { memoryOf } from '../../../src/tools/exec/sandbox-watch.ts';

const MIB = 1024 * 1024;

/** Describes processes of 100 MiB each; `shares` has what their shares are, with undefined for one that ends before that is read. */
async function described(shares: readonly (number | undefined)[]): Promise<string> {
  const proc = await mkdtemp(path.join(tmpdir(), 'parley-proc-'));
  onTestFinished(() => rm(proc, { recursive: true }));
  for (const [at, share] of shares.entries()) {
    const place = path.join(proc, String(at + 1));
    await mkdir(place);
    await writeFile(path.join(place, 'statm'), `30000 ${(100 * MIB) / 4096} 0 0 0 0 0\n`);
    if (share !== undefined)
      await writeFile(path.join(place, 'smaps_rollup'), share === 0 ? '' : `Rss: 1 kB\nPss: ${share} kB\n`);
  }
  return proc;
}

it('is what each process has resident, while that is within the limit', async () => {
  expect(await memoryOf([1, 2], 200 * MIB, await described([1, 1]))).toBe(200 * MIB);
});

it('counts what processes share once, when it would be beyond', async () => {
  const proc = await described([50 * 1024, 60 * 1024]);
  expect(await memoryOf([1, 2], 199 * MIB, proc)).toBe(110 * MIB);
});

it('counts nothing for a process that ends while it is looked at', async () => {
  const proc = await described([50 * 1024, undefined, 0, undefined]);
  expect(await memoryOf([1, 2, 3, 4], 128 * MIB, proc)).toBe(50 * MIB);
});
