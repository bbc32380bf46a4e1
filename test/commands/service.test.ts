/** `parley service`: the files it writes, the commands it names, and what it refuses. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Machine } from '../../src/commands/service/service-machine.ts';
import { launchAgent, systemUnit, userUnit } from '../../src/commands/service/service-files.ts';
import { serviceCommand } from '../../src/commands/service/service.ts';
import { parley } from '../child.ts';

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
const here = { folder: '/opt/parley', home: '/srv/data', node: '/opt/node/bin/node' };

let scratch = '';
/** Programs that were run, and what they answer. */
let ran: string[] = [];
let answers: Record<string, { ok: boolean; output: string }> = {};
beforeEach(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'parley-service-'));
  ran = [];
  answers = {};
});
afterEach(() => rm(scratch, { recursive: true }));

const machine = (change: Partial<Machine> = {}): Machine => ({
  platform: 'linux',
  uid: 1000,
  userHome: path.join(scratch, 'me'),
  root: scratch,
  folder: '/opt/parley',
  node: '/opt/node/bin/node',
  hasSystemd: true,
  run(program, ...args) {
    const line = [program, ...args].join(' ');
    ran.push(line);
    return answers[line] ?? { ok: true, output: '' };
  },
  ...change,
});
const service = (words: string, change: Partial<Machine> = {}, env: Record<string, string> = {}) =>
  serviceCommand(words.split(' '), { GATEWAY_HOME: '/srv/data', ...env }, machine(change));

describe('parley service install', () => {
  it('writes a unit for oneself, and names the commands that come next', async () => {
    const { text, ok } = service('install');
    const file = path.join(scratch, 'me/.config/systemd/user/parley.service');
    expect(text.split('\n')).toEqual([
      `Written: ${file}`,
      'Next:',
      '  systemctl --user daemon-reload && systemctl --user enable --now parley',
      '  loginctl enable-linger    # it also runs while you are signed out',
      '  journalctl --user -u parley -f',
    ]);
    expect(ok).toBe(true);
    expect(await readFile(file, 'utf8')).toBe(userUnit(here));
    expect((await stat(file)).mode & 0o777).toBe(0o644);
    // It builds what the service runs, and enables nothing on its own.
    expect(ran).toEqual(['/opt/node/bin/node /opt/parley/src/launch/build.js']);
  });

  it('says when the program could not be built, and what to run', () => {
    answers['/opt/node/bin/node /opt/parley/src/launch/build.js'] = {
      ok: false,
      output: 'esbuild is not installed',
    };
    expect(service('install').text).toContain(
      '\nParley could not be built (esbuild is not installed): until "npm ci --include=dev && npm run build" in /opt/parley, the service runs from its sources.\nNext:',
    );
  });

  it('writes a unit of the machine for root, with an account that is made first where it is missing', async () => {
    answers['id -u parley'] = { ok: false, output: 'no such user' };
    const { text } = service('install', { uid: 0 }, { GATEWAY_HOME: '' });
    expect(text).toContain(
      '  useradd --system --home-dir /var/lib/parley --shell /usr/sbin/nologin parley\n  systemctl daemon-reload',
    );
    const written = await readFile(path.join(scratch, 'etc/systemd/system/parley.service'), 'utf8');
    expect(written).toContain('StateDirectory=parley\n');
    expect(written).toContain('User=parley\n');
    expect(service('install --as ann --replace', { uid: 0 }).text).not.toContain('useradd');
  });

  it('does not overwrite what a person has changed, unless asked to', async () => {
    service('install');
    const file = path.join(scratch, 'me/.config/systemd/user/parley.service');
    expect(service('install').text).toContain(`${file} is up to date.`);
    await writeFile(file, '# Mine.\n');
    expect(() => service('install')).toThrow(/differs from what this version writes: --replace/);
    expect(await readFile(file, 'utf8')).toBe('# Mine.\n');
    expect(service('install --replace').text).toContain('Written:');
    expect(await readFile(file, 'utf8')).toBe(userUnit(here));
  });

  it('writes a launch agent on a Mac', async () => {
    const { text } = service('install', { platform: 'darwin', uid: 501 });
    const file = path.join(scratch, 'me/Library/LaunchAgents/org.parley.gateway.plist');
    expect(text).toContain(`  launchctl bootstrap gui/501 ${file}\n`);
    expect(await readFile(file, 'utf8')).toBe(
      launchAgent(here, path.join(scratch, 'me/Library/Logs/parley.log')),
    );
    expect(() => service('install --system', { platform: 'darwin' })).toThrow(/leave --system out/);
  });

  it('writes nothing with --print, also where no systemd runs', async () => {
    expect(service('install --print', { hasSystemd: false }).text).toBe(userUnit(here));
    const { stdout, code } = await parley(['service', 'install', '--print', '--system'], {
      GATEWAY_HOME: scratch,
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\[Unit\]\n[^]*\nExecStart=\S*node --\S+ --\S+ src\/launch\.js start\n/);
  });

  it.each([
    ['win32', true],
    ['linux', false],
  ] as const)('says what to do on %s without systemd and launchd', (platform, hasSystemd) => {
    expect(() => service('install', { platform, hasSystemd: platform === 'linux' && hasSystemd })).toThrow(
      /neither systemd nor launchd here: let your own supervisor run ".* start"/,
    );
  });

  it.each([
    '',
    'start',
    'install now',
    'install --system --user',
    'install --user --as ann',
    'status --print',
  ])('refuses "%s"', (words) => {
    expect(() => service(words)).toThrow(/Expected: service install\|uninstall\|status/);
  });
});

describe('parley service status and uninstall', () => {
  it('say whether it is there and runs, stop it before its file goes, and then say that it is not there', () => {
    expect(service('status')).toMatchObject({ ok: false, text: expect.stringContaining('Not installed') });
    service('install');
    answers['systemctl --user is-active parley.service'] = { ok: false, output: 'failed' };
    expect(service('status')).toMatchObject({ ok: false, text: expect.stringContaining('(failed)') });
    answers = {};
    expect(service('status')).toMatchObject({ ok: true, text: expect.stringContaining('It is running.') });
    ran = [];
    const { text } = service('uninstall');
    expect(ran).toEqual(['systemctl --user disable --now parley.service']);
    expect(text).toMatch(/^Stopped: .*\nRemoved: .*\nNext:\n {2}systemctl --user daemon-reload$/);
    expect(service('uninstall').text).toContain('There is no ');
  });

  it('leave the file where the service cannot be stopped, because the program for it is missing', async () => {
    service('install');
    expect(() => service('uninstall', { run: () => undefined })).toThrow(/systemctl is not there/);
    expect(await readFile(path.join(scratch, 'me/.config/systemd/user/parley.service'), 'utf8')).toContain(
      'ExecStart',
    );
  });
});

describe('the files of a service', () => {
  const odd = { folder: '/opt/my "par" 100%', home: "/srv/it's $HOME", node: '/opt/no de/node' };

  it('keep blanks, quotes, dollar and percent signs of paths, and refuse a line break', () => {
    const unit = userUnit(odd);
    expect(unit).toContain('WorkingDirectory=/opt/my "par" 100%%\n');
    expect(unit).toContain(`"GATEWAY_HOME=/srv/it's $HOME"`);
    expect(unit).toContain(
      'ExecStart="/opt/no de/node" --max-semi-space-size=16 --v8-pool-size=2 src/launch.js start\n',
    );
    expect(() => userUnit({ ...odd, home: '/srv\nExecStartPre=rm' })).toThrow(/cannot have this path/);
    expect(launchAgent({ ...odd, folder: '/a & <b>' }, '/log')).toContain(
      '<string>/a &amp; &lt;b&gt;</string>',
    );
  });

  it('let a unit of the machine write to its own home alone, and read a clone in the home of a person', () => {
    const system = { ...here, account: 'parley', exec: false };
    expect(systemUnit(system)).toContain('ReadWritePaths=/srv/data\n');
    expect(systemUnit(system)).toContain('ProtectHome=yes\n');
    expect(systemUnit({ ...system, folder: '/home/ann/parley' })).toContain('ProtectHome=read-only\n');
  });

  it('leave out what keeps the sandbox of exec from starting, where exec is on', () => {
    expect(systemUnit({ ...here, account: 'parley', exec: true })).not.toMatch(
      /RestrictNamespaces|SystemCallFilter/,
    );
    expect(systemUnit({ ...here, account: 'parley', exec: false })).toContain(
      'RestrictNamespaces=user net ipc\n',
    );
  });

  it.skipIf(!hasSystemd)(
    'are accepted by systemd, of the machine and of a person, with odd paths, too',
    async () => {
      const folder = path.join(scratch, 'my clone 100%');
      const place = { folder: '/tmp', home: folder, node: process.execPath };
      const units = [
        systemUnit({ ...place, account: 'root', exec: false }),
        systemUnit({ ...place, home: '/var/lib/parley', account: 'root', exec: true }),
        userUnit(place),
      ];
      for (const unit of units) {
        const file = path.join(scratch, 'parley.service');
        await writeFile(file, unit);
        const { stderr, status } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
        expect(stderr.split('\n').filter((line) => line.includes('parley'))).toEqual([]);
        expect(status).toBe(0);
      }
    },
  );
});
