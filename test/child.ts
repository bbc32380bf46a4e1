/** Parley as a separate process, for tests of what only a whole process shows: signals, exit codes, output, files. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished, vi } from 'vitest';
import { socketOfPostgres } from './postgres-socket.ts';
import { PARLEY } from '../src/protocol/texts/parley.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Long enough for a first start on a busy machine. */
const READY = { timeout: 60_000, interval: 50 };

export interface Child {
  readonly pid: number;
  /** Everything it has written so far. */
  stdout(): string;
  stderr(): string;
  signal(name: NodeJS.Signals): void;
  /** Waits for it to exit; returns the exit code, null if a signal ended it. */
  ended: Promise<number | null>;
}

export interface RunningGateway extends Child {
  url: string;
}

/** Receives the function that ends a process; called once per process. */
type Cleanup = (end: () => Promise<void>) => void;

/** Where a process starts from, and what ends it. */
interface StartOptions {
  /** A copy of the repository; default: this one. */
  root?: string;
  /** Default: at the end of the test. */
  cleanup?: Cleanup;
}

/** Starts `node src/launch.js …` without this machine's own settings; killed when the test ends, or by `cleanup`. */
export function startParley(
  args: string[],
  environment: Record<string, string>,
  { root = ROOT, cleanup = onTestFinished }: StartOptions = {},
): Child {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOST: '127.0.0.1',
    // What texts call it in the tests' processes.
    PARLEY_COMMAND: PARLEY,
    ...socketOfPostgres(),
    ...environment,
  };
  const child = spawn(process.execPath, [path.join(root, 'src/launch.js'), ...args], {
    env,
    // Not in the clone, where `.env` may hold the tokens of a developer's own bots.
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const ended = once(child, 'close').then(([code]) => (typeof code === 'number' ? code : null));
  cleanup(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    pid: child.pid ?? 0,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    signal: (name) => void child.kill(name),
    ended,
  };
}

/** Runs one command to completion. */
export async function parley(
  args: string[],
  environment: Record<string, string>,
  root = ROOT,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = startParley(args, environment, { root });
  const code = await child.ended;
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}

/** Starts a gateway on a free port and waits until it reports that it is ready. */
export async function startGatewayProcess(
  environment: Record<string, string>,
  options?: StartOptions,
): Promise<RunningGateway> {
  const child = startParley(['start'], { PORT: '0', ...environment }, options);
  const url = (): string | undefined => /Parley is ready: (http:\S+)/.exec(child.stdout())?.[1];
  let over = false;
  const ended = child.ended.finally(() => (over = true));
  await vi.waitUntil(() => over || url() !== undefined, READY);
  if (url() === undefined) throw new Error(`the gateway ended with ${await ended}: ${child.stderr()}`);
  return { ...child, url: url() ?? '' };
}

/** One request to a chat with a stateful session; returns the status and the text of the answer. */
export async function chat(
  url: string,
  token: string,
  options: { stream?: boolean; session?: string; content?: string } = {},
): Promise<{ status: number; text: string }> {
  const { stream = false, session = 'test', content = 'Hello' } = options;
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'x-session-id': session,
    },
    body: JSON.stringify({ stream, messages: [{ role: 'user', content }] }),
  });
  return { status: response.status, text: await response.text() };
}
