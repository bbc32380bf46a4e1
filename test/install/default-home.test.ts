/** Where a gateway keeps everything unless it is told: not in the folder of the program. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { homeOf } from '../../src/launch/default-home.js';

it('is in the home directory of the user, or in the working folder if it is there already', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-default-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [workingFolder, userFolder] = ['clone', 'me'].map((name) => path.join(folder, name)) as [
    string,
    string,
  ];
  for (const made of [workingFolder, userFolder]) mkdirSync(made, { mode: 0o700 });
  const home = (environment = {}) => homeOf(environment, { workingFolder, userFolder });
  const config = (key: string): string =>
    execFileSync(
      process.execPath,
      [path.resolve(import.meta.dirname, '../../src/launch.js'), 'config', 'get', key],
      { cwd: workingFolder, env: { PATH: process.env['PATH'], HOME: userFolder }, encoding: 'utf8' },
    ).trim();
  expect(home()).toBe(path.join(userFolder, '.parley'));
  mkdirSync(home(), { mode: 0o700 });
  writeFileSync(path.join(home(), 'config.json'), '{ "persona": "of the user" }', { mode: 0o600 });
  expect(config('persona')).toBe('of the user');
  const old = path.join(workingFolder, '.parley');
  mkdirSync(old, { mode: 0o700 });
  writeFileSync(path.join(old, 'config.json'), '{ "persona": "of the clone" }', { mode: 0o600 });
  expect(home()).toBe(old);
  expect(config('persona')).toBe('of the clone');
  expect(home({ GATEWAY_HOME: 'else' })).toBe(path.join(workingFolder, 'else'));
});
