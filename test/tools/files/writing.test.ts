/** `write_file` and `edit_file`: what they change, what they refuse, and that no race leads out of the workspace. */
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { campaignSize } from '../../campaign.ts';
import { editFile } from '../../../src/tools/files/edit-file.ts';
import {
  MAX_FILE_BYTES,
  MAX_WORKSPACE_BYTES,
  MAX_WORKSPACE_ENTRIES,
  saveFile,
} from '../../../src/tools/files/save-file.ts';
import { writeFile as writeTool } from '../../../src/tools/files/write-file.ts';
import type { Tool } from '../../../src/protocol/agent/tool.ts';
import { toolContext } from '../../fakes/agent/tool-context.ts';

/** Writes while the folder is swapped. */
const SWAPS = campaignSize(2_000);

let root = '';
let workspace = '';

beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'parley-write-'));
  workspace = path.join(root, 'ws');
  await mkdir(workspace);
  await writeFile(path.join(root, 'secret'), 'outside');
});
afterEach(() => rm(root, { recursive: true }));

async function call(tool: Tool, args: Record<string, unknown>): Promise<string> {
  return (await tool.execute(tool.parameters.parse(args), toolContext({ workspace }))).content;
}
const write = (file: string, content: string): Promise<string> => call(writeTool, { path: file, content });
const edit = (file: string, oldText: string, newText: string): Promise<string> =>
  call(editFile, { path: file, old_text: oldText, new_text: newText });
const content = (file: string): Promise<string> => readFile(path.join(workspace, file), 'utf8');

describe('write_file', () => {
  it('writes a file and its parent folders, replaces it, and leaves no other file behind (B-17)', async () => {
    expect(await write('a/b/c.md', 'Привет')).toBe('Wrote 12 bytes to "a/b/c.md".');
    await write('a/b/c.md', 'new');
    expect(await content('a/b/c.md')).toBe('new');
    expect(await readdir(path.join(workspace, 'a/b'))).toEqual(['c.md']);
    expect((await stat(path.join(workspace, 'a/b/c.md'))).mode & 0o777).toBe(0o600);
  });

  it('keeps a script executable', async () => {
    await write('run.sh', 'true');
    await chmod(path.join(workspace, 'run.sh'), 0o700);
    await write('run.sh', 'false');
    expect((await stat(path.join(workspace, 'run.sh'))).mode & 0o777).toBe(0o700);
  });

  it('refuses links, including dangling ones, second names and folders, and changes nothing (B-17)', async () => {
    await symlink(path.join(root, 'secret'), path.join(workspace, 'link'));
    await symlink(path.join(root, 'missing'), path.join(workspace, 'dangling'));
    await symlink(root, path.join(workspace, 'up'));
    await link(path.join(root, 'secret'), path.join(workspace, 'second'));
    await mkdir(path.join(workspace, 'folder'));
    for (const file of ['link', 'dangling', 'second']) {
      await expect(write(file, 'x')).rejects.toMatchObject({ code: 'refused' });
    }
    await expect(write('up/new', 'x')).rejects.toMatchObject({ code: 'not_found' });
    await expect(write('folder', 'x')).rejects.toMatchObject({ code: 'not_a_file' });
    await expect(write('.', 'x')).rejects.toMatchObject({ code: 'not_a_file' });
    await expect(write('../secret', 'x')).rejects.toMatchObject({ code: 'bad_path' });
    expect((await readdir(root)).sort()).toEqual(['secret', 'ws']);
    expect(await readFile(path.join(root, 'secret'), 'utf8')).toBe('outside');
  });

  it('accepts a file at its limit and none larger', async () => {
    await saveFile(workspace, 'at', Buffer.alloc(MAX_FILE_BYTES));
    await expect(saveFile(workspace, 'over', Buffer.alloc(MAX_FILE_BYTES + 1))).rejects.toMatchObject({
      code: 'too_large',
    });
  });

  it('stops when the session has used up its entries', async () => {
    const names = Array.from({ length: MAX_WORKSPACE_ENTRIES - 1 }, (_, n) => path.join(workspace, `f${n}`));
    await Promise.all(names.map((name) => writeFile(name, '')));
    await write('last', '');
    await expect(write('one-more', '')).rejects.toMatchObject({ code: 'workspace_full' });
  });

  it('stops when the session has used up its bytes on disk', async () => {
    const big = path.join(workspace, 'big');
    await writeFile(big, '');
    await truncate(big, MAX_WORKSPACE_BYTES * 2);
    await write('small', 'a sparse file costs nothing');
    await writeFile(big, Buffer.alloc(MAX_WORKSPACE_BYTES));
    await expect(write('small', 'x')).rejects.toMatchObject({ code: 'workspace_full' });
  });

  it.runIf(process.platform === 'linux')(
    'never writes outside while its folder is swapped with a link',
    async () => {
      await mkdir(path.join(workspace, 'dir'));
      await symlink(root, path.join(workspace, 'evil'));
      const ended = new AbortController();
      const at = (name: string): string => path.join(workspace, name);
      const swapper = (async () => {
        while (!ended.signal.aborted) {
          await rename(at('dir'), at('real')).catch(String);
          await rename(at('evil'), at('dir')).catch(String);
          await rename(at('dir'), at('evil')).catch(String);
          await rename(at('real'), at('dir')).catch(String);
        }
      })();
      const seen = { written: 0, refused: 0 };
      for (let n = 0; n < SWAPS; n += 1) {
        await saveFile(workspace, 'dir/secret', Buffer.from('inside')).then(
          () => (seen.written += 1),
          () => (seen.refused += 1),
        );
      }
      ended.abort();
      await swapper;
      expect(await readFile(path.join(root, 'secret'), 'utf8')).toBe('outside');
      expect((await readdir(root)).sort()).toEqual(['secret', 'ws']);
      expect(seen.written).toBeGreaterThan(0);
      expect(seen.refused).toBeGreaterThan(0);
    },
  );
});

describe('edit_file', () => {
  it('replaces a passage that occurs once (B-18)', async () => {
    await write('f', 'one two three');
    await edit('f', 'two', '$& 2');
    expect(await content('f')).toBe('one $& 2 three');
    await edit('f', ' three', '');
    expect(await content('f')).toBe('one $& 2');
  });

  it('refuses a passage that is missing or not unique, even overlapping, and changes nothing (B-18)', async () => {
    await write('f', 'aaa b b');
    await expect(edit('f', 'c', 'x')).rejects.toMatchObject({ code: 'not_found' });
    await expect(edit('f', 'b', 'x')).rejects.toMatchObject({ code: 'not_unique' });
    await expect(edit('f', 'aa', 'x')).rejects.toMatchObject({ code: 'not_unique' });
    expect(await content('f')).toBe('aaa b b');
  });

  it('leaves every other byte as it was', async () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(text, text, text, async (before, after, replacement) => {
        const passage = '\u{10ffff}passage\r\n';
        await write('f', `\ufeff${before}${passage}${after}`);
        await edit('f', passage, replacement);
        expect(await content('f')).toBe(
          Buffer.from(`\ufeff${before}${replacement}${after}`).toString('utf8'),
        );
      }),
      { numRuns: 50 },
    );
  });

  it('refuses a non-UTF-8 file, a folder, a missing or a huge file', async () => {
    await writeFile(path.join(workspace, 'binary'), Buffer.from([0x61, 0xff]));
    await writeFile(path.join(workspace, 'huge'), Buffer.alloc(MAX_FILE_BYTES + 1, 'a'));
    await mkdir(path.join(workspace, 'folder'));
    await expect(edit('binary', 'a', 'b')).rejects.toMatchObject({ code: 'not_text' });
    await expect(edit('huge', 'a', 'b')).rejects.toMatchObject({ code: 'too_large' });
    await expect(edit('folder', 'a', 'b')).rejects.toMatchObject({ code: 'not_a_file' });
    await expect(edit('missing', 'a', 'b')).rejects.toMatchObject({ code: 'not_found' });
  });
});

it.each([
  'AGENTS.md',
  'AGENTS.md/',
  './AGENTS.md/.',
  'a//Agents.MD',
  'ＡＧＥＮＴＳ.md',
  'skills',
  'skills/x/y',
  'a/MEMORY.md ',
])('asks before %s is written: later conversations read it automatically', (path) => {
  for (const tool of [writeTool, editFile])
    expect(tool.reach({ path, content: '', old: '', new: '' })).toBe('outside');
});

it.each(['notes.md', 'agents.md.txt', 'myskills/x', 'AGENTS.md/x'])(
  'treats %s as a file of its session',
  (path) => {
    expect(writeTool.reach({ path, content: '' })).toBe('session');
  },
);
