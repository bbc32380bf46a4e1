/** What npm itself shows and passes on, with a program in place of the gateway. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

/** Says that it runs, and what ended it. */
const PROGRAM = `
  process.once('SIGTERM', () => { console.log('stopping'); clearTimeout(running); });
  const running = setTimeout(() => {}, 20_000);
  console.log('running ' + process.argv.slice(2));
`;

test('npm start passes SIGTERM on: no gateway stays behind when a supervisor or a person ends npm', async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-npm-start-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(path.join(folder, 'src'));
  const { start } = manifest.scripts;
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ scripts: { start } }));
  await writeFile(path.join(folder, 'src', 'launch.js'), PROGRAM);

  const npm = spawn('npm', ['start', '--silent'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void npm.kill('SIGKILL'));
  const ended = once(npm, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface({ input: npm.stdout })) {
    lines.push(line);
    if (line.startsWith('running')) npm.kill('SIGTERM');
  }
  // The output ends with the last process that holds it.
  expect(lines).toEqual(['running start', 'stopping']);
  await ended;
});

const NPMRC = fileURLToPath(new URL('../../.npmrc', import.meta.url));

test('npm ci on an older Node.js shows no warning for each package that needs a newer one, and still shows errors', async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-npm-ci-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const write = (name: string, content: object) =>
    writeFile(path.join(folder, name), JSON.stringify(content));
  await mkdir(path.join(folder, 'needs-newer'));
  await write('needs-newer/package.json', {
    name: 'needs-newer',
    version: '1.0.0',
    engines: { node: '>=99' },
  });
  await write('package.json', { dependencies: { 'needs-newer': 'file:needs-newer' } });
  // Not what the npm that runs these tests was told.
  const env = { PATH: process.env['PATH'], HOME: folder };
  const npm = (...args: string[]): Promise<string> =>
    new Promise((resolve) =>
      execFile('npm', [...args, '--offline'], { cwd: folder, env }, (_, stdout, stderr) =>
        resolve(stdout + stderr),
      ),
    );
  expect(await npm('install')).toContain('EBADENGINE');
  await copyFile(NPMRC, path.join(folder, '.npmrc'));
  const quiet = await npm('ci');
  expect(quiet).toContain('added 1 package');
  expect(quiet).not.toContain('EBADENGINE');
  await write('package.json', { dependencies: { 'needs-newer': 'file:missing' } });
  expect(await npm('ci')).toMatch(/npm error .*package\.json and package-lock\.json/);
});
