/** `parley plugin`: what an owner sees, agrees to, and gets. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { pluginCommand } from '../../src/commands/packages/plugin.ts';
import { toolFacts, toolsSource, writePlugin } from './harness.ts';

const run = promisify(execFile);
const TOOLS = { tools: toolFacts('run') };
const MAIN = toolsSource(`run: async () => 'done'`);

/** A home, and the command on it; `answers` are what a person types. */
async function openHome() {
  const home = await mkdtemp(path.join(tmpdir(), 'parley-home-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const env = { GATEWAY_HOME: home, PATH: process.env['PATH'] };
  const shown: string[] = [];
  const command = async (args: string[], ...answers: string[]): Promise<string> => {
    const dialog = {
      say: (text: string) => void shown.push(text),
      progress: () => undefined,
      ask: (question: string) => {
        shown.push(question);
        return Promise.resolve(answers.shift() ?? '');
      },
      close: () => undefined,
    };
    return await pluginCommand(args, env, dialog);
  };
  return { home, command, shown, installed: path.join(home, 'plugins/toy') };
}

it('shows the rights and asks once; without a yes nothing is installed', async () => {
  const { command, shown, installed } = await openHome();
  const folder = await writePlugin({ ...TOOLS, rights: { network: ['*.example.org'] } }, MAIN);
  expect(await command(['add', folder], 'no')).toContain('Not added: toy.');
  expect(shown.join('\n')).toMatch(/may:\n {4}connect to \*\.example\.org\n/);
  expect(existsSync(installed)).toBe(false);
  expect(await command(['add', folder], 'yes')).toBe('Added: toy. Restart the gateway.');
  expect(await readFile(path.join(installed, 'main.js'), 'utf8')).toBe(MAIN);
  await expect(command(['add', folder, '--yes'])).rejects.toThrow('There is a plug-in toy already');
  expect(await command([])).toMatch(/^toy {2}\(version 1\.0\.0, 1 tool, from /);
});

it('installs nothing that does not keep the contract, and says what failed', async () => {
  const { command, shown, installed } = await openHome();
  const broken = await writePlugin({ tools: toolFacts('run', 'walk') }, MAIN);
  await expect(command(['add', broken, '--yes'])).rejects.toThrow(
    'toy does not keep the contract, and is not installed.',
  );
  expect(shown.join('\n')).toMatch(
    /^failed +has every function that its manifest promises: missing: tool\.walk$/m,
  );
  const crashing = await writePlugin(TOOLS, `process.abort();`);
  await expect(command(['check', crashing])).rejects.toThrow(/^failed +starts in its own process.*ended/m);
  expect(existsSync(installed)).toBe(false);
});

it('refuses a folder without a manifest, with a link, or with a name that is taken', async () => {
  const { command } = await openHome();
  const folder = await writePlugin(TOOLS, MAIN);
  await symlink('/etc/passwd', path.join(folder, 'passwords'));
  await expect(command(['add', folder, '--yes'])).rejects.toThrow('toy is no plug-in: passwords is a link.');
  await rm(path.join(folder, 'passwords'));
  await rm(path.join(folder, 'main.js'));
  await expect(command(['add', folder, '--yes'])).rejects.toThrow(
    'its parley.plugin.json names main.js, which does not exist',
  );
  await rm(path.join(folder, 'parley.plugin.json'));
  await expect(command(['add', folder, '--yes'])).rejects.toThrow('it has no file parley.plugin.json');
  const taken = await writePlugin({ ...TOOLS, name: 'http' }, MAIN);
  await expect(command(['add', taken, '--yes'])).rejects.toThrow('The name http is taken here');
});

it('says that changed files are not started, and installs them again with update', async () => {
  const { command, installed } = await openHome();
  const folder = await writePlugin(TOOLS, MAIN);
  await command(['add', folder, '--yes']);
  await appendFile(path.join(installed, 'main.js'), '\n// changed');
  expect(await command([])).toContain('changed since it was installed: it is not started');
  await expect(command(['check', 'toy'])).rejects.toThrow(
    'The files of the plug-in toy are not those that were installed.',
  );
  expect(await command(['update', 'toy', '--yes'])).toBe('Updated: toy. Restart the gateway.');
  expect(await command([])).not.toContain('changed since');
});

it('shows what an update changes and which rights are new, and leaves a pinned one alone', async () => {
  const { command, shown } = await openHome();
  const folder = await writePlugin(TOOLS, MAIN);
  await command(['add', folder, '--yes']);
  expect(await command(['update'])).toBe('toy: nothing is new.');
  const manifest = path.join(folder, 'parley.plugin.json');
  const next = (await readFile(manifest, 'utf8'))
    .replace('1.0.0', '1.1.0')
    .replace('"main"', '"rights":{"network":["api.example.org"]},"main"');
  await writeFile(manifest, next);
  expect(await command(['pin', 'toy'])).toContain('Pinned: toy at 1.0.0.');
  expect(await command(['update'])).toBe('toy: pinned at 1.0.0.');
  await command(['pin', 'toy', '--off']);
  expect(await command(['update'], 'no')).toBe('toy: the installed version stays. --yes agrees.');
  expect(shown.join('\n')).toMatch(
    /toy 1\.0\.0 → 1\.1\.0\n {2}new rights:\n {4}connect to api\.example\.org\n/,
  );
  expect(await command(['update'], 'y')).toBe('Updated: toy. Restart the gateway.');
  expect(await command(['remove', 'toy'])).toContain('Removed: toy.');
  expect(await command([])).toContain('No plug-ins yet.');
});

it('comes from a package of npm and from a Git repository, running nothing of it', async () => {
  const { command, home } = await openHome();
  const folder = await writePlugin(TOOLS, MAIN);
  const scripts = { preinstall: `touch ${home}/ran`, prepack: `touch ${home}/ran` };
  await writeFile(
    path.join(folder, 'package.json'),
    JSON.stringify({ name: 'parley-toy', version: '1.0.0', type: 'module', scripts }),
  );
  const packing = await run('npm', ['pack', '--ignore-scripts', '--silent'], { cwd: folder });
  const archive = path.join(folder, packing.stdout.trim());
  expect(await command(['add', archive, '--yes'])).toContain('Added: toy.');
  await command(['remove', 'toy']);
  await rm(archive);
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd: folder });
  await git('init', '-q');
  await git('add', '.');
  await git('commit', '-qm', 'First');
  expect(await command(['add', `file://${folder}`, '--yes'])).toContain('Added: toy.');
  expect(existsSync(path.join(home, 'ran'))).toBe(false);
  await writeFile(path.join(home, 'bad.tgz'), 'not an archive');
  await expect(command(['add', path.join(home, 'bad.tgz'), '--yes'])).rejects.toThrow(
    'bad.tgz is no .tgz file, or a damaged one.',
  );
}, 60_000);

it('installs the skills of a plug-in with it', async () => {
  const { command, home } = await openHome();
  const folder = await writePlugin({ main: undefined, skills: ['.'] }, MAIN);
  await writeFile(path.join(folder, 'SKILL.md'), '---\nname: toying\ndescription: How to toy.\n---\nPlay.');
  expect(await command(['add', folder, '--yes'])).toContain('Added: toy.');
  expect(existsSync(path.join(home, 'workspace/skills/toying/SKILL.md'))).toBe(true);
});
