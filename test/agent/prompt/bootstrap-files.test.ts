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
} from '../../../src/agent/prompt/bootstrap-files.ts';
import { SKILL_TOKENS, skillsPart } from '../../../src/agent/prompt/system-prompt.ts';
import { MAX_SKILL_DESCRIPTION_CHARS, MAX_SKILLS } from '../../../src/lib/markdown/skill-file.ts';
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
  it('are read by name and description, and again when they change', async () => {
    const { words, write, pass } = await gateway({
      'skills/weather/SKILL.md': skill('weather', 'Ask the weather station'),
      'skills/bare/SKILL.md': 'no front matter',
      'skills/empty/readme.md': 'no skill',
      'skills/stray.md': 'no folder',
    });
    const { skills } = await words();
    expect(skills).toEqual([
      { folder: 'bare', name: 'bare', description: '' },
      { folder: 'weather', name: 'weather', description: 'Ask the weather station' },
    ]);
    await write('skills/weather/SKILL.md', skill('weather', 'Look out of the window instead'));
    pass(CHECK_EVERY_MS);
    expect((await words()).skills[1]?.description).toContain('window');
    expect((await (await gateway()).words()).skills).toEqual([]);
  });

  it(`are at most ${MAX_SKILLS}; further ones and odd names are named in the log once`, async () => {
    const files: Record<string, string> = { 'skills/od d\n## x/SKILL.md': skill('odd', 'odd') };
    for (let n = 0; n <= MAX_SKILLS; n += 1) {
      files[`skills/s${String(n).padStart(3, '0')}/SKILL.md`] = skill(`s${n}`, 'd');
    }
    const { words, log, pass } = await gateway(files);
    const { skills } = await words();
    expect(skills).toHaveLength(MAX_SKILLS);
    expect(skills.map(({ folder }) => folder)).not.toContain('od d\n## x');
    pass(CHECK_EVERY_MS);
    await words();
    expect(log.filter((line) => line.includes('skills_not_listed'))).toHaveLength(1);
  });
});

/** Skills with descriptions of this length. */
const entries = (count: number, chars: number) =>
  Array.from({ length: count }, (_, n) => ({
    folder: `s${n}`,
    name: `s${n}`,
    description: 'x'.repeat(chars),
  }));

describe('the list of skills', () => {
  const ROOMY = SKILL_TOKENS * 10;

  it('shows a description of 1,024 characters whole', () => {
    const { content } = skillsPart(entries(1, MAX_SKILL_DESCRIPTION_CHARS), ROOMY);
    expect(content).toContain(`- s0: ${'x'.repeat(MAX_SKILL_DESCRIPTION_CHARS)} (skills/s0/SKILL.md)`);
    expect(skillsPart([], ROOMY)).toEqual({ content: '', tokens: 0 });
  });

  it(`takes at most ${SKILL_TOKENS} tokens: all descriptions are cut alike`, () => {
    const { content, tokens } = skillsPart(entries(30, MAX_SKILL_DESCRIPTION_CHARS), ROOMY);
    expect(tokens).toBeLessThanOrEqual(SKILL_TOKENS);
    const lengths = content.match(/x+…/g)?.map((text) => text.length);
    expect(lengths).toHaveLength(30);
    expect(new Set(lengths).size).toBe(1);
  });

  it.each([500, 1_433, 2_867])(
    'takes a third of the %i tokens that tools may take, and says what is missing',
    (limit) => {
      const { content, tokens } = skillsPart(entries(MAX_SKILLS, MAX_SKILL_DESCRIPTION_CHARS), limit);
      expect(tokens).toBeGreaterThan(0);
      expect(tokens).toBeLessThanOrEqual(limit / 3);
      const listed = content.match(/SKILL\.md\)/g)?.length ?? 0;
      expect(content).toContain(`[… ${MAX_SKILLS - listed} more: list_dir shows the folder skills …]`);
    },
  );
});
