/** `npm run check`: all `check:…` scripts in parallel, the output of each in one piece, exit code 1 if any failed. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import project from '../package.json' with { type: 'json' };

const scripts = Object.keys(project.scripts).filter((name) => name.startsWith('check:'));

async function check(script: string): Promise<boolean> {
  const child = spawn('npm', ['run', '--silent', script], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code]: unknown[] = await once(child, 'close');
  process.stdout.write(`\n=== ${script}: ${code === 0 ? 'passed' : 'FAILED'}\n${(await said).join('')}`);
  return code === 0;
}

const passed = await Promise.all(scripts.map(check));
process.exitCode = passed.every(Boolean) ? 0 : 1;
