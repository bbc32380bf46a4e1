/** Which Node.js Parley starts on, and where compiled code is stored, with several Node.js versions to choose from. */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compileCacheFolder } from '../../src/launch/compile-cache.js';
import { copyLauncher } from './copy-launcher.ts';

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url));
const PACKAGE = `node-${process.platform}-${process.arch}`;

let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'parley-launch-'));
  // Reports which Node.js it runs on instead of starting a gateway.
  copyLauncher(
    root,
    'export const main = (args) => console.log("runs on", process.versions.node, process.execPath, ...args);',
  );
  writeFileSync(path.join(root, 'package.json'), '{"type": "module"}');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A program that only prints its name and arguments, in place of another Node.js. */
function pretendNode(place: string, name: string): string {
  const file = path.join(root, place);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\necho "${name} is given" "$@"\n`, { mode: 0o755 });
  return file;
}

/** The Node.js of these tests, as if it were installed with the packages. */
function realPackage(): string {
  const file = path.join(root, 'node_modules', PACKAGE, 'bin/node');
  mkdirSync(path.dirname(file), { recursive: true });
  try {
    linkSync(process.execPath, file);
  } catch {
    copyFileSync(process.execPath, file);
  }
  return file;
}

interface Pretence {
  /** What the running Node.js reports about itself; default: the truth. */
  version?: string;
  platform?: string;
  arch?: string;
  node?: string;
  env?: Record<string, string>;
}

/** Runs `launch.js start`; returns both streams and the exit code. */
async function launch({
  version,
  platform,
  arch,
  node = process.execPath,
  env,
}: Pretence = {}): Promise<string> {
  const changed = [
    version &&
      `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });`,
    platform && `Object.defineProperty(process, "platform", { value: "${platform}" });`,
    arch && `Object.defineProperty(process, "arch", { value: "${arch}" });`,
  ].filter(Boolean);
  const options =
    changed.length === 0 ? [] : ['--import', `data:text/javascript,${encodeURIComponent(changed.join(''))}`];
  return await new Promise((resolve) => {
    execFile(
      node,
      [...options, path.join(root, 'src/launch.js'), 'start'],
      { cwd: root, env: { PATH: process.env['PATH'] ?? '', ...env } },
      (error, stdout, stderr) => resolve(`${stdout}${stderr}exit ${error === null ? 0 : error.code}`),
    );
  });
}

describe('the launcher', () => {
  it.each(['20.20.2', '22.12.0', '24.0.0', '24.13.9', '24.14.0'])(
    'does not run on Node.js %s, but on the one installed with the packages',
    async (version) => {
      pretendNode(`node_modules/${PACKAGE}/bin/node`, 'the packaged one');
      const told = await launch({ version });
      expect(told).toContain('the packaged one is given');
      expect(told).toMatch(/src\/launch\.js start\nexit 0$/);
    },
  );

  it.each(['24.14.1', '24.15.0', '25.0.0', '26.3.1'])('runs on Node.js %s itself', async (version) => {
    pretendNode(`node_modules/${PACKAGE}/bin/node`, 'the packaged one');
    expect(await launch({ version })).toContain(`runs on ${version}`);
  });

  it.each([
    ['darwin', 'arm64'],
    ['linux', 'riscv64'],
  ])('says what to install when no package is current: %s %s', async (platform, arch) => {
    pretendNode('node_modules/.bin/node', 'whatever lies there');
    pretendNode(`node_modules/node-bin-${platform}-${arch}/bin/node`, 'an old one');
    const told = await launch({ version: '24.0.0', platform, arch });
    expect(told).toContain(
      `none came with the packages for ${platform}-${arch}. Install Node.js 24.14.1 or newer`,
    );
    expect(told).toMatch(/exit 1$/);
  });

  it('prefers this machine’s Node.js, which npm runs on, over that of the packages', async () => {
    const node = realPackage();
    const own = pretendNode('machine/node', 'this machine’s own');
    const npm = (version: string, file = own): Record<string, string> => ({
      npm_node_execpath: file,
      npm_config_user_agent: `npm/11.6.0 node/v${version} linux x64 workspaces/false`,
    });
    expect(await launch({ node, env: npm('24.14.1') })).toMatch(
      /this machine’s own is given .*launch\.js start\nexit 0/,
    );
    for (const env of [
      npm('24.14.0'),
      npm('20.20.2'),
      npm('26.0.0', node),
      npm('26.0.0', '/no/such/node'),
      {},
    ])
      expect(await launch({ node, env })).toContain(`runs on ${process.versions.node} ${node} start`);
  });

  it('asks for the same version in package.json', async () => {
    const told = await launch({ version: '18.0.0' });
    const { default: project } = await import('../../package.json', { with: { type: 'json' } });
    expect(told).toContain(
      `needs Node.js ${project.engines.node.replace('>=', '')} or newer (this is 18.0.0)`,
    );
  });
});

describe('compiled code', () => {
  it('is stored with the packages when no one else can write there', async () => {
    mkdirSync(path.join(root, 'node_modules'), { mode: 0o755 });
    const temporary = path.join(root, 'tmp');
    mkdirSync(temporary);
    await launch({ env: { TMPDIR: temporary } });
    const folder = path.join(root, 'node_modules/.cache/parley');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(readdirSync(folder)).not.toEqual([]);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('is stored in the home when the packages belong to someone else, and nowhere when that is open as well', () => {
    const [packages, home] = [path.join(root, 'packages'), path.join(root, 'home')];
    mkdirSync(packages);
    chmodSync(packages, 0o777);
    expect(compileCacheFolder(packages, home)).toBeUndefined();
    expect(existsSync(home)).toBe(false);
    mkdirSync(home, { mode: 0o700 });
    expect(compileCacheFolder(packages, home)).toBe(path.join(home, 'cache'));
    chmodSync(home, 0o770);
    expect(compileCacheFolder(packages, home)).toBeUndefined();
    chmodSync(packages, 0o755);
    expect(compileCacheFolder(packages, home)).toBe(path.join(packages, '.cache/parley'));
  });

  it('is not stored in a folder that someone prepared: another owner, a link, open to others', () => {
    const packages = path.join(root, 'packages');
    const nowhere = path.join(root, 'nowhere');
    mkdirSync(path.join(packages, '.cache'), { recursive: true });
    const prepared = path.join(packages, '.cache/parley');
    mkdirSync(prepared);
    chmodSync(prepared, 0o755);
    expect(compileCacheFolder(packages, nowhere)).toBeUndefined();
    rmSync(prepared, { recursive: true });
    symlinkSync(root, prepared);
    expect(compileCacheFolder(packages, nowhere)).toBeUndefined();
    // As root, a folder can be given away; other users find one of root's.
    const foreign = process.getuid?.() === 0 ? packages : '/usr';
    if (foreign === packages) chownSync(packages, 65_534, 65_534);
    rmSync(prepared);
    expect(compileCacheFolder(foreign, nowhere)).toBeUndefined();
  });
});

it('loads nothing typed before there is a cache (the type stripper takes 25 MB)', () => {
  const text = readFileSync(path.join(SOURCES, 'launch.js'), 'utf8');
  const before = text.slice(0, text.search(/enableCompileCache\??\.?\(/));
  expect(before.length).toBeGreaterThan(100);
  const loaded = [...before.matchAll(/^(?:import .* from |.*await import\()'(.+)'/gm)].map(
    ([, name]) => name,
  );
  expect(loaded.length).toBeGreaterThan(1);
  expect(loaded.filter((name) => name?.endsWith('.ts'))).toEqual([]);
});

describe.runIf(process.platform === 'linux' && existsSync('/bin/bash'))('what the shell has open', () => {
  it('reaches no program that Parley starts', async () => {
    copyLauncher(
      root,
      `import { execFileSync } from 'node:child_process';
       export const main = () => console.log(execFileSync('/bin/ls', ['/proc/self/fd'], { encoding: 'utf8' }));`,
    );
    const launcher = path.join(root, 'src/launch.js');
    const script = `exec 9>/dev/null 251>"${root}/log"; exec "${process.execPath}" "${launcher}" start`;
    const { stdout } = await promisify(execFile)('/bin/bash', ['-c', script], {
      env: { GATEWAY_HOME: root },
    });
    const open = stdout.trim().split('\n').map(Number);
    expect(open).not.toContain(251);
    // Its standard descriptors, and the folder that it lists.
    expect(open.filter((fd) => fd > 3)).toEqual([]);
  });
});
