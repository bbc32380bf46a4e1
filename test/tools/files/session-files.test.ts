/** The folders of sessions: created for their owner only, removed permanently, and read for approval questions. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_NAMED_FILES, MAX_SCRIPT_BYTES, MAX_SHOWN_FILE } from '../../../src/protocol/agent/approvals.ts';
import { MAX_LISTED_FILES, type SessionFiles } from '../../../src/protocol/agent/tool.ts';
import { MAX_FOLLOWED_PATHS } from '../../../src/tools/files/named-files.ts';
import { workspaceUsage } from '../../../src/tools/files/save-file.ts';
import { createSessionFiles } from '../../../src/tools/files/session-files.ts';
import { ToolError } from '../../../src/protocol/errors.ts';
import { campaignSize } from '../../campaign.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';

let root = '';
let files: SessionFiles;
const lines: string[] = [];

beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'parley-files-'));
  files = createSessionFiles(path.join(root, 'sessions'), testLog(lines));
});
afterEach(() => rm(root, { recursive: true }));

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('the list of a folder', () => {
  it('has its plain files with their sizes, sorted, and no links; a folder that was never created has none', async () => {
    const place = await files.open('abc-2');
    await mkdir(path.join(place, 'deep'));
    await writeFile(path.join(place, 'deep', 'b.txt'), 'two');
    await writeFile(path.join(place, 'a.txt'), 'one!');
    await symlink('/etc/passwd', path.join(place, 'link'));
    expect(await files.list('abc-2')).toEqual({
      files: [
        { path: 'a.txt', bytes: 4, changedAt: expect.any(Date) },
        { path: 'deep/b.txt', bytes: 3, changedAt: expect.any(Date) },
      ],
      more: false,
    });
    expect(await files.list('never-made')).toEqual({ files: [], more: false });
  });

  it(`ends after ${MAX_LISTED_FILES} files and says so`, async () => {
    const place = await files.open('abc-3');
    const names = Array.from({ length: MAX_LISTED_FILES + 1 }, (_, n) => `f${String(n).padStart(4, '0')}`);
    await Promise.all(names.map((name) => writeFile(path.join(place, name), '')));
    const { files: listed, more } = await files.list('abc-3');
    expect([listed.length, listed.at(-1)?.path, more]).toEqual([MAX_LISTED_FILES, names.at(-2), true]);
  });
});

/** Looks while a folder is swapped with a link. */
const LOOKS = campaignSize(5_000);

it.runIf(process.platform === 'linux')(
  `what is listed, counted and bound to an approval is never outside, while a folder is swapped with a link ${LOOKS} times`,
  { timeout: 60_000 + LOOKS * 20 },
  async () => {
    const place = await files.open('raced');
    const outside = path.join(root, 'outside');
    await mkdir(path.join(outside, 'deep'), { recursive: true });
    await writeFile(path.join(outside, 'secret-name'), 'x'.repeat(1_000_000));
    await writeFile(path.join(outside, 'both'), 'long and outside');
    await mkdir(path.join(place, 'real'));
    await writeFile(path.join(place, 'real', 'both'), 'inside');
    await symlink(outside, path.join(place, 'evil'));
    const ended = new AbortController();
    const at = (name: string): string => path.join(place, name);
    const swapper = (async () => {
      while (!ended.signal.aborted) {
        await rename(at('real'), at('dir')).catch(String);
        await rename(at('dir'), at('real')).catch(String);
        await rename(at('evil'), at('dir')).catch(String);
        await rename(at('dir'), at('evil')).catch(String);
      }
    })();
    const unlessRefused = (error: unknown): undefined => {
      if (!(error instanceof ToolError)) throw error;
    };
    const names = new Set<string>();
    const sizes = new Set<number>();
    try {
      for (let n = 0; n < LOOKS; n += 1) {
        const list = await files.list('raced').catch(unlessRefused);
        for (const { path: name, bytes } of list?.files ?? []) {
          names.add(name);
          sizes.add(bytes);
        }
        const state = await files.state('raced').catch(unlessRefused);
        for (const name of state?.files.keys() ?? []) names.add(name);
        sizes.add(state?.bytes ?? 0);
        const { bytes } = await workspaceUsage(place);
        expect(bytes).toBeLessThan(1_000_000);
      }
    } finally {
      ended.abort();
      await swapper;
    }
    expect([...names].filter((name) => /secret|deep/.test(name))).toEqual([]);
    expect([...names]).toContain('real/both');
    expect([...sizes].filter((bytes) => ![0, 6].includes(bytes))).toEqual([]);
  },
);

describe('the folder of a session', () => {
  it('is created once, for its owner only', async () => {
    const made = await files.open('abc-1');
    expect(await files.open('abc-1')).toBe(made);
    expect((await stat(made)).mode & 0o777).toBe(0o700);
  });

  it.each(['', '.', '..', '../x', 'a/b', '.removed-x', 'x\0', 'x'.repeat(101)])(
    'is never named %j',
    async (name) => {
      await expect(files.open(name)).rejects.toMatchObject({ code: 'workspace' });
      expect(await files.remove(name)).toBe(false);
      expect(lines.splice(0).join()).toContain('folder_not_removed');
      expect(await readdir(root)).toEqual([]);
    },
  );

  it('is removed with everything in it, including what an earlier, killed removal left', async () => {
    const made = await files.open('gone');
    await mkdir(path.join(made, 'deep', 'er'), { recursive: true });
    await writeFile(path.join(made, 'deep', 'er', 'x'), 'x');
    await symlink(root, path.join(made, 'up'));
    await writeFile(path.join(root, 'outside'), 'stays');
    await mkdir(path.join(root, 'sessions', '.removed-gone'));
    await writeFile(path.join(root, 'sessions', '.removed-gone', 'half'), 'x');
    await files.open('stays');
    expect([await files.remove('gone'), await files.remove('gone')]).toEqual([true, true]);
    expect(await readdir(path.join(root, 'sessions'))).toEqual(['stays']);
    expect(await readFile(path.join(root, 'outside'), 'utf8')).toBe('stays');
  });
});

describe('the files that a call names', () => {
  it('are shown with their size, digest and short text, each once, by path', async () => {
    const made = await files.open('s');
    await mkdir(path.join(made, 'sub'));
    await writeFile(path.join(made, 'build.sh'), 'echo hi\n');
    await writeFile(path.join(made, 'sub', 'a.py'), 'pass');
    await writeFile(path.join(made, 'image'), Buffer.from([0x89, 0x50, 0, 1]));
    await writeFile(path.join(made, 'empty'), '');
    const words = [
      'sh',
      './build.sh',
      'build.sh',
      'sub',
      'a.py',
      'image',
      'empty',
      '/etc/passwd',
      '..',
      'missing',
    ];
    expect(await files.named('s', words)).toEqual([
      { path: 'build.sh', bytes: 8, sha256: sha256('echo hi\n'), text: 'echo hi\n' },
      { path: 'empty', bytes: 0, sha256: sha256(''), text: '' },
      {
        path: 'image',
        bytes: 4,
        sha256: createHash('sha256')
          .update(Buffer.from([0x89, 0x50, 0, 1]))
          .digest('hex'),
      },
      { path: 'sub/a.py', bytes: 4, sha256: sha256('pass'), text: 'pass' },
    ]);
  });

  it(`have a text of up to ${MAX_SHOWN_FILE} characters; longer ones have their digest, whatever their length`, async () => {
    const made = await files.open('s');
    const texts = ['é'.repeat(MAX_SHOWN_FILE), 'é'.repeat(MAX_SHOWN_FILE + 1), 'x'.repeat(3_000_000)];
    for (const [n, text] of texts.entries()) await writeFile(path.join(made, `f${n}`), text);
    const named = await files.named('s', ['f0', 'f1', 'f2']);
    expect(named.map((file) => 'sha256' in file && file.sha256)).toEqual(texts.map(sha256));
    expect(named.map((file) => 'text' in file)).toEqual([true, false, false]);
  });

  it('are reported by type when they are not plain files', async () => {
    const made = await files.open('s');
    await symlink('/etc/passwd', path.join(made, 'link'));
    execFileSync('mkfifo', [path.join(made, 'pipe')]);
    expect(await files.named('s', ['link', 'pipe'])).toEqual([
      { path: 'link', problem: expect.stringContaining('link') },
      { path: 'pipe', problem: expect.stringContaining('pipe') },
    ]);
  });

  it(`are at most ${MAX_NAMED_FILES}`, async () => {
    const made = await files.open('s');
    const names = Array.from({ length: MAX_NAMED_FILES + 1 }, (_, n) => `f${n}`);
    for (const name of names) await writeFile(path.join(made, name), name);
    expect(await files.named('s', names.slice(1))).toHaveLength(MAX_NAMED_FILES);
    await expect(files.named('s', names)).rejects.toMatchObject({ code: 'too_many_files' });
  });

  it('include those that their texts name, transitively, next to them and in the folders of the call', async () => {
    const made = await files.open('s');
    await mkdir(path.join(made, 'sub'));
    const texts = {
      'build.sh': 'sh ./step.sh && sh sub/deep.sh',
      'step.sh': 'cat build.sh unseen',
      'sub/deep.sh': 'sh last.sh',
      'sub/last.sh': 'echo END',
      'other.txt': 'nobody names it',
    };
    for (const [name, text] of Object.entries(texts)) await writeFile(path.join(made, name), text);
    const named = await files.named('s', ['build.sh'], (text) => text.split(' '));
    expect(named.map(({ path: at, namedIn }) => [at, namedIn])).toEqual([
      ['build.sh', undefined],
      ['step.sh', 'build.sh'],
      ['sub/deep.sh', 'build.sh'],
      ['sub/last.sh', 'sub/deep.sh'],
    ]);
    expect(await files.named('s', ['build.sh'])).toHaveLength(1);
  });

  it(`are looked up among at most ${MAX_FOLLOWED_PATHS} paths that files may name, each once`, async () => {
    const made = await files.open('s');
    const unseen = Array.from({ length: MAX_FOLLOWED_PATHS - 2 }, (_, n) => `w${n}`).join(' ');
    const words = (text: string): string[] => text.split(' ');
    const named = async (last: string) => {
      await writeFile(path.join(made, 'a.sh'), `b.sh ${unseen}`);
      await writeFile(path.join(made, 'b.sh'), `a.sh ${unseen} ${last}`);
      await writeFile(path.join(made, 'c.sh'), '');
      return (await files.named('s', ['a.sh'], words)).map((file) => file.path);
    };
    expect(await named('c.sh')).toEqual(['a.sh', 'b.sh', 'c.sh']);
    expect(await named('d.sh c.sh')).toEqual(['a.sh', 'b.sh']);
  });

  it('include what texts name only as far as there is room, and only texts that are short enough to scan', async () => {
    const made = await files.open('s');
    const names = Array.from({ length: MAX_NAMED_FILES }, (_, n) => `f${n}`);
    for (const name of names) await writeFile(path.join(made, name), '');
    await writeFile(path.join(made, 'many.sh'), names.join(' '));
    const words = (text: string): string[] => text.split(' ');
    expect(await files.named('s', ['many.sh'], words)).toHaveLength(MAX_NAMED_FILES);
    for (const [bytes, count] of [
      [MAX_SCRIPT_BYTES, 2],
      [MAX_SCRIPT_BYTES + 1, 1],
    ] as const) {
      await writeFile(path.join(made, 'long.sh'), `sh f0 ${'#'.repeat(bytes - 6)}`);
      expect(await files.named('s', ['long.sh'], words)).toHaveLength(count);
    }
  });
});
