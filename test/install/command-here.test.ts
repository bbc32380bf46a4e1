/** How texts name the command line: each form is tested in a shell, in the folder where the program was started. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commandHere } from '../../src/launch/command-here.js';
import { copyLauncher } from './copy-launcher.ts';

const start: Parameters<typeof commandHere>[0] = {
  given: undefined,
  linked: false,
  clone: '/home/ada/parley',
  folder: '/home/ada/parley',
  askedFrom: '/home/ada/parley',
  home: '/home/ada',
  windows: false,
};

describe('the name of the command line', () => {
  it.each([
    ['is npx parley in the clone', {}, 'npx parley'],
    [
      'is what the installation says',
      { given: 'docker compose exec gateway parley' },
      'docker compose exec gateway parley',
    ],
    ['is that of npx where the installation says nothing', { given: '' }, 'npx parley'],
    ['is parley where a shell finds it', { linked: true, folder: '/srv' }, 'parley'],
    ['is the file elsewhere', { folder: '/srv' }, 'node ~/parley/src/launch.js'],
    [
      'is the whole path for another account',
      { folder: '/srv', home: '/root' },
      'node /home/ada/parley/src/launch.js',
    ],
    ['leads to the clone where npm was called elsewhere', { askedFrom: '/srv' }, 'cd ~/parley && npx parley'],
    [
      'is npx parley where it is installed as a package',
      { clone: '/srv/node_modules/parley-gateway', folder: '/srv' },
      'npx parley',
    ],
    [
      'has odd paths in quotes',
      { clone: "/home/ada/it's mine", folder: '/srv' },
      String.raw`node ~/'it'\''s mine/src/launch.js'`,
    ],
    [
      'is quoted on Windows',
      { clone: String.raw`C:\My Parley`, folder: 'C:\\', windows: true },
      String.raw`node "C:\My Parley\src\launch.js"`,
    ],
  ])('%s', (_, facts, command) => {
    expect(commandHere({ ...start, ...facts })).toBe(command);
  });
});

describe('the command in a text', () => {
  let root = '';
  let clone = '';
  beforeEach(() => {
    root = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-here-')));
    clone = path.join(root, 'my clone');
    // Prints what texts start with, and the folder where home and database are looked up.
    copyLauncher(
      clone,
      'export const main = (args) => console.log(JSON.stringify([process.env.PARLEY_COMMAND, process.cwd(), ...args]));',
    );
    chmodSync(path.join(clone, 'src/launch.js'), 0o755);
    const project = { name: 'parley', version: '0.0.0', type: 'module', bin: { parley: 'src/launch.js' } };
    const scripts = { start: 'node src/launch.js start' };
    writeFileSync(path.join(clone, 'package.json'), JSON.stringify({ ...project, scripts }));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  /** Runs a line in a shell; returns what the program printed. */
  async function shell(line: string, folder: string, found: string[] = []): Promise<unknown[]> {
    const search = [...found, path.dirname(process.execPath), process.env['PATH'] ?? ''];
    const env = { PATH: search.join(path.delimiter), HOME: root };
    const { stdout } = await promisify(execFile)('sh', ['-c', line], { cwd: folder, env });
    const printed: unknown = JSON.parse(stdout.slice(stdout.indexOf('[')));
    return Array.isArray(printed) ? printed : [];
  }

  it.each([
    ['in the clone', 'npm start', 'my clone', 'npx parley'],
    ['by its file', "node 'my clone/src/launch.js' start", '', "node ~/'my clone/src/launch.js'"],
    ['by npm from elsewhere', "npm --prefix 'my clone' start", '', "cd ~/'my clone' && npx parley"],
  ])('works where the program is started %s, with the same home', async (_, line, below, command) => {
    const folder = path.join(root, below);
    const [named, runsIn] = await shell(line, folder);
    expect(named).toBe(command);
    const [, again, ...args] = await shell(`${command} open`, folder);
    expect([again, ...args]).toEqual([runsIn, 'open']);
  });

  it('works where it is linked, from any folder', async () => {
    const bin = path.join(root, 'bin');
    mkdirSync(bin);
    symlinkSync(path.join(clone, 'src/launch.js'), path.join(bin, 'parley'));
    const [named] = await shell('npm start', clone, [bin]);
    expect(named).toBe('parley');
    expect(await shell('parley open', root, [bin])).toEqual(['parley', root, 'open']);
  });

  it('is not another program of that name', async () => {
    const bin = path.join(root, 'bin');
    mkdirSync(bin);
    writeFileSync(path.join(bin, 'parley'), '#!/bin/sh\n', { mode: 0o755 });
    const [named] = await shell('npm start', clone, [bin]);
    expect(named).toBe('npx parley');
  });
});
