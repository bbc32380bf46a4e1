/** One run of a program inside bubblewrap, from its start to its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { Writable } from 'node:stream';
import { ToolError } from '../../protocol/errors.ts';
import { limitedCommand, sandboxOptions } from './sandbox-command.ts';
import { isFiltered, seccompProgram } from './sandbox-filter.ts';
import { openRunGroup, type RunGroup } from './sandbox-group.ts';
import { followSandbox, STATUS_FD } from './sandbox-kill.ts';

import { roomFor, type RunLimits, tooMuchMemory, watchRun } from './sandbox-watch.ts';

/** Most bytes kept of a program's output: half from its beginning, half from its end. */
export const MAX_KEPT_BYTES = 64 * 1024;

/** A program that prints more bytes than this is ended. */
export const MAX_PRINTED_BYTES = 10 * 1024 * 1024;

interface KeptOutput {
  /** Takes the next bytes; false once more than `MAX_PRINTED_BYTES` have arrived. */
  add(chunk: Buffer): boolean;
  /** What was kept, with a marker that says how much is missing in between. */
  text(): string;
}

/** What to run. */
export interface ShutInRequest {
  /** Absolute path of the only folder the program sees and may change; it is /work inside. */
  workspace: string;
  argv: readonly string[];
  timeoutMs: number;
  signal: AbortSignal;
}

export interface SandboxRun {
  /** Both streams as they arrived, head and tail; invalid UTF-8 is replaced. */
  output: string;
  /** How it ended: `exit 0`, or why it was ended. */
  ending: string;
  /** True when it ended on its own with status 0. */
  ok: boolean;
}

/** What confines runs. */
export interface Shell {
  /** The program bubblewrap. */
  bwrap: string;
  /** The folder in which the control groups of runs are created, if there are any. */
  groups: string | undefined;
}

/** Where bwrap reads its options and the filter of system calls; both are closed before the program starts. */
const OPTIONS_FD = 4;
const FILTER_FD = 5;

/**
 * Runs it and waits for its end. Ending the first process of the sandbox ends all others, no matter what they detached
 * from. Throws `ToolError('unavailable')` when the workspace cannot be read.
 */
export async function runShutIn(
  { bwrap, groups }: Shell,
  request: ShutInRequest,
  limits: RunLimits,
): Promise<SandboxRun> {
  const room = await roomFor(request.workspace, limits).catch((cause: unknown) => {
    throw new ToolError('unavailable', 'The workspace cannot be read: check GATEWAY_HOME.', { cause });
  });
  const group = await openRunGroup(groups, limits.memoryBytes);
  const child = await start(bwrap, request, group);
  const { kill, firstPid } = followSandbox(child);
  const over = new AbortController();
  const kept = keepOutput();
  let ended: string | undefined;
  const end = (why: string): void => {
    ended ??= `ended: ${why}`;
    kill();
  };
  const take = (chunk: Buffer): void => {
    if (!kept.add(chunk)) end(`it printed more than ${MAX_PRINTED_BYTES} bytes`);
  };
  const stop = (): void => end('it was stopped');
  const timer = setTimeout(() => end(`it ran longer than ${request.timeoutMs / 1_000} s`), request.timeoutMs);
  request.signal.addEventListener('abort', stop, { once: true });
  if (request.signal.aborted) stop();
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  child.once('error', (error) => (ended ??= `not started: ${error.message}`));
  const watching = firstPid
    .then((pid) => watchRun({ firstPid: pid, workspace: request.workspace, over: over.signal }, room, limits))
    .then((why) => why !== undefined && !over.signal.aborted && end(why))
    .catch((error: unknown) => end(`it cannot be watched: ${error instanceof Error ? error.message : ''}`));
  const closed = Promise.withResolvers<string>();
  child.once('close', (code, signal) =>
    closed.resolve(code === null ? `ended by ${signal}` : `exit ${code}`),
  );
  const byItself = await closed.promise;
  clearTimeout(timer);
  request.signal.removeEventListener('abort', stop);
  over.abort();
  await watching;
  if ((await group?.wasOutOfMemory()) === true) ended ??= `ended: ${tooMuchMemory(limits)}`;
  await group?.close();
  return { output: kept.text(), ending: ended ?? byItself, ok: ended === undefined && byItself === 'exit 0' };
}

/** The outer environment and command line reveal nothing: bwrap's own are readable inside, at /proc/1. */
async function start(
  bwrap: string,
  { workspace, argv }: ShutInRequest,
  group: RunGroup | undefined,
): Promise<ChildProcess> {
  if (!isFiltered(process.arch)) throw new ToolError('unavailable', 'No filter fits this processor.');
  const descriptors = { '--json-status-fd': STATUS_FD, '--args': OPTIONS_FD, '--seccomp': FILTER_FD };
  const options = Object.entries(descriptors).flatMap(([name, fd]) => [name, String(fd)]);
  const child = spawn(bwrap, [...options, '--', ...limitedCommand(argv)], {
    env: {},
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  // bwrap starts nothing before it has read its options, so the whole run is in the group.
  if (child.pid !== undefined) await group?.add(child.pid);
  give(
    child,
    OPTIONS_FD,
    sandboxOptions(workspace)
      .map((option) => `${option}\0`)
      .join(''),
  );
  give(child, FILTER_FD, seccompProgram(process.arch));
  return child;
}

function give(child: ChildProcess, fd: number, bytes: string | Buffer): void {
  const stream: unknown = child.stdio[fd];
  if (!(stream instanceof Writable)) return;
  // If bwrap ends before it reads, its exit reports that.
  stream.on('error', () => undefined);
  stream.end(bytes);
}

export function keepOutput(): KeptOutput {
  const half = MAX_KEPT_BYTES / 2;
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let printed = 0;
  return {
    add(chunk) {
      printed += chunk.length;
      const room = half - head.length;
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
      const rest = chunk.subarray(Math.max(room, 0));
      if (rest.length > 0) tail = Buffer.from(Buffer.concat([tail, rest]).subarray(-half));
      return printed <= MAX_PRINTED_BYTES;
    },
    text() {
      const missing = printed - head.length - tail.length;
      if (missing === 0) return Buffer.concat([head, tail]).toString('utf8');
      return `${head.toString('utf8')}\n[… ${missing} bytes left out …]\n${tail.toString('utf8')}`;
    },
  };
}
