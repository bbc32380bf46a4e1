/** Reads `profiles/` in GATEWAY_HOME: each folder is a profile, validated as a whole; every error is reported by file and field. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { cleanText } from '../../lib/text.ts';
import { PROFILE_ID, profileSchema } from '../../contracts/profile.ts';
import type { Profile } from '../../contracts/profile.ts';

/** Most profiles that are read. */
export const MAX_PROFILES = 100;
/** Longest file of a profile, in bytes: a prompt is part of every call. */
export const MAX_PROFILE_FILE_BYTES = 64 * 1024;

const CONFIG = 'config.json';
const PROMPT = 'system_prompt.md';
const SUBAGENT_PROMPT = 'subagent_system_prompt.md';
const FILES = [CONFIG, PROMPT, SUBAGENT_PROMPT] as const;

/** Defaults and names that profiles are checked against. */
export interface ProfileRules {
  /** The profile `default` unless a folder overrides it; its persona and prompts are used where a folder has none. */
  usual: Profile;
  /** Names of the tools that exist. */
  toolNames: readonly string[];
  /** Why no server can have a model of that name; undefined when one may. */
  modelProblem?: (model: string) => string | undefined;
}

/** One folder. `profile` is undefined when it has errors; the same `source` always gives an equal profile. */
export interface ProfileRead {
  id: string;
  source: string;
  profile?: Profile | undefined;
  errors: string[];
}

/** Content of the profiles folder. */
export interface ProfilesRead {
  reads: ProfileRead[];
  /** The folders in it, including those that are not a profile yet. */
  folders: string[];
}

/** Reads every folder. A folder without any of a profile's files is not a profile. Throws file system errors. */
export async function readProfiles(folder: string, rules: ProfileRules): Promise<ProfilesRead> {
  const entries = await readdir(folder, { withFileTypes: true });
  const ids = entries
    .filter((entry) => !entry.name.startsWith('.') && (entry.isDirectory() || entry.isSymbolicLink()))
    .map((entry) => entry.name)
    .toSorted();
  const reads: ProfileRead[] = [];
  for (const id of ids.slice(0, MAX_PROFILES)) {
    const texts = await readTexts(path.join(folder, id));
    if (texts !== undefined) reads.push(readProfile(id, texts, rules));
  }
  if (ids.length > MAX_PROFILES) reads.push(tooMany(ids.slice(MAX_PROFILES)));
  return { reads, folders: ids.slice(0, MAX_PROFILES).map((id) => path.join(folder, id)) };
}

/** The text of a file, the error of reading it, or undefined when it does not exist. */
type Text = { content: string } | { error: string } | undefined;
type Texts = Record<(typeof FILES)[number], Text>;

async function readTexts(folder: string): Promise<Texts | undefined> {
  const texts: Texts = { [CONFIG]: undefined, [PROMPT]: undefined, [SUBAGENT_PROMPT]: undefined };
  for (const name of FILES) texts[name] = await readText(path.join(folder, name));
  return FILES.some((name) => texts[name] !== undefined) ? texts : undefined;
}

async function readText(file: string): Promise<Text> {
  try {
    const { size } = await stat(file);
    if (size > MAX_PROFILE_FILE_BYTES) {
      return { error: `is too long: ${size} bytes, and ${MAX_PROFILE_FILE_BYTES} are allowed` };
    }
    return { content: cleanText(await readFile(file, 'utf8')) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    // The file does not exist, or its folder is not a folder.
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : { error: `cannot be read (${code})` };
  }
}

function readProfile(id: string, texts: Texts, rules: ProfileRules): ProfileRead {
  const errors: string[] = [];
  if (!PROFILE_ID.test(id)) {
    errors.push(`profiles/${id}: a profile's name has 1 to 32 of the characters a-z, 0-9, "-" and "_"`);
  }
  const contentOf = (name: (typeof FILES)[number]): string | undefined => {
    const text = texts[name];
    if (text !== undefined && 'error' in text) errors.push(`profiles/${id}/${name}: ${text.error}`);
    return text !== undefined && 'content' in text ? text.content : undefined;
  };
  const [config, systemPrompt, subagentSystemPrompt] = FILES.map(contentOf);
  const source = JSON.stringify([config, systemPrompt, subagentSystemPrompt, errors]);
  const settings = readSettings(config ?? '{}', id, rules, (error) =>
    errors.push(`profiles/${id}/${CONFIG}: ${error}`),
  );
  if (settings === undefined || errors.length > 0) return { id, source, errors };
  const { persona, ...usual } = rules.usual;
  const profile: Profile = {
    ...settings,
    id,
    persona,
    systemPrompt: systemPrompt?.trim() ?? usual.systemPrompt,
    subagentSystemPrompt: subagentSystemPrompt?.trim() ?? usual.subagentSystemPrompt,
  };
  return { id, source, profile, errors };
}

function readSettings(
  config: string,
  id: string,
  { usual, toolNames, modelProblem }: ProfileRules,
  report: (text: string) => void,
): ReturnType<typeof profileSchema.parse> | undefined {
  let given: unknown;
  try {
    given = JSON.parse(config);
  } catch (error) {
    report(`is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
  const { success, data, error } = profileSchema.safeParse(given);
  if (!success) {
    for (const issue of error.issues) report(`${issue.path.join('.') || 'the file'}: ${issue.message}`);
    return undefined;
  }
  for (const field of ['enabledTools', 'subagentTools'] as const) {
    for (const name of data[field].filter((tool) => !toolNames.includes(tool))) {
      report(`${field}: there is no tool "${name.slice(0, 80)}"; the tools are ${toolNames.join(', ')}`);
    }
  }
  const problem = data.model === undefined ? undefined : modelProblem?.(data.model);
  if (problem !== undefined) report(`model: ${problem}`);
  // The tools of the default profile are set in the gateway's config.json, unless its folder names them.
  const named = typeof given === 'object' && given !== null && 'enabledTools' in given;
  return id === 'default' && !named ? { ...data, enabledTools: usual.enabledTools } : data;
}

function tooMany(ids: readonly string[]): ProfileRead {
  const error = `profiles: there may be ${MAX_PROFILES} folders; ${ids.length} more are not read, from "${ids[0] ?? ''}" on`;
  return { id: '', source: '', errors: [error] };
}
