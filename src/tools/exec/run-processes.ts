/** What the processes of one run hold, read from /proc: memory, and deleted files that are still on the disk. */
import { readdir, readFile, readlink, stat } from 'node:fs/promises';

/** Bytes of one page of memory; /proc/<pid>/statm counts pages. 4 KiB on x64 and on nearly every arm64. */
const PAGE_BYTES = 4_096;
/** Most processes that are examined: more than a run may have. */
const MAX_SEEN = 512;

/** The first process of a run and all its descendants. Orphans are reparented to the first one, so none is missing. */
export async function processesOf(first: number): Promise<number[]> {
  const found = [first];
  for (let at = 0; at < found.length && found.length < MAX_SEEN; at += 1) {
    const threads = await listed(`/proc/${found[at]}/task`);
    for (const thread of threads) {
      const children = await text(`/proc/${found[at]}/task/${thread}/children`);
      found.push(...children.split(' ').filter(Boolean).map(Number));
    }
  }
  return found;
}

/**
 * Bytes of memory they hold together. Shared memory counts once, unless together they would stay within `enough` even
 * if it counted for each: that is cheaper to determine. `proc` is where processes are described.
 */
export async function memoryOf(pids: readonly number[], enough: number, proc = '/proc'): Promise<number> {
  const resident = await Promise.all(
    pids.map(async (pid) => Number((await text(`${proc}/${pid}/statm`)).split(' ')[1] ?? 0) * PAGE_BYTES),
  );
  const atMost = sum(resident);
  if (atMost <= enough) return atMost;
  return sum(await Promise.all(pids.map((pid, at) => shareOf(`${proc}/${pid}`, resident[at] ?? 0))));
}

/**
 * A process's memory with its share of what others hold as well: all of it when the process hides that, none when it has
 * ended since. Processes that share much often end together.
 */
async function shareOf(place: string, resident: number): Promise<number> {
  const share = unless(GONE, readFile(`${place}/smaps_rollup`, 'utf8'), '').then(
    (shown) => Number(/^Pss:\s+(\d+) kB$/m.exec(shown)?.[1] ?? 0) * 1_024,
  );
  return await unless(HIDDEN, share, resident);
}

/** Bytes on the disk `device` of deleted files they hold open: no walk through the folder finds these. */
export async function unnamedBytesOf(pids: readonly number[], device: number): Promise<number> {
  const seen = new Map<string, number>();
  for (const pid of pids) {
    for (const fd of await listed(`/proc/${pid}/fd`)) {
      const place = `/proc/${pid}/fd/${fd}`;
      if (!(await unlessHidden(readlink(place), '')).endsWith(' (deleted)')) continue;
      const stats = await unlessHidden(stat(place), undefined);
      if (stats?.dev === device && stats.nlink === 0) seen.set(String(stats.ino), stats.blocks * 512);
    }
  }
  return sum([...seen.values()]);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const text = (file: string): Promise<string> => unlessHidden(readFile(file, 'utf8'), '');
const listed = (folder: string): Promise<string[]> => unlessHidden(readdir(folder), []);

/** What is reported of a process that has ended, and of one that runs an unreadable file, which shows little of itself. */
const GONE = ['ENOENT', 'ESRCH'];
const HIDDEN = ['EACCES', 'EPERM'];

/** Processes may end while they are examined, and some show little of themselves. */
function unlessHidden<T, Other>(work: Promise<T>, otherwise: Other): Promise<T | Other> {
  return unless([...GONE, ...HIDDEN], work, otherwise);
}

async function unless<T, Other>(
  codes: readonly string[],
  work: Promise<T>,
  otherwise: Other,
): Promise<T | Other> {
  try {
    return await work;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (codes.includes(code)) return otherwise;
    throw error;
  }
}
