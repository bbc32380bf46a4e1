/** A server as a program on this machine: a separate process group, few variables, and messages on its standard streams. */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { GatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import { oneLine } from '../lib/text.ts';
import { errorOfBroken } from './broken-answer.ts';
import type { McpConnection } from './settings.ts';

/**
 * Variables that every server gets besides its own: npx needs PATH, HOME and TMPDIR, language and zone determine what
 * programs print, and Windows starts none without the rest.
 */
const INHERITED_VARIABLES = [
  ...'PATH HOME TMPDIR LANG LC_ALL TZ'.split(' '),
  ...'SYSTEMROOT SYSTEMDRIVE APPDATA LOCALAPPDATA USERPROFILE TEMP PATHEXT COMSPEC'.split(' '),
];
/** Longest message from a server, in bytes. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const NEWLINE = 0x0a;
/** Time for a server to end after each of the three requests to do so, in milliseconds. */
const END_MS = 1_000;

/** The running process groups. They end with this process; after SIGKILL, their input ends. */
const running = new Set<number>();
process.once('exit', () => {
  for (const pid of running) signalGroup(pid, 'SIGKILL');
});

type StdioServer = Extract<McpConnection, { kind: 'stdio' }>;

/** Longest line of standard error that is logged, in UTF-16 units. */
export const MAX_LINE_CHARS = 500;
/** Maximum number of lines logged per time span; the others are only counted. */
export const MAX_LINES = 50;
export const SPAN_MS = 60_000;

/** Collects lines from pieces of text. */
interface StderrLog {
  write(text: string): void;
  /** The last line that was not empty; '' before the first one. */
  last(): string;
}

/** One process of a server. The owner sets the three handlers before `start`. */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #server: StdioServer;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #folder: string;
  readonly #stderr: StderrLog;
  #endedBy: string | undefined;
  #open: Buffer[] = [];
  #openBytes = 0;
  #received = Promise.resolve();
  #process: ChildProcess | undefined;

  /** `environment` is the gateway's own; the program runs in `folder` unless it has a `cwd`. */
  constructor(
    server: StdioServer,
    environment: Readonly<Record<string, string | undefined>>,
    folder: string,
    log: Log,
  ) {
    this.#server = server;
    this.#environment = environment;
    this.#folder = folder;
    this.#stderr = createStderrLog(log);
  }

  /** With `stderr`, what tells the client that this is a program: one that does not answer its first question is an older one. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get stderr(): ChildProcess['stderr'] {
    return this.#process?.stderr ?? null;
  }

  /** How the program ended, as a sentence; undefined while it runs. */
  get ending(): string | undefined {
    if (this.#endedBy === undefined) return undefined;
    const line = this.#stderr.last();
    return `The program ended (${this.#endedBy})${line === '' ? '' : `; its last line: ${line}`}.`;
  }

  /** Throws `GatewayError('unavailable')` if the program cannot be started. */
  async start(): Promise<void> {
    const server = this.#server;
    const inherited = INHERITED_VARIABLES.map((name) => [name, this.#environment[name]] as const);
    const child = spawn(server.command, [...server.args], {
      cwd: server.cwd ?? this.#folder,
      // Node leaves out undefined variables.
      env: { ...Object.fromEntries(inherited), ...server.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    this.#process = child;
    child.stdin.on('error', (error) => this.onerror?.(error));
    child.stdout.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#stderr.write(text));
    child.once('close', (code, signal) => {
      // Without a pid it never ran, which the error below reports.
      if (child.pid !== undefined) this.#markEnded(signal ?? `code ${code}`);
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => {
        const text = `The program "${server.command}" cannot be started: ${error.message}.`;
        reject(new GatewayError('unavailable', text, { cause: error }));
      });
    });
    if (child.pid !== undefined) running.add(child.pid);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#process?.stdin;
    if (stdin === undefined || stdin === null || this.#endedBy !== undefined) {
      throw new GatewayError('unavailable', 'The program has ended.');
    }
    if (stdin.write(serializeMessage(message))) return;
    // A server that no longer reads: the call's time limit ends this wait, and so does the end of the
    // process.
    await new Promise<void>((resolve) => {
      stdin.once('drain', resolve);
      stdin.once('close', resolve);
    });
  }

  /** Closes the input first, as the protocol requires, then sends signals to the whole group. Never throws. */
  async close(): Promise<void> {
    const child = this.#process;
    if (child?.pid === undefined || this.#endedBy !== undefined) return;
    const exit = new Promise<void>((resolve) => child.once('close', () => resolve()));
    child.stdin?.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await endsWithin(exit, END_MS)) return;
      signalGroup(child.pid, signal);
    }
    // A process outside the group may keep the streams open.
    if (await endsWithin(exit, END_MS)) return;
    child.stdout?.destroy();
    child.stderr?.destroy();
    this.#markEnded('SIGKILL');
  }

  /** Splits the received data into lines, each a message; the parts of an open line are joined once, at its end. */
  #read(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#open.push(chunk.subarray(from, at));
      const line = Buffer.concat(this.#open).toString('utf8');
      this.#open = [];
      this.#openBytes = 0;
      from = at + 1;
      // One after the other: the client handles a notification later than the answer behind it, and would drop its progress.
      this.#received = this.#received.then(() => this.#receive(line));
    }
    this.#open.push(chunk.subarray(from));
    this.#openBytes += chunk.length - from;
    if (this.#openBytes <= MAX_MESSAGE_BYTES) return;
    this.#open = [];
    signalGroup(this.#process?.pid, 'SIGKILL');
    const text = `The server sent a message of more than ${MAX_MESSAGE_BYTES / 1_024 / 1_024} MiB.`;
    this.onerror?.(new GatewayError('too_large', text));
  }

  #receive(line: string): void {
    try {
      this.onmessage?.(deserializeMessage(line));
    } catch (error) {
      const broken = errorOfBroken(line);
      if (broken !== undefined) this.onmessage?.(broken);
      // A line that is not a message, such as a greeting: the next one may be.
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #markEnded(by: string): void {
    if (this.#endedBy !== undefined) return;
    this.#endedBy = by;
    this.#open = [];
    const pid = this.#process?.pid;
    if (pid !== undefined) running.delete(pid);
    // Everything that it has started ends with it.
    signalGroup(pid, 'SIGKILL');
    this.onclose?.();
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch (error) {
    const isGone =
      error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM');
    if (!isGone) throw error;
  }
}

async function endsWithin(exit: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([exit.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Creates one for a process; `monotonicNow` is a clock in milliseconds. */
export function createStderrLog(log: Log, monotonicNow = (): number => performance.now()): StderrLog {
  let open = '';
  let last = '';
  let spanStart = monotonicNow();
  let lines = 0;
  const say = (line: string): void => {
    if (line === '') return;
    last = line;
    if (monotonicNow() - spanStart >= SPAN_MS) {
      if (lines > MAX_LINES) log.info({ lines: lines - MAX_LINES }, 'mcp_stderr_left_out');
      spanStart = monotonicNow();
      lines = 0;
    }
    lines += 1;
    if (lines <= MAX_LINES) log.info({ line }, 'mcp_stderr');
  };
  return {
    write(text) {
      const pieces = (open + text).split('\n');
      open = (pieces.pop() ?? '').slice(0, MAX_LINE_CHARS);
      for (const piece of pieces) say(oneLine(piece.slice(0, MAX_LINE_CHARS)).trim());
    },
    last: () => oneLine(open).trim() || last,
  };
}
