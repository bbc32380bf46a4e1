/** `npm run demo` in a clone in which nothing was ever built. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../architecture/imports.ts';

it('serves the page in a fresh clone', async () => {
  // On the disk of the packages, which are linked from there.
  mkdirSync(path.join(ROOT, 'test/.tmp'), { recursive: true });
  const clone = mkdtempSync(path.join(ROOT, 'test/.tmp/demo-'));
  onTestFinished(() => rmSync(clone, { recursive: true, force: true }));
  for (const name of [
    'src',
    'channels',
    'drizzle',
    'package.json',
    'package-lock.json',
    'test/demo.ts',
    'test/fakes',
  ])
    cpSync(path.join(ROOT, name), path.join(clone, name), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(clone, 'node_modules'));
  const env = { PATH: process.env['PATH'], HOME: clone, PORT: '0' };
  const child = spawn(process.execPath, ['test/demo.ts'], {
    cwd: clone,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  await expect.poll(() => output, { timeout: 60_000 }).toContain('Sign in with the token');
  const [, url = ''] = /Parley is ready: (http:\S+)/.exec(output) ?? [];
  expect(await fetch(url)).toMatchObject({ status: 200 });
  expect(output).not.toContain('page_not_built');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});
