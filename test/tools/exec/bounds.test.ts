/** What a run may use of the machine: memory of all its processes, the disk, shared memory. */
import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { MAX_SHARED_MEMORY_BYTES } from '../../../src/tools/exec/sandbox-run.ts';
import { RUN_LIMITS, type RunLimits } from '../../../src/tools/exec/sandbox-watch.ts';
import { alive, execFixture, makeWorkspace, runIn, sandboxOf } from './as-nobody.ts';
import { needs } from '../../runs/needs.ts';

const MIB = 1024 * 1024;
const fixture = execFixture();

/** Runs a line in a separate workspace. */
async function run(command: string, limits?: Partial<RunLimits>, workspace?: string): Promise<string> {
  const sandbox = sandboxOf(fixture, { limits: { ...RUN_LIMITS, ...limits } });
  return (await runIn(sandbox, workspace ?? (await makeWorkspace(fixture)), { command })).content;
}

async function bytesIn(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map(async (name) => (await stat(path.join(folder, name))).size);
  return (await Promise.all(sizes)).reduce((all, one) => all + one, 0);
}

describe('the memory of a run', needs('bubblewrap'), () => {
  it('ends a run whose programs together exceed the limit, though each is within its own', async () => {
    const hold = `perl -e 'my $x = "x" x ${90 * MIB}; sleep 60' mark-of-memory`;
    const began = performance.now();
    const six = Array.from({ length: 6 }, () => `${hold} &`).join(' ');
    const told = await run(`${six} wait`, { memoryBytes: 512 * MIB });
    expect(told).toContain('ended: its programs together used more than 512 MiB of memory');
    expect(performance.now() - began).toBeLessThan(15_000);
    await expect.poll(() => alive('mark-of-memory')).toEqual([]);
  });

  it('counts memory that processes share once', async () => {
    const forks = `perl -e 'my $x = "x" x ${60 * MIB}; for (1..8) { fork or do { sleep 2; exit } } sleep 2; print "done"'`;
    expect(await run(forks, { memoryBytes: 256 * MIB })).toBe('done\n(exit 0)');
  });

  it('finds the processes that left their parent', async () => {
    const hold = `perl -e 'my $x = "x" x ${150 * MIB}; sleep 60' mark-of-orphan`;
    const told = await run(`(setsid ${hold} & setsid ${hold} &) ; sleep 60`, { memoryBytes: 256 * MIB });
    expect(told).toContain('more than 256 MiB of memory');
    await expect.poll(() => alive('mark-of-orphan')).toEqual([]);
  });

  it(`provides ${MAX_SHARED_MEMORY_BYTES} bytes of /dev/shm, and no other memory-only place`, async () => {
    const fill = (at: string): string =>
      `head -c ${2 * MAX_SHARED_MEMORY_BYTES} /dev/zero > ${at}/fill; stat -c %s ${at}/fill;`;
    const told = await run(`${fill('/dev/shm')} ${fill('/dev')} ${fill('')} ${fill('/usr')}`);
    expect(told.match(/^\d+$/gm)).toEqual([String(MAX_SHARED_MEMORY_BYTES)]);
  });

  it('is the first to be reclaimed when the machine runs out', async () => {
    expect(await run('cat /proc/self/oom_score_adj')).toBe('1000\n(exit 0)');
  });
});

describe('the disk of a run', needs('bubblewrap'), () => {
  const limits = { workspace: { bytes: 8 * MIB, entries: 100 } };

  it('ends a run that fills the workspace beyond its limit', async () => {
    const workspace = await makeWorkspace(fixture);
    const slowly = 'i=0; while :; do head -c 1M /dev/zero > f$i; i=$((i+1)); sleep 0.02; done';
    const told = await run(slowly, limits, workspace);
    expect(told).toContain('ended: the workspace may hold at most 8 MiB: remove something first');
    expect(await bytesIn(workspace)).toBeLessThan(64 * MIB);
  });

  it('ends one that creates too many files', async () => {
    const many = 'i=0; while :; do : > f$i; i=$((i+1)); done';
    expect(await run(many, limits)).toContain('ended: the workspace may hold at most 100 files and folders');
  });

  it('lets a full workspace be emptied, but not grow', async () => {
    const workspace = await makeWorkspace(fixture);
    await writeFile(path.join(workspace, 'old'), Buffer.alloc(10 * MIB));
    expect(await run('head -c 4M /dev/zero > new; sleep 30', limits, workspace)).toContain('ended: the work');
    expect(await run('rm old new; ls -A', limits, workspace)).toBe('\n(exit 0)'.trimStart());
    expect(await run('head -c 4M /dev/zero > new; sleep 0.3; echo fits', limits, workspace)).toContain(
      'fits',
    );
  });

  it('counts deleted files that are still open, and folders without permissions', async () => {
    const unnamed = 'exec 3>gone; rm gone; head -c 20M /dev/zero >&3; sleep 30';
    expect(await run(unnamed, limits)).toContain('ended: the workspace may hold at most 8 MiB');
    const shut = 'mkdir d; cd d; head -c 20M /dev/zero > f; chmod 000 .; sleep 30';
    expect(await run(shut, limits)).toContain('ended: the workspace may hold at most 8 MiB');
  });

  it('keeps a reserve of disk space, whoever fills the disk', async () => {
    const told = await run('sleep 30', { freeDiskBytes: Number.MAX_SAFE_INTEGER });
    expect(told).toContain('ended: the disk of the workspace has less than');
  });

  it('must be readable, or nothing runs; a workspace without permissions is opened again', async () => {
    await expect(run('true', undefined, path.join(fixture.home, 'missing'))).rejects.toThrow('GATEWAY_HOME');
    const shut = await makeWorkspace(fixture);
    await mkdir(path.join(shut, 'kept'));
    await chmod(shut, 0o000);
    expect(await run('ls', undefined, shut)).toContain('kept');
  });
});
