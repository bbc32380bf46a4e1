/** A sandbox to run programs in, for a process that becomes an unprivileged user, like a gateway. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { createExec } from '../../../src/tools/exec/exec.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../../src/tools/exec/sandbox.ts';
import type { ToolContext, ToolResult } from '../../../src/protocol/agent/tool.ts';
import { toolContext } from '../../fakes/agent/tool-context.ts';

export const CANARY = 'canary-of-the-gateway';

export const wasRoot = process.getuid?.() === 0;

/** A home with secrets, a workspace next to them, and the sandbox over both. */
export interface ExecFixture {
  home: string;
  workspace: string;
  sandbox: Sandbox;
  /** What exec answers root; empty when the tests do not run as root. */
  answerAsRoot: string;
}

/** Creates it before the tests of the file and removes it afterwards. The file must run in a separate process. */
export function execFixture(): ExecFixture {
  const fixture = { home: '', workspace: '', answerAsRoot: '' } as ExecFixture;
  beforeAll(async () => {
    if (wasRoot) {
      const options = { home: os.tmpdir(), hidden: [] };
      fixture.answerAsRoot = await runIn(createSandbox(options), os.tmpdir(), { command: 'true' }).then(
        ({ content }) => content,
        String,
      );
      // Process limits do not apply to root, so exec refuses to work for it.
      process.setgroups?.([]);
      process.setgid?.(65_534);
      process.setuid?.(65_534);
    }
    process.env['PARLEY_CANARY'] = CANARY;
    fixture.home = await mkdtemp(path.join(os.tmpdir(), 'parley-exec-'));
    await writeFile(path.join(fixture.home, 'secret'), CANARY);
    fixture.workspace = await makeWorkspace(fixture);
    fixture.sandbox = sandboxOf(fixture);
  });
  afterAll(async () => {
    delete process.env['PARLEY_CANARY'];
    // A run that was ended right after its program had shut a folder leaves it shut.
    execFileSync('chmod', ['-R', 'u+rwX', fixture.home]);
    await rm(fixture.home, { recursive: true, force: true });
  });
  return fixture;
}

/** A sandbox for the fixture's home, with a test's overrides. */
export function sandboxOf({ home }: ExecFixture, over: Partial<SandboxOptions> = {}): Sandbox {
  return createSandbox({ home, hidden: [path.join(home, 'workspace')], ...over });
}

/** A separate empty workspace. */
export async function makeWorkspace({ home }: ExecFixture): Promise<string> {
  await mkdir(path.join(home, 'workspace'), { recursive: true });
  return await mkdtemp(path.join(home, 'workspace', 'session-'));
}

/** Calls the tool. */
export async function runIn(
  sandbox: Sandbox | undefined,
  workspace: string,
  args: Record<string, unknown>,
  over: Partial<ToolContext> = {},
): Promise<ToolResult> {
  const tool = createExec(() => sandbox);
  return await tool.execute(tool.parameters.parse(args), toolContext({ workspace, ...over }));
}

/** Command lines of processes on this machine that contain `mark`. */
export async function alive(mark: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return lines.filter((line) => line.includes(mark));
}
