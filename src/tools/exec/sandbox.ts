/** Runs programs of the model inside bubblewrap, or not at all. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ToolError } from '../../contracts/errors.ts';
import type { SessionKey } from '../../contracts/message.ts';
import { failedProbes, PROBE_COMMAND, sandboxArguments } from './sandbox-command.ts';
import { createKill, STATUS_FD } from './sandbox-kill.ts';
import { keepOutput, MAX_PRINTED_BYTES } from './sandbox-output.ts';

/** Programs that run at the same time, in all sessions; one session has one. */
export const MAX_RUNS = 4;
/** How long the self-test may take, in milliseconds. */
const SELF_TEST_MS = 10_000;

export interface SandboxRequest {
  session: SessionKey;
  /** Absolute path of the only folder the program sees and may change; it is /work inside. */
  workspace: string;
  argv: readonly string[];
  timeoutMs: number;
  signal: AbortSignal;
}

export interface SandboxRun {
  /** Both streams as they came, head and tail; invalid UTF-8 is replaced. */
  output: string;
  /** How it ended: `exit 0`, or why it was ended. */
  ending: string;
  /** True when it ended by itself with status 0. */
  ok: boolean;
}

export interface Sandbox {
  /** Throws `ToolError`: `unavailable` (it says what to install), `busy`. */
  run(request: SandboxRequest): Promise<SandboxRun>;
}

/** Makes the sandbox; nothing is tried before the first run. A self-test that fails stays failed until a restart. */
export function createSandbox(bwrap = '/usr/bin/bwrap'): Sandbox {
  const running = new Set<SessionKey>();
  let tested: Promise<void> | undefined;
  return {
    async run(request) {
      await (tested ??= selfTest(bwrap));
      if (running.has(request.session))
        throw new ToolError('busy', 'Another program of this session is still running.');
      if (running.size >= MAX_RUNS)
        throw new ToolError('busy', `${MAX_RUNS} programs are running already: try again later.`);
      running.add(request.session);
      try {
        return await runShutIn(bwrap, request);
      } finally {
        running.delete(request.session);
      }
    },
  };
}

/** Fails closed: what cannot be shown to hold counts as broken. */
async function selfTest(bwrap: string): Promise<void> {
  if (process.platform !== 'linux') throw unavailable('it needs Linux');
  if (process.getuid?.() === 0) {
    throw unavailable(
      'the gateway runs as root, whom limits on processes do not bind: run it as another user',
    );
  }
  if (!existsSync(bwrap)) throw unavailable('install bubblewrap 0.8 or newer (apt-get install bubblewrap)');
  const workspace = await mkdtemp(path.join(os.tmpdir(), 'parley-sandbox-'));
  try {
    const signal = AbortSignal.timeout(SELF_TEST_MS);
    const request = {
      session: 'self:test',
      workspace,
      argv: PROBE_COMMAND,
      timeoutMs: SELF_TEST_MS,
      signal,
    } as const;
    const { output, ok, ending } = await runShutIn(bwrap, request);
    if (!ok)
      throw unavailable(
        `bubblewrap 0.8 or newer and prlimit must work here; the self-test says: ${ending} ${output.slice(0, 300)}`,
      );
    const failed = failedProbes(output);
    if (failed.length > 0)
      throw unavailable(`the sandbox does not hold on this machine (${failed.join(', ')})`);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}

function unavailable(why: string): ToolError {
  return new ToolError('unavailable', `Running programs is unavailable: ${why}.`);
}

/**
 * The outer environment is empty too, for bwrap's own is readable inside as /proc/1/environ. Ending the first process of
 * the sandbox ends every other, whatever they detached themselves from.
 */
function runShutIn(bwrap: string, request: SandboxRequest): Promise<SandboxRun> {
  const { promise, resolve } = Promise.withResolvers<SandboxRun>();
  const status = ['--json-status-fd', String(STATUS_FD)];
  const child = spawn(bwrap, [...status, ...sandboxArguments(request.workspace, request.argv)], {
    env: {},
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const kill = createKill(child);
  const kept = keepOutput();
  let ended: string | undefined;
  const end = (why: string): void => {
    ended ??= why;
    kill();
  };
  const take = (chunk: Buffer): void => {
    if (!kept.add(chunk)) end(`ended: it printed more than ${MAX_PRINTED_BYTES} bytes`);
  };
  const stop = (): void => end('ended: it was stopped');
  const timer = setTimeout(
    () => end(`ended: it ran longer than ${request.timeoutMs / 1_000} s`),
    request.timeoutMs,
  );
  request.signal.addEventListener('abort', stop, { once: true });
  if (request.signal.aborted) stop();
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  child.once('error', (error) => (ended ??= `not started: ${error.message}`));
  child.once('close', (code, signal) => {
    clearTimeout(timer);
    request.signal.removeEventListener('abort', stop);
    const ending = ended ?? (code === null ? `ended by ${signal}` : `exit ${code}`);
    resolve({ output: kept.text(), ending, ok: ended === undefined && code === 0 });
  });
  return promise;
}
