/** `parley skill` over a real home: where skills come from, who trusts them, and what is refused. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { zipSync } from 'fflate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { skillCommand } from '../../src/commands/packages/skill.ts';
import { MAX_DIFF_LINES } from '../../src/skills/describe.ts';
import {
  MAX_SKILL_BYTES,
  MAX_SKILL_DEPTH,
  MAX_SKILL_FILE_BYTES,
  MAX_SKILL_FILES,
} from '../../src/skills/read-folder.ts';

const head = (name: string, more = ''): string =>
  `---\nname: ${name}\ndescription: How to do ${name}. Use it when ${name} comes up.\n${more}---\n\n# ${name}\n\nDo it.\n`;

/** A home and a folder beside it; `run` answers the questions of the command in order. */
async function place() {
  const root = await mkdtemp(path.join(os.tmpdir(), 'parley-skill-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const home = path.join(root, 'home');
  const from = path.join(root, 'from');
  const put = async (files: Record<string, string | Buffer>): Promise<void> => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(from, name)), { recursive: true });
      await writeFile(path.join(from, name), text);
    }
  };
  await mkdir(home, { recursive: true });
  await put({});
  const lines: string[] = [];
  const run = async (args: string[], ...answers: string[]): Promise<string> => {
    lines.length = 0;
    const dialog = {
      say: (text: string) => void lines.push(text),
      progress: () => undefined,
      ask: (question: string, fallback: string) => {
        lines.push(question);
        return Promise.resolve(answers.shift() ?? fallback);
      },
      close: () => undefined,
    };
    return await skillCommand(args, { GATEWAY_HOME: home }, dialog);
  };
  const live = path.join(home, 'workspace', 'skills');
  return { home, from, live, put, run, text: () => lines.join('\n') };
}

describe('parley skill', () => {
  it('adds a folder once an owner trusts it, and shows first what it holds and asks for', async () => {
    const { from, live, put, run, text } = await place();
    await put({
      'tea/SKILL.md': head(
        'tea',
        'license: MIT\ncompatibility: Needs a kettle\nallowed-tools: Bash(kettle:*) Read\n',
      ),
      'tea/scripts/boil.sh': '#!/bin/sh\necho hot\n',
      'tea/references/leaves.md': 'Green.',
    });
    await chmod(path.join(from, 'tea/scripts/boil.sh'), 0o755);
    expect(await run(['list'])).toContain('No skills yet.');
    expect(await run(['add', path.join(from, 'tea')], 'y')).toBe('Added: tea. The next message has it.');
    expect(text()).toContain('tea: How to do tea. Use it when tea comes up.');
    expect(text()).toContain('programs: scripts/boil.sh');
    expect(text()).toContain('license: MIT');
    expect(text()).toContain('needs: Needs a kettle');
    expect(text()).toContain('asks for: Bash(kettle:*) Read (this grants nothing');
    expect(await readFile(path.join(live, 'tea/references/leaves.md'), 'utf8')).toBe('Green.');
    execFileSync(path.join(live, 'tea/scripts/boil.sh'));
    expect(await run([])).toContain(`tea  (from ${path.join(from, 'tea')})`);
    await expect(run(['add', path.join(from, 'tea')])).rejects.toThrow('skill update tea');
    expect(await run(['show', 'tea'])).toContain('files: 3');
    expect(await run(['remove', 'tea'])).toBe('Removed: tea.');
    expect(existsSync(path.join(live, 'tea'))).toBe(false);
    await expect(run(['remove', 'tea'])).rejects.toThrow('There is no skill tea. There are none yet.');
  });

  it('keeps a skill from the model until it is trusted', async () => {
    const { from, home, live, put, run } = await place();
    await put({ 'tea/SKILL.md': head('tea') });
    expect(await run(['add', from], '')).toContain('Added, but not trusted: tea.');
    expect(existsSync(path.join(live, 'tea'))).toBe(false);
    expect(await run([])).toContain('not trusted: the model does not see it');
    await writeFile(path.join(home, 'skills-waiting/tea/SKILL.md'), head('tea', 'license: other\n'));
    await expect(run(['trust', 'tea'])).rejects.toThrow('are not those that were added');
    await writeFile(path.join(home, 'skills-waiting/tea/SKILL.md'), head('tea'));
    expect(await run(['trust', 'tea'])).toBe('Trusted: tea. The next message has it.');
    expect(await readFile(path.join(live, 'tea/SKILL.md'), 'utf8')).toBe(head('tea'));
    expect(await run(['trust', 'tea'])).toContain('sees tea already');
  });

  it('takes those of many that were named, from a Git repository whose password it does not keep', async () => {
    const { from, home, put, run, live } = await place();
    await put({
      'skills/tea/SKILL.md': head('tea'),
      'skills/coffee/SKILL.md': head('coffee'),
      'skills/coffee/node_modules/x/SKILL.md': head('x'),
      'README.md': 'no skill',
    });
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd: from });
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '-m', 'first');
    const url = `file://${from}`;
    await expect(run(['add', url])).rejects.toThrow(
      'The source holds 2 skills. Name those you want after it, or add --all: coffee, tea.',
    );
    await expect(run(['add', url, 'water'])).rejects.toThrow('holds no skill water. It holds: coffee, tea.');
    expect(await run(['add', url, 'tea', '--trust'])).toContain('Added: tea.');
    expect(await readdir(live)).toEqual(['tea']);
    expect(await readdir(path.join(live, 'tea'))).toEqual(['SKILL.md']);
    expect(await readdir(path.join(home, 'skills-waiting'))).toEqual([]);
    await expect(run(['add', 'https://name:secret@127.0.0.1:1/x.git'])).rejects.toThrow(
      /^https:\/\/127\.0\.0\.1:1\/x\.git cannot be fetched\. Git says: (?!.*secret)/,
    );
  });

  it('adds a .zip file', async () => {
    const { from, live, put, run } = await place();
    const bytes = (text: string) => new TextEncoder().encode(text);
    const zip = zipSync({
      'tea-main/SKILL.md': bytes(head('tea')),
      'tea-main/scripts/a.py': bytes('print(1)'),
      '__MACOSX/x': bytes('x'),
    });
    await put({ 'tea.zip': Buffer.from(zip) });
    expect(await run(['add', path.join(from, 'tea.zip'), '--trust'])).toContain('Added: tea.');
    expect(await readFile(path.join(live, 'tea/scripts/a.py'), 'utf8')).toBe('print(1)');
  });

  it('shows what an update changes, and installs it when the owner agrees', async () => {
    const { from, live, put, run, text } = await place();
    await put({ 'tea/SKILL.md': head('tea'), 'tea/a.bin': Buffer.from([0, 1]), 'tea/old.md': 'old\n' });
    await run(['add', from, '--trust']);
    expect(await run(['update', 'tea'])).toBe('tea: nothing is new.');
    await put({
      'tea/SKILL.md': head('tea').replace('Do it.', 'Do it twice.'),
      'tea/a.bin': Buffer.from([0, 2]),
    });
    await rm(path.join(from, 'tea/old.md'));
    expect(await run(['update'], 'n')).toContain('tea: the installed version stays.');
    expect(text()).toContain('-Do it.\n+Do it twice.');
    expect(text()).toContain('a.bin: changed, not shown because it is no text');
    expect(text()).toContain('-old');
    expect(await readFile(path.join(live, 'tea/SKILL.md'), 'utf8')).toContain('Do it.\n');
    await writeFile(path.join(live, 'tea/SKILL.md'), 'changed here');
    await writeFile(path.join(live, 'tea/SKILL.md'), head('tea').replace('Do it.', 'Do it my way.'));
    expect(await run([])).toContain('changed since it was installed');
    expect(await run(['update', 'tea'], 'yes')).toBe('Updated: tea.');
    expect(text()).toContain('The files here were changed since they were installed; that is lost.');
    expect(await readdir(path.join(live, 'tea'))).toEqual(['SKILL.md', 'a.bin']);
    expect(await readFile(path.join(live, 'tea/SKILL.md'), 'utf8')).toContain('twice');
    await rename(path.join(from, 'tea'), path.join(from, 'gone'));
    await put({ 'gone/SKILL.md': head('other') });
    expect(await run(['update', '--yes'])).toContain('does not hold it any more');
  });

  it(`shows at most ${MAX_DIFF_LINES} lines of a change, and says how many there are`, async () => {
    const { from, put, run, text } = await place();
    const lines = (count: number, word: string): string =>
      Array.from({ length: count }, (_, n) => `${word} ${n}\n`).join('');
    await put({ 'SKILL.md': head('tea'), 'short.md': '', 'long.md': '' });
    await run(['add', from, '--trust']);
    // Four lines come before the first one that was added, and one after the last.
    await put({ 'short.md': lines(MAX_DIFF_LINES - 5, 's'), 'long.md': lines(MAX_DIFF_LINES - 4, 'l') });
    await run(['update', 'tea', '--yes']);
    expect(text()).toContain(`+s ${MAX_DIFF_LINES - 6}`);
    expect(text()).not.toContain('more lines of short.md');
    expect(text()).toContain('[… 1 more lines of long.md …]');
  });

  it('goes back to the version before when it was killed between the two', async () => {
    const { from, home, live, put, run } = await place();
    await put({ 'tea/SKILL.md': head('tea') });
    await run(['add', from, '--trust']);
    await rename(path.join(live, 'tea'), path.join(home, 'skills-waiting/.old-tea'));
    expect(await run([])).toContain('tea  (from');
    expect(await readdir(live)).toEqual(['tea']);
    expect(await readdir(path.join(home, 'skills-waiting'))).toEqual([]);
  });

  it('lists what people wrote into the folder themselves', async () => {
    const { live, run } = await place();
    await mkdir(path.join(live, 'own'), { recursive: true });
    await writeFile(path.join(live, 'own/SKILL.md'), head('own'));
    await mkdir(path.join(live, 'broken'));
    expect(await run([])).toContain('own  (written here)');
    expect(await run([])).toContain('problem: broken is no skill: it has no file SKILL.md.');
    expect(await run(['update', 'own'])).toContain('was written here');
  });
});

describe('a source', () => {
  it.each<[string, (at: Awaited<ReturnType<typeof place>>) => Promise<string>, RegExp]>([
    [
      'that does not exist',
      ({ from }) => Promise.resolve(path.join(from, 'x')),
      /^There is no folder or file .* Give a folder, a \.zip file/,
    ],
    [
      'without a skill',
      async ({ from, put }) => (await put({ 'a.md': 'x' }), from),
      /holds no skill: no folder of it has a SKILL\.md/,
    ],
    [
      'without a description',
      async ({ from, put }) => (await put({ 'SKILL.md': '---\nname: tea\n---' }), from),
      /is no skill: it has no description: the model cannot know when to use it\.$/,
    ],
    [
      'that is not UTF-8',
      async ({ from, put }) => (
        await put({ 'SKILL.md': Buffer.from([...Buffer.from(head('tea')), 0xff]) }),
        from
      ),
      /SKILL\.md is not UTF-8/,
    ],
    [
      'with a link out of its folder',
      async ({ from, put }) => {
        await put({ 'SKILL.md': head('tea') });
        await symlink('/etc/passwd', path.join(from, 'notes.md'));
        return from;
      },
      /notes\.md is a link/,
    ],
    [
      'with a file too many',
      async ({ from, put }) => {
        await put({ 'SKILL.md': head('tea') });
        await put(Object.fromEntries(Array.from({ length: MAX_SKILL_FILES }, (_, n) => [`f${n}`, ''])));
        return from;
      },
      /more than 500 files/,
    ],
    [
      'with a byte too many',
      async ({ from, put }) => {
        await put({ 'SKILL.md': head('tea'), big: Buffer.alloc(MAX_SKILL_BYTES - head('tea').length + 1) });
        return from;
      },
      /larger than 8 MiB together/,
    ],
    [
      'whose SKILL.md is too large',
      async ({ from, put }) => {
        await put({ 'SKILL.md': head('tea').padEnd(MAX_SKILL_FILE_BYTES + 1) });
        return from;
      },
      /SKILL\.md is larger than 256 KiB/,
    ],
    [
      'that is too deep',
      async ({ from, put }) => {
        await put({ 'SKILL.md': head('tea'), [`${'d/'.repeat(MAX_SKILL_DEPTH + 1)}x`]: 'x' });
        return from;
      },
      /more than 10 deep/,
    ],
    [
      'whose archive leads elsewhere',
      async ({ from, put }) => {
        await put({ 'x.zip': Buffer.from(zipSync({ '../../evil/SKILL.md': Buffer.from(head('tea')) })) });
        return path.join(from, 'x.zip');
      },
      /leads out of its folder/,
    ],
    [
      'whose archive is a bomb',
      async ({ from, put }) => {
        await put({
          'x.zip': Buffer.from(
            zipSync({ 'a/SKILL.md': Buffer.from(head('tea')), 'a/zeros': Buffer.alloc(40 * 1024 * 1024) }),
          ),
        });
        return path.join(from, 'x.zip');
      },
      /holds more than 32 MiB/,
    ],
    [
      'that is no archive',
      async ({ from, put }) => (await put({ 'x.zip': 'PK no' }), path.join(from, 'x.zip')),
      /is no \.zip file, or a damaged one/,
    ],
  ])('%s is refused in words, and nothing is installed', async (_, make, words) => {
    const at = await place();
    const source = await make(at);
    await expect(at.run(['add', source, '--trust'])).rejects.toThrow(words);
    expect(await readdir(path.join(at.home, 'skills-waiting')).catch(() => [])).toEqual([]);
    expect(existsSync(at.live)).toBe(false);
  });

  it('may be exactly as large as the limits', async () => {
    const { from, put, run } = await place();
    await put({
      'SKILL.md': head('tea').padEnd(MAX_SKILL_FILE_BYTES),
      big: Buffer.alloc(MAX_SKILL_BYTES - MAX_SKILL_FILE_BYTES),
    });
    await put(
      Object.fromEntries(
        Array.from({ length: MAX_SKILL_FILES - 2 }, (_, n) => [`${'d/'.repeat(MAX_SKILL_DEPTH)}f${n}`, '']),
      ),
    );
    expect(await run(['add', from, '--trust'])).toContain('Added: tea.');
  });
});
