/** Profiles as folders: read, validated, and reloaded while the gateway runs. */
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createPreparation } from '../../../src/agent/prompt/prepared-profile.ts';
import type { Tool } from '../../../src/protocol/agent/tool.ts';
import { createProfiles, type Profiles } from '../../../src/agent/profiles/profiles.ts';
import { MAX_PROFILE_FILE_BYTES, MAX_PROFILES } from '../../../src/agent/profiles/read-profiles.ts';
import { builtInProfiles, defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import { type Profile, profileSchema } from '../../../src/protocol/agent/profile.ts';
import { inEnglish, textRef } from '../../../src/protocol/texts/say.ts';
import { readJson, watchFolders } from '../../../src/settings/index.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';

const WAIT = { timeout: 10_000, interval: 20 };
/** So long that only change events from the file system count. */
const NEVER_MS = 86_400_000;

let folder = '';
let opened: Profiles[] = [];
let logged: string[] = [];
beforeEach(async () => {
  folder = path.join(await mkdtemp(path.join(tmpdir(), 'parley-profiles-')), 'profiles');
  opened = [];
  logged = [];
});
afterEach(async () => {
  for (const profiles of opened) await profiles.close();
  await rm(path.dirname(folder), { recursive: true });
});

async function open(pollMs = NEVER_MS, others: Profile[] = []): Promise<Profiles> {
  const usual = { ...defaultProfile('You are Parley.'), enabledTools: ['read_file'] };
  const toolNames = ['list_dir', 'read_file', 'memory', 'exec'];
  const profiles = createProfiles({
    folder,
    readJson,
    watch: (changed) => watchFolders(changed, testLog(logged), pollMs),
    log: testLog(logged),
  });
  opened.push(profiles);
  const modelProblem = (model: string) =>
    model.startsWith('gpo/') ? textRef('problem.other', { detail: `no provider has ${model}` }) : undefined;
  await profiles.open({ usual, others, toolNames, modelProblem });
  return profiles;
}

/** Writes a profile file the way editors do: to a temporary file first, then renamed into place. */
async function write(id: string, name: string, content: unknown): Promise<void> {
  const file = path.join(folder, id, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(`${file}.new`, typeof content === 'string' ? content : JSON.stringify(content));
  await rename(`${file}.new`, file);
}

const ids = (profiles: Profiles): string[] => profiles.list().map(({ id }) => id);
const find = (profiles: Profiles, id: string): Profile | undefined =>
  profiles.list().find((profile) => profile.id === id);

it('has the default profile in a gateway without a folder, and creates the folder', async () => {
  const profiles = await open();
  expect(profiles.list()).toMatchObject([{ id: 'default', enabledTools: ['read_file'] }]);
  await write('coder', 'config.json', {});
  await vi.waitFor(() => expect(ids(profiles)).toEqual(['default', 'coder']), WAIT);
});

it('has built-in profiles, with the tools available here, and a folder of the same name replaces one', async () => {
  const { others, usual } = builtInProfiles(
    { persona: 'You are Parley.', enabledTools: ['read_file'] },
    (tool) => tool !== 'exec',
  );
  expect(usual).toMatchObject({ id: 'default', planning: 'auto', delegatesTo: ['coder', 'researcher'] });
  const profiles = await open(NEVER_MS, [...others]);
  expect(ids(profiles)).toEqual(['default', 'chat', 'coder', 'researcher']);
  expect(find(profiles, 'chat')).toMatchObject({ enabledTools: [], planning: 'off', usableBy: 'everyone' });
  expect(find(profiles, 'coder')?.enabledTools).not.toContain('exec');
  expect(find(profiles, 'coder')?.enabledTools).toContain('write_file');
  await write('coder', 'config.json', { description: 'Mine' });
  await vi.waitFor(() => expect(find(profiles, 'coder')?.description).toBe('Mine'), WAIT);
  expect(ids(profiles)).toEqual(['default', 'chat', 'coder', 'researcher']);
  expect(find(profiles, 'coder')?.enabledTools).toEqual(['read_file']);
});

it('reads the settings of a folder, with the defaults for all others (N-33, N-38, N-39)', async () => {
  await write('coder', 'config.json', { model: 'openai/big', maxIterations: 50, enabledTools: ['exec'] });
  await write('coder', 'system_prompt.md', '\nYou write code.\n');
  await write('poet', 'subagent_system_prompt.md', 'Rhyme.');
  const profiles = await open();
  expect(ids(profiles)).toEqual(['default', 'coder', 'poet']);
  expect(find(profiles, 'coder')).toEqual({
    ...profileSchema.parse({ model: 'openai/big', maxIterations: 50, enabledTools: ['exec'] }),
    id: 'coder',
    persona: 'You are Parley.',
    systemPrompt: 'You write code.',
    subagentSystemPrompt: defaultProfile().subagentSystemPrompt,
  });
  const { stepValidationEnabled, adaptiveReplanEnabled, planningPhase2Enabled } = find(profiles, 'poet')!;
  expect([stepValidationEnabled, adaptiveReplanEnabled, planningPhase2Enabled]).toEqual([
    false,
    false,
    false,
  ]);
  expect(find(profiles, 'poet')?.subagentSystemPrompt).toBe('Rhyme.');
});

it.each([
  ['thinkEnabled (N-31)', 'thinkEnabled', true],
  ['iterationBudgetEnabled (N-32)', 'iterationBudgetEnabled', true],
  ['planningPhase2Enabled (N-33)', 'planningPhase2Enabled', false],
  ['goalAnchoringEnabled (N-34)', 'goalAnchoringEnabled', true],
  ['goalAnchoringInterval (N-35)', 'goalAnchoringInterval', 5],
  ['antiStallEnabled (N-36)', 'antiStallEnabled', true],
  ['antiStallThreshold (N-37)', 'antiStallThreshold', 8],
  ['stepValidationEnabled (N-38)', 'stepValidationEnabled', false],
  ['adaptiveReplanEnabled (N-39)', 'adaptiveReplanEnabled', false],
  ['subagentPlanningEnabled (N-40)', 'subagentPlanningEnabled', false],
] as const)(
  'has the default of the sources for %s, and takes another one from the folder',
  async (_row, flag, usual) => {
    const other = typeof usual === 'number' ? usual + 1 : !usual;
    await write('other', 'config.json', { [flag]: other });
    const profiles = await open();
    expect(find(profiles, 'default')?.[flag]).toBe(usual);
    expect(find(profiles, 'other')?.[flag]).toBe(other);
  },
);

it('lets a folder called default override the default profile; its tools stay those of config.json unless it lists its own', async () => {
  await write('default', 'system_prompt.md', 'Be kind.');
  const profiles = await open();
  expect(profiles.list()).toMatchObject([
    { id: 'default', systemPrompt: 'Be kind.', enabledTools: ['read_file'] },
  ]);
  await write('default', 'config.json', { enabledTools: ['list_dir'] });
  await vi.waitFor(() => expect(profiles.list()[0]?.enabledTools).toEqual(['list_dir']), WAIT);
});

it('reports all errors together by file and field, and does not start if there are any', async () => {
  await write('coder', 'config.json', { maxIterations: 0, think_enabled: true, enabledTools: 'exec' });
  await write('poet', 'config.json', { enabledTools: ['sing'], subagentTools: ['exec', 'dance'] });
  await write('Bad Name', 'system_prompt.md', 'x');
  await write('broken', 'config.json', '{"model": ');
  await write('long', 'system_prompt.md', 'x'.repeat(MAX_PROFILE_FILE_BYTES + 1));
  await write('list', 'config.json', []);
  await write('far', 'config.json', { model: 'gpo/qwen3' });
  await write('near', 'config.json', { model: 'gpu/qwen3' });
  const error = await open().catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: 'bad_profiles' });
  const text = String(error);
  for (const part of [
    /profiles\/coder\/config\.json:1:2: maxIterations: /,
    /profiles\/coder\/config\.json:1:20: think_enabled: there is no such field/,
    /profiles\/coder\/config\.json:1:\d+: enabledTools: /,
    /profiles\/poet\/config\.json:1:\d+: enabledTools\.0: there is no tool "sing"; the tools are list_dir, read_file, memory, exec/,
    /profiles\/poet\/config\.json:1:\d+: subagentTools\.1: there is no tool "dance"/,
    /profiles\/Bad Name: .*1 to 32/,
    /profiles\/broken\/config\.json:1:11: a value is expected here/,
    /profiles\/long\/system_prompt\.md: is too long: 65537 bytes; at most 65536 are allowed/,
    /profiles\/list\/config\.json:1:\d+: the file: /,
    /profiles\/far\/config\.json:1:\d+: model: is not valid: no provider has gpo\/qwen3/,
  ])
    expect(text).toMatch(part);
  expect(text).not.toContain('profiles/near');
});

it('ignores hidden folders, plain files and folders without a file of a profile', async () => {
  await mkdir(path.join(folder, '.git'), { recursive: true });
  await mkdir(path.join(folder, 'notes'));
  await writeFile(path.join(folder, 'README.md'), 'hello');
  await writeFile(path.join(folder, 'notes', 'idea.txt'), 'hello');
  await writeFile(path.join(folder, '.git', 'config.json'), 'nonsense');
  const profiles = await open();
  expect(ids(profiles)).toEqual(['default']);
  expect(profiles.errors()).toEqual([]);
});

it('reads changes, new folders and removals while it runs; an unchanged profile stays the same object (N-73)', async () => {
  await write('coder', 'system_prompt.md', 'old');
  await write('poet', 'system_prompt.md', 'rhyme');
  const profiles = await open();
  const before = profiles.list();
  await write('coder', 'system_prompt.md', 'new');
  await vi.waitFor(() => expect(find(profiles, 'coder')?.systemPrompt).toBe('new'), WAIT);
  expect(find(profiles, 'poet')).toBe(before.find(({ id }) => id === 'poet'));
  await mkdir(path.join(folder, 'late'));
  await vi.waitFor(() => expect(ids(profiles)).toEqual(['default', 'coder', 'poet']), WAIT);
  await write('late', 'config.json', { description: 'Came later' });
  await vi.waitFor(() => expect(find(profiles, 'late')?.description).toBe('Came later'), WAIT);
  await rm(path.join(folder, 'coder'), { recursive: true });
  await vi.waitFor(() => expect(ids(profiles)).toEqual(['default', 'late', 'poet']), WAIT);
});

it('detects by polling the changes that the file system does not report', async () => {
  const profiles = await open(30);
  await rm(folder, { recursive: true });
  await vi.waitFor(() => expect(profiles.errors()).toHaveLength(1), WAIT);
  await write('coder', 'config.json', {});
  await vi.waitFor(() => expect(ids(profiles)).toEqual(['default', 'coder']), WAIT);
  expect(profiles.errors()).toEqual([]);
});

it('refuses a chain of fallbacks that returns to an earlier model, and names them', async () => {
  await write('circle', 'config.json', { model: 'a', fallbacks: ['b', 'a'] });
  await write('twice', 'config.json', { fallbacks: ['b', 'c', 'b'] });
  await write('chain', 'config.json', { model: 'a', fallbacks: ['b', 'c'] });
  const refused = String(await open().catch((error: unknown) => error));
  expect(refused).toMatch(/circle\/config\.json:1:\d+: fallbacks\.1: .*: a → b → a$/m);
  expect(refused).toMatch(/twice\/config\.json:1:\d+: fallbacks\.2: .*: b → c → b$/m);
  expect(refused).not.toContain('profiles/chain');
});

it('keeps the last valid content of an invalid file, logs this once, and recovers', async () => {
  await write('coder', 'config.json', { maxIterations: 7 });
  const profiles = await open();
  await write('coder', 'config.json', { maxIterations: 'many' });
  await vi.waitFor(() => expect(profiles.errors()).toHaveLength(1), WAIT);
  expect(profiles.errors().map((problem) => inEnglish.text(problem))[0]).toMatch(
    /^profiles\/coder\/config\.json:1:2: maxIterations: /,
  );
  expect(find(profiles, 'coder')?.maxIterations).toBe(7);
  await write('poet', 'config.json', {});
  await vi.waitFor(() => expect(ids(profiles)).toEqual(['default', 'coder', 'poet']), WAIT);
  expect(logged.filter((line) => line.includes('maxIterations'))).toHaveLength(1);
  await write('coder', 'config.json', { maxIterations: 8 });
  await vi.waitFor(() => expect(find(profiles, 'coder')?.maxIterations).toBe(8), WAIT);
  expect(profiles.errors()).toEqual([]);
});

it('never uses a prompt from before a reload, and builds an unchanged one only once (N-72)', async () => {
  await write('coder', 'system_prompt.md', 'old words');
  await write('poet', 'system_prompt.md', 'rhyme');
  const profiles = await open();
  const noTools: Tool[] = [];
  const prepare = createPreparation({ tools: () => noTools });
  const poet = prepare(find(profiles, 'poet')!);
  expect(prepare(find(profiles, 'coder')!).system.content).toContain('old words');
  await write('coder', 'system_prompt.md', 'new words');
  await vi.waitFor(
    () => expect(prepare(find(profiles, 'coder')!).system.content).toContain('new words'),
    WAIT,
  );
  expect(prepare(find(profiles, 'coder')!).system.content).not.toContain('old words');
  expect(prepare(find(profiles, 'poet')!)).toBe(poet);
});

it(`reads ${MAX_PROFILES} folders and reports that there are more`, async () => {
  const all = Array.from({ length: MAX_PROFILES + 1 }, (_, n) => `p${String(n).padStart(3, '0')}`);
  for (const id of all.slice(0, -1)) await write(id, 'config.json', {});
  const profiles = await open(30);
  expect(profiles.list()).toHaveLength(MAX_PROFILES + 1);
  await write(all.at(-1)!, 'config.json', {});
  await vi.waitFor(
    () =>
      expect(profiles.errors().map((problem) => inEnglish.text(problem))).toEqual([
        expect.stringMatching(/at most 100 folders are allowed; 1 more.*"p100"/),
      ]),
    WAIT,
  );
  expect(profiles.list()).toHaveLength(MAX_PROFILES + 1);
});
