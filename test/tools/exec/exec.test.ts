/** `exec` with a real bubblewrap: what a program sees, what ends it, and that nothing runs without the sandbox. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createExec } from '../../../src/tools/exec/exec.ts';
import {
  keepOutput,
  MAX_KEPT_BYTES,
  MAX_PRINTED_BYTES,
  MAX_SANDBOX_FILE_BYTES,
} from '../../../src/tools/exec/sandbox-run.ts';
import { MAX_PROCESSES } from '../../../src/tools/exec/sandbox-group.ts';
import { failedProbes, MAX_RUNS, type Sandbox } from '../../../src/tools/exec/sandbox.ts';
import type { ToolContext, ToolResult } from '../../../src/protocol/agent/tool.ts';
import { alive, CANARY, execFixture, runIn, sandboxOf, wasRoot } from './as-nobody.ts';
import { needs } from '../../runs/needs.ts';

const fixture = execFixture();

async function exec(args: Record<string, unknown>, over: Partial<ToolContext> = {}): Promise<ToolResult> {
  return await runIn(fixture.sandbox, fixture.workspace, args, over);
}

async function attempt(args: Record<string, unknown>, using: Sandbox | undefined): Promise<string> {
  return await runIn(using, fixture.workspace, args).then((result) => result.content, String);
}

describe('the programs of skills', () => {
  it('are readable in /skills and nothing can change them', needs('bubblewrap'), async () => {
    const skills = path.join(fixture.home, 'workspace', 'skills');
    await mkdir(path.join(skills, 'tea', 'scripts'), { recursive: true });
    await writeFile(path.join(skills, 'tea', 'scripts', 'boil.sh'), '#!/bin/sh\necho "hot $1"\n', {
      mode: 0o700,
    });
    const command =
      '/skills/tea/scripts/boil.sh now; sh /skills/tea/scripts/boil.sh twice; touch /skills/tea/x 2>&1; ls -A /work';
    const { content } = await exec({ command }, { skills });
    expect(content).toMatch(/^hot now\nhot twice\ntouch: .*Read-only file system\n\(exit 0\)$/);
    const absent = await exec({ command: 'ls /skills' }, { skills: path.join(fixture.home, 'none') });
    expect(absent.content).toContain('No such file or directory');
  });
});

describe('without the sandbox', () => {
  it('is off, and says how to turn it on (B-20)', async () => {
    expect(await attempt({ command: 'id' }, undefined)).toContain('config.json');
  });

  it.runIf(wasRoot)('runs nothing for root, because the limits do not apply to root', () => {
    expect(fixture.answerAsRoot).toContain('runs as root');
  });

  it('runs nothing unsandboxed when bubblewrap is missing, and says what to install', async () => {
    const { workspace } = fixture;
    const without = sandboxOf(fixture, { bwrap: '/nonexistent/bwrap' });
    const answer = await attempt({ command: `touch ${workspace}/bare` }, without);
    expect(answer).toContain('unavailable');
    expect(answer).toContain('apt-get install bubblewrap');
    expect(existsSync(path.join(workspace, 'bare'))).toBe(false);
  });

  it('runs nothing when the self-test cannot show that the sandbox holds', async () => {
    const impostor = path.join(fixture.workspace, 'impostor');
    await writeFile(impostor, '#!/bin/sh\nwhile [ "$1" != /usr/bin/prlimit ]; do shift; done\nexec "$@"\n', {
      mode: 0o700,
    });
    const answer = await attempt({ command: 'echo ran' }, sandboxOf(fixture, { bwrap: impostor }));
    expect(answer).toContain('does not hold');
    expect(answer).not.toContain('ran');
  });

  it('treats a probe missing from the answer as failed', () => {
    expect(failedProbes('')).toContain('capabilities');
    expect(failedProbes('networks=loeth0')).toContain('networks');
  });

  it('accepts either a command or a list of arguments, but not both or neither', () => {
    const { parameters } = createExec(() => undefined);
    expect(parameters.safeParse({}).success).toBe(false);
    expect(parameters.safeParse({ command: 'a', argv: ['a'] }).success).toBe(false);
    expect(parameters.safeParse({ argv: ['a\0b'] }).success).toBe(false);
    expect(parameters.safeParse({ argv: ['a'] }).success).toBe(true);
  });
});

describe('what a program sees', needs('bubblewrap'), () => {
  it('runs a line for the shell and a list of arguments in the workspace (B-20)', async () => {
    expect(await exec({ command: 'echo hello | tee made.txt; pwd; exit 3' })).toEqual({
      content: 'hello\n/work\n(exit 3)',
      isError: true,
    });
    expect(await exec({ argv: ['cat', 'made.txt'] })).toEqual({ content: 'hello\n(exit 0)', isError: false });
  });

  it.each([
    "tr '\\0' '\\n' </proc/1/environ",
    'cat /proc/*/environ',
    'env',
    `cat /proc/self/root${os.tmpdir()}/*/secret`,
    'ls -la ~ /home /root /etc',
    'cat /proc/1/root/etc/passwd /etc/passwd /etc/shadow',
  ])('never shows what is outside: %s', async (command) => {
    const { content } = await exec({ command });
    expect(content).not.toContain(CANARY);
    expect(content).not.toContain('root:');
  });

  it('cannot reach a server on this machine or create a new namespace', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const bound = server.address();
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
    const script = `use IO::Socket::INET; print IO::Socket::INET->new("127.0.0.1:${port}") ? "open" : "shut"`;
    expect((await exec({ argv: ['perl', '-e', script] })).content).not.toContain('open');
    expect((await exec({ command: 'unshare -Ur true && echo nested' })).content).not.toContain('nested');
    expect(connections).toBe(0);
    await new Promise((resolve) => void server.close(resolve));
  });

  it('cannot kill anything but itself', async () => {
    expect((await exec({ command: 'kill -9 -1' })).isError).toBe(true);
    expect((await exec({ command: 'echo still here' })).content).toContain('still here');
  });
});

describe('what ends a program', needs('bubblewrap'), () => {
  it.each(['sleep 1e9', 'setsid sleep 7654321 & sleep 1e9', 'f(){ f|f& };f; sleep 1e9'])(
    'ends with everything it started when its time is up: %s',
    async (command) => {
      const began = performance.now();
      const { content, isError } = await exec({ command: `${command} #mark-of-this`, timeout_seconds: 1 });
      expect(content).toContain('longer than 1 s');
      expect(isError).toBe(true);
      expect(performance.now() - began).toBeLessThan(3_000);
      await expect.poll(() => alive('mark-of-this')).toEqual([]);
      expect(await alive('7654321')).toEqual([]);
    },
  );

  it('takes background children down when it ends on its own', async () => {
    expect((await exec({ command: 'setsid sleep 8765432 >/dev/null & echo left' })).content).toBe(
      'left\n(exit 0)',
    );
    await expect.poll(() => alive('8765432')).toEqual([]);
  });

  it('ends when the turn is stopped', async () => {
    const stop = new AbortController();
    const running = exec({ command: 'sleep 9876543' }, { signal: stop.signal });
    await expect.poll(() => alive('9876543')).not.toEqual([]);
    stop.abort();
    expect((await running).content).toContain('stopped');
    await expect.poll(() => alive('9876543')).toEqual([]);
  });

  it('leaves nothing behind, however soon after its start it is stopped', async () => {
    const mark = 'sleep 8642097';
    const took: number[] = [];
    for (let round = 0; round < 40; round += 1) {
      const stop = new AbortController();
      const running = exec({ command: mark }, { signal: stop.signal });
      await setTimeout(Math.random() * 25);
      const at = performance.now();
      stop.abort();
      expect((await running).content).toContain('ended: it was stopped');
      took.push(performance.now() - at);
    }
    expect(Math.max(...took)).toBeLessThan(3_000);
    await expect.poll(() => alive(mark), { timeout: 3_000 }).toEqual([]);
  }, 60_000);

  it('does not wait for input', async () => {
    expect((await exec({ command: 'cat; echo end' })).content).toBe('end\n(exit 0)');
  });

  it('stops a flood of output, keeping its head and tail in limited memory', async () => {
    const before = process.memoryUsage.rss();
    const { content } = await exec({ command: 'echo first; yes' });
    expect(content).toContain(`more than ${MAX_PRINTED_BYTES} bytes`);
    expect(content.startsWith('first\ny\n')).toBe(true);
    expect(content.length).toBeLessThan(MAX_KEPT_BYTES + 300);
    expect(process.memoryUsage.rss() - before).toBeLessThan(50 * 1024 * 1024);
  });

  it('limits file size, memory and the number of processes', async () => {
    const { content } = await exec({ command: 'head -c 20G /dev/zero > big; stat -c %s big; rm big' });
    expect(content).toContain(String(MAX_SANDBOX_FILE_BYTES));
    expect(
      (await exec({ argv: ['perl', '-e', 'my $x = "x" x 2_000_000_000; print "got it"'] })).content,
    ).not.toContain('got it');
    const many = 'i=0; while [ $i -lt 200 ]; do sleep 5 & i=$((i+1)); echo $i; done';
    const started = (await exec({ command: many })).content.match(/^\d+$/gm) ?? [];
    expect(started.length).toBeLessThan(MAX_PROCESSES);
    expect(started.length).toBeGreaterThan(10);
  });
});

describe('how many run', needs('bubblewrap'), () => {
  it(`runs one per session and ${MAX_RUNS} in total, and says so`, async () => {
    const stop = new AbortController();
    const sessions = Array.from({ length: MAX_RUNS }, (_, n) => `telegram:${n}` as const);
    const running = sessions.map((sessionKey) =>
      exec({ command: 'sleep 7531' }, { sessionKey, signal: stop.signal }),
    );
    const asleep = async (): Promise<number> =>
      (await alive('7531')).filter((line) => line.startsWith('sleep')).length;
    await expect.poll(asleep).toBe(MAX_RUNS);
    await expect(exec({ command: 'true' }, { sessionKey: 'telegram:0' })).rejects.toThrow('this session');
    await expect(exec({ command: 'true' }, { sessionKey: 'telegram:99' })).rejects.toThrow(
      `${MAX_RUNS} programs`,
    );
    stop.abort();
    await Promise.all(running);
    expect((await exec({ command: 'echo free' })).content).toContain('free');
  });
});

it('keeps everything up to the limit and marks what is missing beyond it', () => {
  const kept = keepOutput();
  expect(kept.add(Buffer.alloc(MAX_KEPT_BYTES / 2, 'a'))).toBe(true);
  expect(kept.add(Buffer.alloc(MAX_KEPT_BYTES / 2, 'b'))).toBe(true);
  expect(kept.text()).toHaveLength(MAX_KEPT_BYTES);
  kept.add(Buffer.from('c'));
  expect(kept.text()).toContain('[… 1 bytes left out …]');
  expect(kept.text().endsWith('bc')).toBe(true);
  expect(kept.add(Buffer.alloc(MAX_PRINTED_BYTES - MAX_KEPT_BYTES - 1))).toBe(true);
  expect(kept.add(Buffer.from('x'))).toBe(false);
});
