/** `dist/`: when a start builds it, what runs where it cannot, and that nobody finds half of one. */
import { execFile, spawn } from 'node:child_process';
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
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { isBuilt, stampOf } from '../../src/launch/build.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** In place of the gateway: prints a word, the place of its module, and the line of an error. */
const PROGRAM = `
import { word } from '../channels/word.ts';
export async function main(): Promise<void> {
  const { later } = await import('./later.ts');
  console.log(word, later, import.meta.filename.includes('/dist/') ? 'dist' : 'sources', new Error('at').stack);
}`;

/** What builds, the page, and all that these import. */
const COPIED =
  'src/launch.js src/launch src/bundle.ts src/protocol src/lib channels/http package.json package-lock.json'.split(
    ' ',
  );
/** Root may write everywhere; others cannot become anyone else. */
const STRANGER = process.getuid?.() === 0 ? { uid: 65_534 } : {};
const POLL = { interval: 5, timeout: 20_000 };

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-build-')));
  chmodSync(root, 0o755);
  for (const name of COPIED) cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'));
  write('src/cli.ts', PROGRAM);
  write('src/later.ts', "export const later: string = 'later';");
  write('channels/word.ts', "export const word: string = 'first word';");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(name: string, text: string): void {
  writeFileSync(path.join(root, name), text);
}

/** Runs `launch.js`; returns both streams, and the exit code if it is not 0. */
async function launch(argument = 'start', options: { uid?: number } = {}): Promise<string> {
  return await run([path.join(root, 'src/launch.js'), argument], options);
}

async function run(argv: string[], options: { uid?: number } = {}): Promise<string> {
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      argv,
      { cwd: root, env: { PATH: process.env['PATH'] ?? '', GATEWAY_HOME: '/nowhere' }, ...options },
      (error, stdout, stderr) => resolve(`${stdout}${stderr}${error === null ? '' : `exit ${error.code}`}`),
    );
  });
}

const build = (): Promise<string> => run([path.join(root, 'src/launch/build.js')]);

describe('a start', () => {
  it('builds once; errors name the lines of the sources', async () => {
    const first = await launch();
    expect(first).toContain('Building Parley');
    expect(first).toContain('first word later dist');
    expect(first).toMatch(/src\/cli\.ts:5:/);
    expect(await launch()).not.toContain('Building');
  });

  it('builds again after a source or a file of the page has changed, and not after a copy with other times', async () => {
    await launch();
    const later = new Date(Date.now() + 5_000);
    utimesSync(path.join(root, 'channels/word.ts'), later, later);
    expect(await launch()).not.toContain('Building');
    write('channels/word.ts', "export const word = 'second word';");
    const changed = await launch();
    expect(changed).toContain('Building Parley');
    expect(changed).toContain('second word later dist');
    const page = 'channels/http/page/index.html';
    write(page, readFileSync(path.join(root, page), 'utf8').replace('<title>Parley', '<title>Changed'));
    expect(await launch()).toContain('Building Parley');
    expect(readFileSync(path.join(root, 'dist/page/index.html'), 'utf8')).toContain('<title>Changed');
  });

  it('builds again after a file of the build was lost or cut', async () => {
    await launch();
    truncateSync(path.join(root, 'dist/cli.js'));
    expect(await launch()).toContain('first word later dist');
    rmSync(path.join(root, 'dist/page/main.js'));
    expect(await launch()).toContain('Building Parley');
    expect(existsSync(path.join(root, 'dist/page/main.js'))).toBe(true);
  });

  it('can run twice at the same time', async () => {
    for (const output of await Promise.all([launch(), launch()]))
      expect(output).toContain('first word later dist');
    expect(isBuilt(root)).toBe(true);
  });

  it('runs the sources where esbuild is not installed, and says what to run', async () => {
    rmSync(path.join(root, 'node_modules'));
    mkdirSync(path.join(root, 'node_modules'));
    for (const name of readdirSync(path.join(ROOT, 'node_modules')).filter((one) => one !== 'esbuild'))
      symlinkSync(path.join(ROOT, 'node_modules', name), path.join(root, 'node_modules', name));
    const output = await launch();
    expect(output).toContain(
      'could not be built (esbuild is not installed; "npm ci --include=dev" installs it)',
    );
    expect(output).toContain('first word later sources');
  });

  it('runs the sources where it may not write, and the build of someone who may', async () => {
    chmodSync(root, 0o555);
    const output = await launch('start', STRANGER);
    expect(output).toMatch(
      /could not be built \(EACCES: permission denied, mkdir '.*dist'; run "npm run build" as the owner of /,
    );
    expect(output).toContain('first word later sources');
    chmodSync(root, 0o755);
    await build();
    chmodSync(root, 0o555);
    expect(await launch('start', STRANGER)).toMatch(/^first word later dist/);
    chmodSync(root, 0o755);
  });

  it('runs the build where a source cannot be read', async () => {
    await build();
    chmodSync(path.join(root, 'src/later.ts'), 0);
    expect(await launch('start', STRANGER)).toMatch(/^first word later dist/);
  });

  it('says where a source is wrong, and leaves the build before as it was', async () => {
    await launch();
    const stamp = readFileSync(path.join(root, 'dist/stamp.json'), 'utf8');
    write('src/later.ts', 'export const later = ;');
    expect(await launch()).toMatch(/could not be built \(.*src\/later\.ts:1:21: ERROR: Unexpected ";"/s);
    expect(await build()).toMatch(/src\/later\.ts:1:21: ERROR: Unexpected ";"\nexit 1$/);
    expect(readFileSync(path.join(root, 'dist/stamp.json'), 'utf8')).toBe(stamp);
  });
});

describe('other commands', () => {
  it('do not build: they run the sources where the build is not of these', async () => {
    expect(await launch('status')).toMatch(/^first word later sources/);
    await launch();
    expect(await launch('status')).toMatch(/^first word later dist/);
  });
});

describe('a build', () => {
  it('leaves the files of the previous build, which a running gateway may load later, and no older ones', async () => {
    const chunk = (): string =>
      readdirSync(path.join(root, 'dist')).find((name) => /^later-.*js$/.test(name)) ?? '';
    await launch();
    const first = chunk();
    write('src/later.ts', "export const later = 'changed';");
    await launch();
    await build();
    expect(existsSync(path.join(root, 'dist', first))).toBe(true);
    write('src/later.ts', "export const later = 'changed again';");
    await launch();
    expect(existsSync(path.join(root, 'dist', first))).toBe(false);
    expect(await launch()).toContain('first word changed again dist');
  });

  it('removes what killed ones have left', async () => {
    const [abandoned, fresh] = ['dist/.next-1', 'dist/.next-2'];
    for (const folder of [abandoned, fresh]) mkdirSync(path.join(root, folder), { recursive: true });
    utimesSync(path.join(root, abandoned), 0, 0);
    await build();
    expect([abandoned, fresh].map((folder) => existsSync(path.join(root, folder)))).toEqual([false, true]);
  });

  it('has the permissions and the owner of the sources, whatever the umask', async () => {
    if (process.getuid?.() === 0) chownSync(path.join(root, 'package.json'), 65_534, 65_534);
    const command = `umask 077; exec ${process.execPath} src/launch/build.js`;
    await new Promise((resolve) => execFile('sh', ['-c', command], { cwd: root }, resolve));
    expect(await launch('start', STRANGER)).toMatch(/^first word later dist/);
    const source = statSync(path.join(root, 'package.json'));
    const { uid, mode } = statSync(path.join(root, 'dist/cli.js'));
    expect([uid, mode]).toEqual([source.uid, source.mode]);
  });

  it.runIf(process.platform === 'linux').each([
    ['SIGTERM', 'all of it'],
    ['SIGINT', 'all of it'],
    ['SIGTERM', 'the builder'],
    ['SIGKILL', 'the builder'],
  ] as const)(
    'that %s ends, sent to %s, leaves nothing and prints nothing of esbuild',
    async (signal, target) => {
      const program = path.join(root, 'src/launch/build.js');
      const child = spawn(process.execPath, [program], { cwd: root, detached: true });
      onTestFinished(() => {
        try {
          process.kill(-child.pid!, 'SIGKILL');
        } catch {
          // All of it has ended.
        }
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (text: Buffer) => (output += text.toString()));
      const ended = once(child, 'close');
      const builder = await vi.waitUntil(() => childrenOf(child.pid!)[0], POLL);
      const worker = await vi.waitUntil(() => childrenOf(builder)[0], POLL);
      process.kill(target === 'the builder' ? builder : -child.pid!, signal);
      await ended;
      await vi.waitUntil(() => !existsSync(`/proc/${worker}`), POLL);
      expect(output).toBe(target === 'the builder' ? `the build ended with ${signal}\n` : '');
      expect(existsSync(path.join(root, 'dist'))).toBe(false);
      expect(await launch()).toContain('first word later dist');
    },
  );
});

/** The processes that a process has started. */
function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    // It has ended.
    return [];
  }
}

describe('an installed package', () => {
  it('has no sources, and reports when it is incomplete', async () => {
    await build();
    rmSync(path.join(root, 'src/bundle.ts'));
    expect(await launch()).toMatch(/^first word later dist/);
    rmSync(path.join(root, 'dist/page/main.js'));
    expect(stampOf(root)).toBeUndefined();
    expect(await launch()).toBe(`The package in ${root} is not complete: install it again.\nexit 1`);
  });
});

describe('the page', () => {
  it('says which command builds it, as long as it is not built', async () => {
    const files = pathToFileURL(path.join(root, 'channels/http/page-files.ts')).href;
    const ask = `import('${files}').then((m) => m.readPageFiles()).then(() => console.log('read'), (e) => console.log(e.status, e.message))`;
    expect(await run(['-e', ask])).toContain(
      '503 The chat page is not built here: run "npm ci --include=dev && npm run build"',
    );
    await build();
    expect(await run(['-e', ask])).toBe('read\n');
  });
});
