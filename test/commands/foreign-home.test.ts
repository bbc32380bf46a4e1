/** A home, or a file that decides what runs, that belongs to another user of the machine: no command reads it. */
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withEnvFiles } from '../../src/commands/environment.ts';
import { foreignPlaces } from '../../src/security/index.ts';
import { parley } from '../child.ts';

/** nobody */
const OTHER = 65_534;

let folder = '';
let home = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'parley-foreign-'));
  home = path.join(folder, 'home');
  mkdirSync(home, { mode: 0o700 });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe.runIf(process.getuid?.() === 0)('a home of another user', () => {
  it.each(['start', 'config get', 'status', 'doctor', 'token', 'backup x.backup', 'logs', 'init --yes'])(
    'is refused by `parley %s` before anything in it is read',
    async (command) => {
      const mark = path.join(folder, 'ran');
      const server = { command: '/bin/sh', args: ['-c', `id > ${mark}`] };
      writeFileSync(path.join(home, 'config.json'), JSON.stringify({ mcp: { servers: { x: server } } }), {
        mode: 0o600,
      });
      writeFileSync(path.join(home, '.env'), 'PORT=broken\n', { mode: 0o600 });
      for (const place of [home, path.join(home, 'config.json')]) chownSync(place, OTHER, OTHER);
      chmodSync(home, 0o755);
      const { code, stderr } = await parley(command.split(' '), { GATEWAY_HOME: home });
      expect(code).toBe(1);
      expect(stderr).toContain(`${home} belongs to another user of this machine (uid ${OTHER})`);
      expect(stderr).toContain('Set GATEWAY_HOME to a folder of your own');
      expect(stderr).not.toContain('PORT');
      expect(existsSync(mark)).toBe(false);
    },
  );

  it.each(['config.json', '.env', 'token'])('may be only its %s, or a link there', (name) => {
    const file = path.join(home, name);
    writeFileSync(file, '{}', { mode: 0o600 });
    const read = () => withEnvFiles({ GATEWAY_HOME: home }, folder);
    expect(read()).toMatchObject({ GATEWAY_HOME: home });
    chownSync(file, OTHER, OTHER);
    expect(read).toThrow(`${file} belongs to another user`);
    const target = path.join(folder, 'target');
    renameSync(file, target);
    symlinkSync(target, file);
    expect(read).toThrow(`${file} belongs to another user`);
    chownSync(target, 0, 0);
    expect(read()).toMatchObject({ GATEWAY_HOME: home });
    lchownSync(file, OTHER, OTHER);
    expect(read).toThrow(`${file} belongs to another user`);
  });

  it('may be named by the .env of a folder that someone else owns, which is not read either', () => {
    writeFileSync(path.join(folder, '.env'), `GATEWAY_HOME=${home}\n`, { mode: 0o644 });
    expect(withEnvFiles({}, folder)).toMatchObject({ GATEWAY_HOME: home });
    chownSync(path.join(folder, '.env'), OTHER, OTHER);
    expect(() => withEnvFiles({}, folder)).toThrow(`${folder}/.env belongs to another user`);
  });

  it('may be that of root, and nothing needs to exist', () => {
    expect(foreignPlaces([home, path.join(home, 'missing')], 1_000)).toEqual([]);
    chownSync(home, 1_000, 1_000);
    expect(foreignPlaces([home], 1_000)).toEqual([]);
    expect(foreignPlaces([home], 1_001)).toHaveLength(1);
  });
});
