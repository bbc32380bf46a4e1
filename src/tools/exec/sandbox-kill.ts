/** Ends a sandbox, no matter how soon after its start. */
import type { ChildProcess } from 'node:child_process';
import { Readable } from 'node:stream';

/**
 * Where bwrap writes its status: one JSON object per line, the first one with the id of the sandbox's first process.
 */
export const STATUS_FD = 3;
/** How long a kill waits for that id, in milliseconds. */
const STATUS_WITHIN_MS = 2_000;
/** Longest first line of the status that is accepted, in characters. */
const MAX_STATUS_CHARS = 4_096;

/** A running sandbox. */
export interface RunningSandbox {
  /** Resolves with the id of its first process; undefined when bwrap ended before there was one. Never rejects. */
  firstPid: Promise<number | undefined>;
  /** Ends everything in it. */
  kill: () => void;
}

/**
 * Follows a sandbox that was just started. Killing bwrap alone is not enough: a first process that has not yet tied its
 * life to bwrap's would stay forever. So a kill that comes before its id is known waits for the id and ends both.
 */
export function followSandbox(bwrap: ChildProcess): RunningSandbox {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  let firstPid: number | undefined;
  let isKnown = false;
  let isOver = false;
  let isWanted = false;
  let giveUp: NodeJS.Timeout | undefined;

  const killNow = (): void => {
    clearTimeout(giveUp);
    if (isOver) return;
    // While bwrap lives it has not waited for its child, so the id is still that process's own.
    if (firstPid !== undefined) killProcess(firstPid);
    bwrap.kill('SIGKILL');
  };
  const learn = (pid: number | undefined): void => {
    if (isKnown) return;
    isKnown = true;
    firstPid = pid;
    resolve(pid);
    if (isWanted) killNow();
  };

  bwrap.once('exit', () => (isOver = true));
  readFirstLine(bwrap.stdio[STATUS_FD], (line) => learn(childPid(line)));
  const kill = (): void => {
    if (isWanted) return;
    isWanted = true;
    if (isKnown) killNow();
    else giveUp = setTimeout(() => learn(undefined), STATUS_WITHIN_MS);
  };
  return { firstPid: promise, kill };
}

/** Calls `take` once: with the first line of a stream, or with what has arrived when it ends or grows too long. */
function readFirstLine(stream: unknown, take: (line: string) => void): void {
  if (!(stream instanceof Readable)) return take('');
  let text = '';
  let isTaken = false;
  const finish = (): void => {
    if (isTaken) return;
    isTaken = true;
    take(text.split('\n', 1)[0] ?? '');
  };
  stream.setEncoding('utf8');
  stream.on('data', (piece: string) => {
    if (isTaken) return;
    text += piece;
    if (text.includes('\n') || text.length > MAX_STATUS_CHARS) finish();
  });
  stream.once('error', finish);
  stream.once('end', finish);
}

/** The id in a status line; undefined when bwrap ended before there was a process. */
function childPid(line: string): number | undefined {
  const [, pid] = /"child-pid": (\d+)/.exec(line) ?? [];
  return pid === undefined ? undefined : Number(pid);
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It has already ended on its own.
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ESRCH') throw error;
  }
}
