/** What `npm pack` makes, installed the way npm does it: below `node_modules`, with the packages that it needs next to it. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import lockfile from '../../package-lock.json' with { type: 'json' };
import { ROOT } from '../architecture/imports.ts';
import { chat, parley, startGatewayProcess } from '../child.ts';
import { docx } from '../fakes/files/documents.ts';
import { startFakeOllama } from '../fakes/ollama/ollama.ts';

const TOKEN = 'token-of-the-package-0123456789-abcdef';

let folder = '';
let installed = '';
beforeAll(() => {
  // On the disk of the packages, which are linked from there.
  mkdirSync(path.join(ROOT, 'test/.tmp'), { recursive: true });
  folder = mkdtempSync(path.join(ROOT, 'test/.tmp/package-'));
  const clone = path.join(folder, 'clone');
  for (const name of 'src channels drizzle package.json package-lock.json .npmrc README.md LICENSE'.split(
    ' ',
  ))
    cpSync(path.join(ROOT, name), path.join(clone, name), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(clone, 'node_modules'));
  const pack = ['pack', '--ignore-scripts=false', '--pack-destination', folder];
  execFileSync('npm', pack, { cwd: clone, stdio: 'pipe' });
  installed = path.join(folder, 'node_modules/parley-gateway');
  mkdirSync(path.dirname(installed));
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  execFileSync('tar', ['-xzf', tarball], { cwd: folder });
  renameSync(path.join(folder, 'package'), installed);
  const packages: Readonly<Record<string, { dev?: boolean; version?: string }>> = lockfile.packages;
  const needed = Object.keys(packages).filter(
    (name) => /^node_modules\/[^/]+(\/[^/]+)?$/.test(name) && packages[name]?.dev !== true,
  );
  for (const name of needed.filter((one) => existsSync(path.join(ROOT, one)))) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    execFileSync('cp', ['-al', path.join(ROOT, name), path.join(folder, name)]);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the package', () => {
  it('has what runs and what is read at run time, and no source, test or secret', () => {
    const names = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(installed, path.join(entry.parentPath, entry.name)));
    expect(names.filter((name) => !/^(dist|drizzle)\//.test(name)).toSorted()).toEqual([
      'LICENSE',
      'README.md',
      'package.json',
      'src/launch.js',
      'src/launch/build.js',
      'src/launch/command-here.js',
      'src/launch/compile-cache.js',
      'src/launch/default-home.js',
      'src/launch/inherited.js',
    ]);
    expect(names).toEqual(
      expect.arrayContaining(['dist/cli.js', 'dist/page/index.html', 'drizzle/meta/_journal.json']),
    );
  });

  it('runs a gateway: its answers, its page, files that it reads, and its commands', async () => {
    const ollama = await startFakeOllama();
    onTestFinished(() => ollama.close());
    ollama.answer({ text: 'hello from the package' });
    const environment = {
      GATEWAY_HOME: path.join(folder, 'home'),
      GATEWAY_TOKEN: TOKEN,
      OLLAMA_HOST: ollama.url,
    };
    const gateway = await startGatewayProcess(environment, { root: installed });
    expect((await chat(gateway.url, TOKEN)).text).toContain('hello from the package');
    const page = await (await fetch(gateway.url)).text();
    const [, script = ''] = /src="([^"]+\.js)"/.exec(page) ?? [];
    expect(await fetch(new URL(script, gateway.url))).toMatchObject({ status: 200 });

    // A program of its own reads it, which may read its packages and nothing else.
    const document = docx(['The harbour is closed.']).toString('base64');
    const file = { filename: 'note.docx', file_data: `data:application/octet-stream;base64,${document}` };
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: [{ type: 'file', file }] }] }),
    });
    expect(answer.status).toBe(200);
    expect(JSON.stringify(ollama.calls.at(-1)?.body.messages)).toContain('The harbour is closed.');

    expect(await parley(['status'], environment, installed)).toMatchObject({ code: 0 });
    gateway.signal('SIGTERM');
    expect(await gateway.ended).toBe(0);
    expect(gateway.stderr()).not.toMatch(/could not be built|Cannot find/);
  });

  it('runs for an account that cannot write where it is installed', async () => {
    const home = mkdtempSync(path.join(tmpdir(), 'parley-package-home-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    // Root may write everywhere, so it becomes somebody else.
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
    if (nobody !== undefined) chownSync(home, nobody.uid, nobody.gid);
    // Made by mkdtemp, for its owner alone.
    chmodSync(folder, 0o755);
    const { mode } = statSync(installed);
    chmodSync(installed, 0o555);
    onTestFinished(() => chmodSync(installed, mode));
    const env = {
      PATH: process.env['PATH'],
      HOME: home,
      GATEWAY_HOME: path.join(home, '.parley'),
      PORT: '0',
    };
    const launcher = path.join(installed, 'src/launch.js');
    const child = spawn(process.execPath, [launcher, 'start'], { cwd: home, env, stdio: 'pipe', ...nobody });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = once(child, 'close');
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    await expect.poll(() => output, { timeout: 60_000 }).toContain('Parley is ready');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  it('carries a name that nobody else has on the registry, and is not published by accident', () => {
    const manifest: unknown = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({
      name: 'parley-gateway',
      private: true,
      bin: { parley: 'src/launch.js' },
    });
  });
});
