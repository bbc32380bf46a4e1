/** The gateway's skills as the file tools see them: readable under `skills/`, never writable, and no escape. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { editFile } from '../../src/tools/files/edit-file.ts';
import { listDir } from '../../src/tools/files/list-dir.ts';
import { readFile } from '../fakes/tool-options.ts';
import { writeFile as writeTool } from '../../src/tools/files/write-file.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';

let root = '';
let workspace = '';
let skills = '';

beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'parley-skills-'));
  workspace = path.join(root, 'session');
  skills = path.join(root, 'skills');
  await mkdir(path.join(skills, 'tea'), { recursive: true });
  await mkdir(path.join(workspace, 'skills'), { recursive: true });
  await writeFile(path.join(skills, 'tea', 'SKILL.md'), 'Boil water.');
  await writeFile(path.join(skills, 'tea', 'leaves.md'), 'Green.');
  await writeFile(path.join(root, 'AGENTS.md'), 'canary');
  await writeFile(path.join(workspace, 'skills', 'own.md'), 'canary');
});
afterEach(() => rm(root, { recursive: true }));

const ctx = () => toolContext({ workspace, skills });
const read = (file: string) => readFile.execute({ path: file, offset: 0, limit: 1_000 }, ctx());

it('reads and lists them, as the gateway’s own text', async () => {
  expect(await read('skills/tea/SKILL.md')).toMatchObject({ content: 'Boil water.', source: 'operator' });
  expect(await read('./skills//tea/leaves.md')).toMatchObject({ content: 'Green.', source: 'operator' });
  const list = await listDir.execute({ path: 'skills/tea', offset: 0 }, ctx());
  expect(list).toMatchObject({ content: 'SKILL.md  11 bytes\nleaves.md  6 bytes', source: 'operator' });
  expect(await listDir.execute({ path: 'skills', offset: 0 }, ctx())).toMatchObject({ content: 'tea/' });
  expect(await read('skills/own.md').catch((error: unknown) => error)).toMatchObject({ code: 'not_found' });
});

it('leads nowhere else: no dots, no links, nothing without a skills folder', async () => {
  await symlink(path.join(root, 'AGENTS.md'), path.join(skills, 'tea', 'link.md'));
  await symlink(root, path.join(skills, 'up'));
  for (const file of [
    'skills/../AGENTS.md',
    'skills/tea/link.md',
    'skills/up/AGENTS.md',
    'skills/tea/../../AGENTS.md',
  ])
    await expect(read(file)).rejects.toMatchObject({ name: 'ToolError' });
  const none = toolContext({ workspace });
  await expect(
    readFile.execute({ path: 'skills/tea/SKILL.md', offset: 0, limit: 9 }, none),
  ).rejects.toMatchObject({
    code: 'not_found',
  });
});

it('refuses to write any of them', async () => {
  const refused = { code: 'read_only' };
  for (const file of ['skills/tea/SKILL.md', './skills/new/SKILL.md', 'skills']) {
    await expect(writeTool.execute({ path: file, content: 'x' }, ctx())).rejects.toMatchObject(refused);
    const edit = { path: file, old_text: 'Boil', new_text: 'Spill' };
    await expect(editFile.execute(edit, ctx())).rejects.toMatchObject(refused);
  }
  expect(await read('skills/tea/SKILL.md')).toMatchObject({ content: 'Boil water.' });
});
