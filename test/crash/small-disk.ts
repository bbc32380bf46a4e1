/** Small disks in memory, which can be filled to their last byte and freed again. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdir, open, rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Current mounts: a process that is ended early leaves nothing behind. */
const mounted = new Set<string>();
process.on('exit', () => mounted.forEach((folder) => execFileSync('umount', ['--lazy', folder])));

/** Chunk size of a write, in bytes; the last pieces are smaller. */
const PIECE = 1 << 20;
const LAST_PIECE = 1 << 12;

/** Creates a disk of limited size in memory, as an empty folder. Needs root. */
export async function mountDisk(folder: string, sizeMb: number): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  await run('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=700`, 'tmpfs', folder]);
  mounted.add(folder);
}

export async function unmountDisk(folder: string): Promise<void> {
  await run('umount', [folder]);
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
