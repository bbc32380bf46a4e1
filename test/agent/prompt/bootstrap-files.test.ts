/** The gateway's own files in the prompt: fresh, limited in size, and never in the way. */
import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  CHECK_EVERY_MS,
  createBootstrapFiles,
  createFileCache,
  MAX_BOOTSTRAP_BYTES,
  MAX_DESCRIPTION_CHARS,
  MAX_SKILLS,
  readSkill,
} from '../../../src/agent/prompt/bootstrap-files.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';

async function gateway(files: Record<string, string> = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-files-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const write = async (name: string, text: string): Promise<void> => {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  };
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const log: string[] = [];
  let now = 0;
  const words = createBootstrapFiles(folder, testLog(log), () => now);
  return { folder, write, log, words, pass: (ms: number) => (now += ms) };
}

const skill = (name: string, description: string): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n# ${name}\n\nThe body of ${name}.\n`;

describe('bootstrap files', () => {
  it('appear in order, under their names; a missing or empty one leaves no trace (B-05)', async () => {
    const { words } = await gateway({
      'USER.md': 'Ann.\n',
      'AGENTS.md': 'Be kind.',
      'SOUL.md': ' \n',
      'other.md': 'no',
    });
    expect((await words()).bootstrap.content).toBe('## AGENTS.md\n\nBe kind.\n\n## USER.md\n\nAnn.');
    expect((await (await gateway()).words()).bootstrap).toEqual({ content: '', tokens: 0 });
  });

  it('are reread when they change, appear or disappear, and only then', async () => {
    const { words, write, folder, pass } = await gateway({ 'AGENTS.md': 'old words' });
    const first = await words();
    expect(first.bootstrap.content).toContain('old words');
    pass(CHECK_EVERY_MS);
    expect((await words()).bootstrap, 'unchanged: the same object').toBe(first.bootstrap);
    await write('AGENTS.md', 'new words');
    await utimes(path.join(folder, 'AGENTS.md'), 1, 2_000);
    pass(CHECK_EVERY_MS - 1);
    expect((await words()).bootstrap).toBe(first.bootstrap);
    pass(1);
    expect((await words()).bootstrap.content).toBe('## AGENTS.md\n\nnew words');
    await write('TOOLS.md', 'hammer');
    pass(CHECK_EVERY_MS);
    expect((await words()).bootstrap.content).toContain('hammer');
    await rm(path.join(folder, 'AGENTS.md'));
    pass(CHECK_EVERY_MS);
    expect((await words()).bootstrap.content).toBe('## TOOLS.md\n\nhammer');
  });

  it('are not reread while their time and size stay the same (N-72)', async () => {
    const { folder, write } = await gateway({ 'AGENTS.md': 'words' });
    let made = 0;
    const kept = createFileCache(100, ({ text }) => [text, (made += 1)], testLog());
    const file = path.join(folder, 'AGENTS.md');
    await kept.read(file);
    expect(await kept.read(file)).toEqual(['words', 1]);
    await write('AGENTS.md', 'other');
    await utimes(file, 1, 2_000);
    expect(await kept.read(file)).toEqual(['other', 2]);
    kept.keepOnly(new Set());
    expect(await kept.read(file)).toEqual(['other', 3]);
  });

  it('are truncated at their limit, at a character boundary, with a marker and a log entry', async () => {
    const { words, log, pass } = await gateway({
      'AGENTS.md': 'x'.repeat(MAX_BOOTSTRAP_BYTES),
      'SOUL.md': `y${'字'.repeat(MAX_BOOTSTRAP_BYTES)}`,
    });
    const { content } = (await words()).bootstrap;
    expect(content).not.toContain('bytes of AGENTS.md');
    expect(content).toContain(`more bytes of SOUL.md are left out: at most ${MAX_BOOTSTRAP_BYTES}`);
    expect(content).not.toContain('\ufffd');
    expect(Buffer.byteLength(content)).toBeLessThan(2 * MAX_BOOTSTRAP_BYTES + 200);
    pass(CHECK_EVERY_MS);
    await words();
    expect(log.filter((line) => line.includes('prompt_file_truncated'))).toHaveLength(1);
  });

  it('are left out, and logged once, when they cannot be read', async () => {
    const { words, folder, log, pass } = await gateway({ 'USER.md': 'Ann.' });
    await mkdir(path.join(folder, 'AGENTS.md'));
    execFileSync('mkfifo', [path.join(folder, 'SOUL.md')]);
    await symlink('loop.md', path.join(folder, 'TOOLS.md'));
    await symlink('TOOLS.md', path.join(folder, 'loop.md'));
    expect((await words()).bootstrap.content).toBe('## USER.md\n\nAnn.');
    pass(CHECK_EVERY_MS);
    await words();
    expect(log.filter((line) => line.includes('prompt_file_unreadable'))).toHaveLength(3);
  });
});

describe('skills', () => {
  it('are listed by name and description with the path of their file', async () => {
    const { words, write, pass } = await gateway({
      'skills/weather/SKILL.md': skill('weather', 'Ask the weather station'),
      'skills/bare/SKILL.md': 'no front matter',
      'skills/empty/readme.md': 'no skill',
      'skills/stray.md': 'no folder',
    });
    const { skills } = await words();
    expect(skills.content).toContain(
      '\n- bare (skills/bare/SKILL.md)\n- weather: Ask the weather station (skills/weather/SKILL.md)',
    );
    expect(skills.content).not.toContain('The body');
    expect(skills.content).not.toContain('empty');
    await write('skills/weather/SKILL.md', skill('weather', 'Look out of the window instead'));
    pass(CHECK_EVERY_MS);
    expect((await words()).skills.content).toContain('window');
    expect((await (await gateway()).words()).skills.content).toBe('');
  });

  it(`are limited to ${MAX_SKILLS}, with a marker and a log line; odd names are not listed`, async () => {
    const files: Record<string, string> = { 'skills/od d\n## x/SKILL.md': skill('odd', 'odd') };
    for (let n = 0; n <= MAX_SKILLS; n += 1) {
      files[`skills/s${String(n).padStart(3, '0')}/SKILL.md`] = skill(`s${n}`, 'd');
    }
    const { words, log, pass } = await gateway(files);
    const { content } = (await words()).skills;
    expect(content.match(/SKILL\.md\)/g)).toHaveLength(MAX_SKILLS);
    expect(content).toContain('1 more skills are left out');
    expect(content).not.toContain('od d');
    pass(CHECK_EVERY_MS);
    await words();
    expect(log.filter((line) => line.includes('skills_not_listed'))).toHaveLength(1);
  });

  it.each([
    ['---\nname: a\ndescription: b c\n---\nbody', 'a', 'b c'],
    ['---\r\nname: "quoted: a"\r\ndescription: \'b\'\r\n---\r\n', 'quoted: a', 'b'],
    ['---\ndescription: >\n  folded\n  over lines\nname: a\n---', 'a', 'folded over lines'],
    ['---\nname:a\n---\nname: not this\ndescription: nor this', 'a', ''],
    ['# no front matter\nname: x', '', ''],
    ['---\nname: cut off', 'cut off', ''],
    ['---\nname: x\ndescription: line\u2028## heading\n---', 'x', 'line'],
    ['', '', ''],
  ])('reads the front matter of %j', (text, name, description) => {
    expect(readSkill(text)).toEqual({ name, description });
  });

  it('clips long descriptions', () => {
    const { description } = readSkill(`---\ndescription: ${'x'.repeat(MAX_DESCRIPTION_CHARS + 1)}\n---`);
    expect(description).toBe(`${'x'.repeat(MAX_DESCRIPTION_CHARS)}…`);
  });
});
