/** The bundle that a start begins with: when there is one, what it is made of, and that the whole program runs from it. */
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { buildStartupBundle } from '../../src/ops/build-startup-bundle.js';
import { compileCacheFolder } from '../../src/ops/compile-cache.js';
import { startupBundle } from '../../src/ops/startup-bundle.js';
import { startFakeOllama } from '../fakes/ollama/ollama.ts';
import { chat, parley, startGatewayProcess } from '../child.ts';
import { copyLauncher } from './copy-launcher.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TOKEN = 'token-of-the-bundle-0123456789-abcdef';
/**
 * Waits like a gateway until the bundle is made. Prints what the tests read: the word, which tells the bundle from the sources,
 * and where its module and the lines of its errors are.
 */
const PROGRAM = `
import { statSync } from 'node:fs';
import { words } from '../channels/words.ts';
const bundle = () => statSync(process.env['BUNDLE'] ?? '/', { throwIfNoEntry: false })?.ino;
const before = bundle();
export async function main(): Promise<void> {
  console.log(words, import.meta.url, new Error('at').stack);
  const waiting = setInterval(() => {
    if (bundle() !== before || process.env['WAITS'] === 'no') clearInterval(waiting);
  }, 10);
}`;

let root = '';
let cache = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-bundle-')));
  copyLauncher(root);
  mkdirSync(path.join(root, 'channels'));
  mkdirSync(path.join(root, 'node_modules'), { mode: 0o755 });
  symlinkSync(path.join(ROOT, 'node_modules/esbuild'), path.join(root, 'node_modules/esbuild'));
  writeFileSync(path.join(root, 'node_modules/.package-lock.json'), '{}');
  writeFileSync(path.join(root, 'package.json'), '{"type": "module"}');
  writeFileSync(path.join(root, 'src/cli.ts'), PROGRAM);
  writeFileSync(path.join(root, 'channels/words.ts'), "export const words: string = 'from the sources';");
  cache = compileCacheFolder(path.join(root, 'node_modules'), root) ?? '';
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Starts the program, which ends once there is a bundle, or another one; returns what it printed. */
async function start(env: Record<string, string> = {}): Promise<string> {
  const bundle = startupBundle(root, cache);
  const waits = bundle?.isThere === false ? 'yes' : 'no';
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      [path.join(root, 'src/launch.js'), 'start'],
      { cwd: root, env: { PATH: process.env['PATH'] ?? '', BUNDLE: bundle?.folder, WAITS: waits, ...env } },
      (_, stdout, stderr) => resolve(`${stdout}${stderr}`),
    );
  });
}

/** Changes the word in the bundle, and not its length: what prints the new one runs from there. */
function markBundle(): void {
  const { folder } = startupBundle(root, cache)!;
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.js'))) {
    const file = path.join(folder, name);
    writeFileSync(file, readFileSync(file, 'utf8').replace('from the sources', 'from its bundle!'));
  }
}

describe('the startup bundle', () => {
  it('is made by the first start, and the next one begins with it, with the places of the sources', async () => {
    expect(await start()).toContain('from the sources');
    expect(startupBundle(root, cache)).toMatchObject({ isThere: true });
    markBundle();
    const said = await start();
    expect(said).toContain('from its bundle!');
    expect(said).toContain(pathToFileURL(path.join(root, 'src/cli.ts')).href);
    expect(said).toMatch(/src\/cli\.ts:7:/);
  });

  it('is not used when a source or the packages have changed', async () => {
    await start();
    markBundle();
    writeFileSync(path.join(root, 'channels/words.ts'), "export const words: string = 'from new sources';");
    expect(await start()).toContain('from new sources');
    const before = startupBundle(root, cache)?.folder;
    const later = new Date(Date.now() + 5_000);
    utimesSync(path.join(root, 'node_modules/.package-lock.json'), later, later);
    expect(startupBundle(root, cache)).toMatchObject({ isThere: false });
    expect(startupBundle(root, cache)?.folder).not.toBe(before);
  });

  it('is made again when a file of it is empty, and when it cannot be read', async () => {
    await start();
    const { file } = startupBundle(root, cache)!;
    truncateSync(file);
    expect(await start()).toContain('from the sources');
    expect(startupBundle(root, cache)).toMatchObject({ isThere: true });
    writeFileSync(file, '{'.repeat(readFileSync(file).length));
    const said = await start();
    expect(said).toContain('from the sources');
    expect(said).toContain('cannot be read and was removed (SyntaxError');
    expect(existsSync(file)).toBe(false);
  });

  it('is kept for the three newest states of the sources', async () => {
    for (const word of ['one', 'two', 'three', 'four', 'five']) {
      writeFileSync(path.join(root, 'channels/words.ts'), `export const words = '${word}';`);
      expect(await start()).toContain(word);
    }
    expect(readdirSync(cache).filter((name) => name.startsWith('bundle-'))).toHaveLength(3);
  });

  it('is made by the first of several workers only, and nowhere but with the packages', async () => {
    expect(await start({ PARLEY_WORKER: '2', WAITS: 'no' })).toContain('from the sources');
    expect(startupBundle(root, cache)).toMatchObject({ isThere: false });
    expect(startupBundle(root, path.join(root, 'home/cache'))).toBeUndefined();
    expect(startupBundle(root, undefined)).toBeUndefined();
    rmSync(path.join(root, 'channels'), { recursive: true });
    expect(startupBundle(root, cache)).toBeUndefined();
  });
});

/** Reports on the error stream that the process has loaded a file of a bundle. */
const REPORT = `import { registerHooks } from 'node:module';
registerHooks({ load(url, context, next) {
  if (url.includes('/bundle-')) process.stderr.write('loaded from the bundle ');
  return next(url, context);
} });`;

describe('Parley from its bundle', () => {
  it('answers, runs its commands, and serves its page', async () => {
    const bundle = startupBundle(ROOT, compileCacheFolder(path.join(ROOT, 'node_modules'), ROOT))!;
    await buildStartupBundle(ROOT, 'src/cli.ts', bundle.folder);
    const ollama = await startFakeOllama();
    const home = mkdtempSync(path.join(tmpdir(), 'parley-home-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    onTestFinished(() => ollama.close());
    ollama.answer({ text: 'hello from the bundle' });
    const environment = {
      GATEWAY_HOME: home,
      GATEWAY_TOKEN: TOKEN,
      OLLAMA_HOST: ollama.url,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(REPORT)}`,
    };
    const gateway = await startGatewayProcess(environment);
    expect(gateway.stderr()).toContain('loaded from the bundle');
    expect((await chat(gateway.url, TOKEN)).text).toContain('hello from the bundle');
    const page = await (await fetch(gateway.url)).text();
    const [, script = ''] = /src="([^"]+\.js)"/.exec(page) ?? [];
    expect(await fetch(new URL(script, gateway.url))).toMatchObject({ status: 200 });
    expect(await parley(['status'], environment)).toMatchObject({ code: 0 });
  });
});
