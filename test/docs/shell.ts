/** Runs what the pages tell a reader to type, as a shell does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** Runs a command line in bash with this Node.js first in the PATH; returns its exit code and everything it printed. */
export async function runShell(
  command: string,
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Promise<{ code: number; output: string }> {
  const child = spawn('bash', ['-c', command], {
    cwd,
    env: { PATH: `${path.dirname(process.execPath)}:${process.env['PATH'] ?? ''}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code]: unknown[] = await once(child, 'close');
  return { code: Number(code), output };
}
