/** One run of a program inside bubblewrap, from its start to its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { errorCode, ToolError } from '../../protocol/errors.ts';
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { isFiltered, seccompProgram } from './sandbox-filter.ts';
import { MAX_PROCESSES, openRunGroup, type RunGroup } from './sandbox-group.ts';

import { roomFor, type RunLimits, tooMuchMemory, watchRun } from './sandbox-watch.ts';

/** Address space of each process, in bytes. */
const MAX_ADDRESS_SPACE_BYTES = 1024 * 1024 * 1024;
/** Largest file a process writes, and the size of the private /tmp, in bytes. */
export const MAX_SANDBOX_FILE_BYTES = 64 * 1024 * 1024;
/** Size of the private /dev/shm, in bytes; apart from its devices, nothing else below /dev is writable. */
export const MAX_SHARED_MEMORY_BYTES = 16 * 1024 * 1024;
/** CPU seconds of each process. */
const MAX_CPU_SECONDS = 60;
/** Open files of each process. */
const MAX_OPEN_FILES = 256;

/** What every run has in common: everything unshared, an environment of three harmless names, its own /proc and /dev. */
const SHUT = [
  '--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --clearenv --cap-drop ALL --hostname sandbox',
  '--setenv PATH /usr/local/bin:/usr/bin:/bin --setenv HOME /tmp --setenv LANG C.UTF-8',
  `--proc /proc --dev /dev --size ${MAX_SHARED_MEMORY_BYTES} --tmpfs /dev/shm --remount-ro /dev`,
].flatMap((line) => line.split(' '));

/** Where programs and their libraries are; the rest of /usr, such as /usr/src and /usr/local/src, is not shown. */
const PROGRAM_FOLDERS = ['/usr', '/usr/local'].flatMap((parent) =>
  ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libexec', 'include', 'share'].map((name) => `${parent}/${name}`),
);

/** Top-level names that are links into /usr on most systems, and separate folders on others. */
const SYSTEM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'];

/** The few parts of /etc that programs need to find their libraries; read-only. */
const SYSTEM_FILES = ['/etc/alternatives', '/etc/ld.so.cache'];

/** Where bwrap writes its status: one JSON object a line, the first with the id of the sandbox's first process. */
const STATUS_FD = 3;
/** How long a kill waits for that id, in milliseconds. */
const STATUS_WITHIN_MS = 2_000;
/** Longest first line of the status that is accepted, in characters. */
const MAX_STATUS_CHARS = 4_096;

/** Most bytes kept of a program's output: half from its beginning, half from its end. */
export const MAX_KEPT_BYTES = 64 * 1024;

/** A program that prints more bytes than this is ended. */
export const MAX_PRINTED_BYTES = 10 * 1024 * 1024;

/** What to run. */
export interface ShutInRequest {
  /** Absolute path of the only folder the program sees and may change; it is /work inside. */
  workspace: string;
  /** Absolute path of the skills, read-only; they are /skills inside. */
  skills?: string | undefined;
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

/** Where bwrap reads its options and the filter of system calls; both are closed before the program starts. */
const OPTIONS_FD = 4;
const FILTER_FD = 5;

/**
 * Runs it and waits for its end. Ending the sandbox's first process ends all others, whatever they detached from.
 * `bwrap` is the program bubblewrap, `groups` the folder for control groups of runs. Throws `ToolError('unavailable')`
 * when the workspace cannot be read.
 */
export async function runShutIn(
  bwrap: string,
  groups: string | undefined,
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
  const output = keepOutput();
  let forcedEnding: string | undefined;
  const end = (reason: string): void => {
    forcedEnding ??= `ended: ${reason}`;
    kill();
  };
  const take = (chunk: Buffer): void => {
    if (!output.add(chunk)) end(`it printed more than ${MAX_PRINTED_BYTES} bytes`);
  };
  const stop = (): void => end('it was stopped');
  const timer = setTimeout(() => end(`it ran longer than ${request.timeoutMs / 1_000} s`), request.timeoutMs);
  request.signal.addEventListener('abort', stop, { once: true });
  if (request.signal.aborted) stop();
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  child.once('error', (error) => (forcedEnding ??= `not started: ${error.message}`));
  const watching = firstPid
    .then((pid) => (pid === undefined ? pid : watchRun(pid, request.workspace, room, limits, over.signal)))
    .then((reason) => reason !== undefined && !over.signal.aborted && end(reason))
    .catch((error: unknown) => end(`it cannot be watched: ${error instanceof Error ? error.message : ''}`));
  const exitStatus = Promise.withResolvers<string>();
  child.once('close', (code, signal) =>
    exitStatus.resolve(code === null ? `ended by ${signal}` : `exit ${code}`),
  );
  const exit = await exitStatus.promise;
  clearTimeout(timer);
  request.signal.removeEventListener('abort', stop);
  over.abort();
  await watching;
  if ((await group?.wasOutOfMemory()) === true) forcedEnding ??= `ended: ${tooMuchMemory(limits)}`;
  await group?.close();
  const ending = forcedEnding ?? exit;
  return { output: output.text(), ending, ok: ending === 'exit 0' };
}

/** The outer environment and command line reveal nothing: bwrap's own are readable inside, at /proc/1. */
async function start(
  bwrap: string,
  { workspace, skills, argv }: ShutInRequest,
  group: RunGroup | undefined,
): Promise<ChildProcess> {
  if (!isFiltered(process.arch))
    throw new ToolError('unavailable', 'No seccomp filter is available for this CPU.');
  const descriptors = { '--json-status-fd': STATUS_FD, '--args': OPTIONS_FD, '--seccomp': FILTER_FD };
  const options = Object.entries(descriptors).flatMap(([name, fd]) => [name, String(fd)]);
  const child = spawn(bwrap, [...options, '--', ...limitedCommand(argv)], {
    env: {},
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  // bwrap starts nothing before it has read its options, so the whole run is in the group.
  if (child.pid !== undefined) await group?.add(child.pid);
  const insideOptions = sandboxOptions(workspace, skills).map((option) => `${option}\0`);
  writeTo(child, OPTIONS_FD, insideOptions.join(''));
  writeTo(child, FILTER_FD, seccompProgram(process.arch));
  return child;
}

function writeTo(child: ChildProcess, fd: number, bytes: string | Buffer): void {
  const stream: unknown = child.stdio[fd];
  if (!(stream instanceof Writable)) return;
  // If bwrap ends before it reads, its exit reports that.
  stream.on('error', () => undefined);
  stream.end(bytes);
}

/** Keeps the head and the tail of what a program prints. */
export function keepOutput() {
  const half = MAX_KEPT_BYTES / 2;
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let printed = 0;
  return {
    /** Takes the next bytes; false once more than `MAX_PRINTED_BYTES` have arrived. */
    add(chunk: Buffer): boolean {
      printed += chunk.length;
      const room = half - head.length;
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
      const rest = chunk.subarray(Math.max(room, 0));
      if (rest.length > 0) tail = Buffer.from(Buffer.concat([tail, rest]).subarray(-half));
      return printed <= MAX_PRINTED_BYTES;
    },
    /** What was kept, with a marker that says how much is missing in between. */
    text(): string {
      const missing = printed - head.length - tail.length;
      if (missing === 0) return Buffer.concat([head, tail]).toString('utf8');
      return `${head.toString('utf8')}\n[… ${missing} bytes left out …]\n${tail.toString('utf8')}`;
    },
  };
}

/**
 * Follows a new sandbox. Killing bwrap is not enough: a first process that has not yet tied its life to bwrap's would
 * stay forever, so a kill waits for its id and ends both. `firstPid` is undefined when bwrap ended before there was a
 * process, and never rejects.
 */
function followSandbox(bwrap: ChildProcess) {
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
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/**
 * Options for bwrap (0.8 or newer), without a command: `workspace` as /work, this machine's programs read-only, and
 * nothing else: no network, other process, environment, capabilities or new user namespace. Pass them with `--args`:
 * bwrap's own command line is readable inside as /proc/1/cmdline.
 */
function sandboxOptions(workspace: string, skills: string | undefined): string[] {
  return [
    ...SHUT,
    ...[...PROGRAM_FOLDERS, ...SYSTEM_FOLDERS].flatMap(programFolder),
    ...SYSTEM_FILES.flatMap((file) => ['--ro-bind-try', file, file]),
    ...`--size ${MAX_SANDBOX_FILE_BYTES} --tmpfs /tmp`.split(' '),
    ...(skills === undefined ? [] : ['--ro-bind-try', skills, '/skills']),
    '--bind',
    workspace,
    ...'/work --chdir /work --remount-ro /'.split(' '),
  ];
}

/** `argv` with the limits of each process. The kernel kills programs of the sandbox first when memory runs short. */
function limitedCommand(argv: readonly string[]): string[] {
  return [
    ...'/usr/bin/choom --adjust 1000 --'.split(' '),
    '/usr/bin/prlimit',
    `--nproc=${MAX_PROCESSES}`,
    `--as=${MAX_ADDRESS_SPACE_BYTES}`,
    `--fsize=${MAX_SANDBOX_FILE_BYTES}`,
    `--cpu=${MAX_CPU_SECONDS}`,
    `--nofile=${MAX_OPEN_FILES}`,
    '--core=0',
    '--',
    ...argv,
  ];
}

function programFolder(folder: string): string[] {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return stats.isSymbolicLink() ? ['--symlink', readlinkSync(folder), folder] : ['--ro-bind', folder, folder];
}

/** The folders of this machine that programs in the sandbox can read, without links. */
export function readableFolders(): string[] {
  return [...PROGRAM_FOLDERS, ...SYSTEM_FOLDERS, '/etc/alternatives']
    .filter((folder) => lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true)
    .map((folder) => realpathSync(folder));
}

/** The folder of `readableFolders` that contains `place`; undefined when none does. Links are followed. */
export function readableFolderOf(place: string, readable = readableFolders()): string | undefined {
  const real = realPathOf(path.resolve(place));
  return readable.find((folder) => real === folder || real.startsWith(`${folder}/`));
}

/** The path without links; for one that does not exist yet, as far as it does. */
function realPathOf(place: string): string {
  const stats = lstatSync(place, { throwIfNoEntry: false });
  if (stats !== undefined || place === '/') return realpathSync(place);
  return path.join(realPathOf(path.dirname(place)), path.basename(place));
}
