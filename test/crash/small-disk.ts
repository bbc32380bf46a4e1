/** Small disks: in memory, which can be filled to their last byte and freed again, and in a file, of which copies can be made. */
import { execFile, execFileSync } from 'node:child_process';
import { chmod, mkdir, open, rm, stat, statfs, truncate } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Current mounts: a process that is ended early leaves nothing behind. */
const mounted = new Set<string>();
process.on('exit', () => mounted.forEach((folder) => execFileSync('umount', ['--lazy', folder])));

/** Chunk size of a write, in bytes; the last pieces are smaller. */
const PIECE = 1 << 20;
const LAST_PIECE = 1 << 12;
/** The kernel writes back what it holds in memory every few seconds; a copy takes a fraction of one. */
const MOST_COPIES = 50;

/** Creates a disk of limited size in memory, as an empty folder. Needs root. */
export async function mountDisk(folder: string, sizeMb: number): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  await run('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=700`, 'tmpfs', folder]);
  mounted.add(folder);
}

/** Creates a file with an empty file system (ext4). */
export async function makeImage(image: string, sizeMb: number): Promise<void> {
  await (await open(image, 'wx', 0o600)).close();
  await truncate(image, sizeMb * 1024 ** 2);
  // Whole from the start: nothing is written to it later on its own.
  const whole = 'lazy_itable_init=0,lazy_journal_init=0';
  await run('mkfs.ext4', ['-q', '-F', '-E', whole, image]);
}

/** Mounts the file system of an image as a folder, by a loop device. Needs root. */
export async function mountImage(image: string, folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  await run('mount', ['-o', 'loop', image, folder]);
  mounted.add(folder);
  await chmod(folder, 0o700);
}

/** Writes to the image what the kernel still holds in memory for a folder's disk. */
export async function syncDisk(folder: string): Promise<void> {
  await run('sync', ['--file-system', folder]);
}

/** Repairs what a power cut leaves, as a machine does when it starts. Throws when that fails. */
export async function repairImage(image: string): Promise<void> {
  try {
    await run('e2fsck', ['-f', '-y', image]);
  } catch (error) {
    // 1: errors were corrected.
    if (!(error instanceof Error && 'code' in error && error.code === 1)) throw error;
  }
}

/**
 * Copies what has been written to an image so far, all of it as of one moment: again, until nothing was written
 * meanwhile. What the kernel still holds in memory for the file system is not in it.
 */
export async function copyImage(image: string, copy: string): Promise<void> {
  for (let attempt = 0; attempt < MOST_COPIES; attempt += 1) {
    const before = await stat(image, { bigint: true });
    await run('cp', ['--sparse=always', image, copy]);
    const after = await stat(image, { bigint: true });
    if (before.mtimeNs === after.mtimeNs && before.blocks === after.blocks) return;
  }
  throw new Error(`${image} was written during each of ${MOST_COPIES} copies.`);
}

export async function unmountDisk(folder: string): Promise<void> {
  // A process that is just ending may still be in it.
  await run('umount', ['--lazy', folder]);
  mounted.delete(folder);
}

/** Fills the disk of a folder; resolves with a function that frees it. Refuses a disk over a gigabyte: the machine's own. */
export async function fillDisk(folder: string): Promise<() => Promise<void>> {
  const { bsize, blocks } = await statfs(folder);
  if (bsize * blocks > 1 << 30) throw new Error(`${folder} is not on a small disk of its own.`);
  const ballast = path.join(folder, 'ballast');
  const file = await open(ballast, 'w');
  try {
    for (let piece = PIECE; piece >= LAST_PIECE; piece /= 2) await writeAll(file, Buffer.alloc(piece));
  } finally {
    await file.close();
  }
  return () => rm(ballast, { force: true });
}

async function writeAll(file: Awaited<ReturnType<typeof open>>, piece: Buffer): Promise<void> {
  for (;;) {
    try {
      const { bytesWritten } = await file.write(piece);
      if (bytesWritten < piece.length) return;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return;
      throw error;
    }
  }
}
