/** The files of profiles as the form changes them: checked as a whole, with their comments, against the version that was read. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { builtInProfiles } from '../../../src/agent/profiles/built-in.ts';
import { createProfileFiles } from '../../../src/agent/profiles/profile-files.ts';
import { createProfiles, type Profiles } from '../../../src/agent/profiles/profiles.ts';
import { MAX_PROFILE_FILE_BYTES, MAX_PROFILES } from '../../../src/agent/profiles/read-profiles.ts';
import type { ProfileChanged, ProfileFiles, ProfileReport } from '../../../src/protocol/agent/profile.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';
import { editedText, readJson, writeWhole } from '../../../src/settings/index.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';

let folder = '';
let profiles: Profiles;
let files: ProfileFiles;
beforeEach(async () => {
  folder = path.join(await mkdtemp(path.join(tmpdir(), 'parley-profile-files-')), 'profiles');
  const log = testLog([]);
  // Nothing watches: what takes effect does so because a change says it.
  const watch = () => ({ folders: () => undefined, close: () => undefined });
  profiles = createProfiles({ folder, readJson, watch, log });
  const enabledTools = ['list_dir', 'read_file'];
  const toolNames = ['list_dir', 'read_file', 'write_file', 'edit_file', 'web_fetch', 'web_search'];
  const builtIn = builtInProfiles({ persona: undefined, enabledTools }, (tool) => toolNames.includes(tool));
  await profiles.open({ ...builtIn, toolNames });
  const schema = () => ({});
  files = createProfileFiles({
    folder,
    profiles,
    readJson,
    edited: editedText,
    write: writeWhole,
    schema,
    log,
  });
});
afterEach(async () => {
  await profiles.close();
  await rm(path.dirname(folder), { recursive: true });
});

const report = (id: string): ProfileReport => {
  const found = files.profile(id, {});
  if (found === undefined) throw new Error(`there is no profile ${id}`);
  return found;
};
const inUse = (id: string) => profiles.list().find((profile) => profile.id === id);
const textOf = (id: string, name: string): string => readFileSync(path.join(folder, id, name), 'utf8');
/** Why a change was refused, in English. */
const problemsOf = (changed: ProfileChanged): string[] =>
  changed.kind === 'refused' ? changed.problems.map((problem) => inEnglish.text(problem)) : [];
const set = (name: string, value: unknown) => ({ changes: [{ path: [name], value }] });

it('creates a profile that can be used immediately, and refuses a name that is taken or missing, and one profile too many', async () => {
  expect(await files.createProfile('poet')).toMatchObject({ kind: 'changed' });
  expect(inUse('poet')).toMatchObject({ id: 'poet', enabledTools: ['list_dir', 'read_file'] });
  for (const name of ['poet', 'coder', 'default', '', 'A b', '../up'])
    expect([name, (await files.createProfile(name)).kind]).toEqual([name, 'refused']);
  for (const name of ['__proto__', 'constructor', 'con', 'nul', 'com1', 'lpt9']) {
    expect(problemsOf(await files.createProfile(name))).toEqual([
      expect.stringContaining('no reserved word'),
    ]);
  }
  expect(await files.createProfile('console')).toMatchObject({ kind: 'changed' });
  for (let nth = 2; nth < MAX_PROFILES; nth += 1) await mkdir(path.join(folder, `p${nth}`));
  expect(problemsOf(await files.createProfile('more'))).toEqual([
    `the name of the profile: more: there are already ${MAX_PROFILES} profile folders, the maximum`,
  ]);
});

it('changes fields and prompts together, and keeps comments', async () => {
  await mkdir(path.join(folder, 'poet'), { recursive: true });
  await writeFile(
    path.join(folder, 'poet', 'config.json'),
    '{\n  // Short ones.\n  "maxIterations": 3,\n}\n',
  );
  const { version, written, systemPrompt } = report('poet');
  expect([written, systemPrompt]).toEqual([{ maxIterations: 3 }, null]);
  const edit = { ...set('maxIterations', 4), systemPrompt: 'Rhyme.' };
  const changed = await files.changeProfile('poet', version, edit);
  expect(changed).toEqual({ kind: 'changed', version: report('poet').version });
  expect(textOf('poet', 'config.json')).toContain('// Short ones.\n  "maxIterations": 4,');
  expect(inUse('poet')).toMatchObject({ maxIterations: 4, systemPrompt: 'Rhyme.' });
  await files.changeProfile('poet', report('poet').version, { changes: [], systemPrompt: null });
  expect(inUse('poet')?.systemPrompt).toBe(inUse('default')?.systemPrompt);
  expect(existsSync(path.join(folder, 'poet', 'system_prompt.md'))).toBe(false);
});

it('writes nothing of a change that would make an error, and names the field', async () => {
  await files.createProfile('poet');
  const { version } = report('poet');
  const cases: [Parameters<ProfileFiles['changeProfile']>[2], RegExp][] = [
    [set('maxIterations', 0), /profiles\/poet\/config.json:2:\d+: maxIterations: /],
    [set('enabledTools', ['read_file', 'fly']), /enabledTools\.1: there is no tool "fly"/],
    [set('nonsense', 1), /nonsense: there is no such field/],
    [{ ...set('thinkEnabled', 7), systemPrompt: 'Rhyme.' }, /thinkEnabled: /],
    [
      { changes: [], systemPrompt: 'ä'.repeat(MAX_PROFILE_FILE_BYTES / 2 + 1) },
      /system_prompt.md: is too long/,
    ],
  ];
  for (const [edit, problem] of cases) {
    const refused = await files.changeProfile('poet', version, edit);
    expect(problemsOf(refused)).toEqual([expect.stringMatching(problem)]);
  }
  expect(report('poet').version).toBe(version);
});

it('refuses a change, and a deletion, of files that were edited since they were read', async () => {
  await files.createProfile('poet');
  const { version } = report('poet');
  await writeFile(path.join(folder, 'poet', 'subagent_system_prompt.md'), 'By hand.');
  expect(await files.changeProfile('poet', version, set('maxIterations', 9))).toEqual({ kind: 'stale' });
  expect(await files.removeProfile('poet', version)).toEqual({ kind: 'stale' });
  const [one, other] = [report('poet').version, report('poet').version];
  const both = await Promise.all([
    files.changeProfile('poet', one, set('maxIterations', 5)),
    files.changeProfile('poet', other, set('maxIterations', 6)),
  ]);
  expect(both.map(({ kind }) => kind)).toEqual(['changed', 'stale']);
  expect(inUse('poet')?.maxIterations).toBe(5);
});

it('starts the files of a built-in profile with all of its settings, and returns to those when the files are deleted', async () => {
  const before = inUse('coder');
  const { version, isBuiltIn, hasFiles } = report('coder');
  expect([isBuiltIn, hasFiles]).toEqual([true, false]);
  await files.changeProfile('coder', version, set('description', 'mine'));
  const mine = inUse('coder');
  expect(mine).toEqual({ ...before, description: 'mine' });
  expect(await files.removeProfile('coder', report('coder').version)).toEqual({
    kind: 'removed',
    isBuiltIn: true,
  });
  expect(inUse('coder')).toEqual(before);
  expect(await files.removeProfile('coder', report('coder').version)).toEqual({ kind: 'built_in' });
  expect(await files.removeProfile('default', report('default').version)).toEqual({ kind: 'built_in' });
});

it('deletes the files of a profile, and its folder unless others are in it', async () => {
  for (const id of ['poet', 'singer']) await files.createProfile(id);
  await writeFile(path.join(folder, 'singer', 'notes.txt'), 'mine');
  for (const id of ['poet', 'singer'])
    expect(await files.removeProfile(id, report(id).version)).toEqual({ kind: 'removed', isBuiltIn: false });
  expect([existsSync(path.join(folder, 'poet')), textOf('singer', 'notes.txt')]).toEqual([false, 'mine']);
  expect([inUse('poet'), inUse('singer')]).toEqual([undefined, undefined]);
  expect(await files.removeProfile('poet', 'any')).toEqual({ kind: 'unknown' });
  expect(files.profile('../profiles', {})).toBeUndefined();
});
