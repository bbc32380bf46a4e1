/** Reads `profiles/` in GATEWAY_HOME: a folder is a profile, checked whole, every fault told by file and field. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { cleanText } from '../../lib/text.ts';
import { PROFILE_ID, profileSchema } from '../../contracts/profile.ts';
import type { Profile } from '../../contracts/profile.ts';

/** Profiles a house may have. */
export const MAX_PROFILES = 100;
/** Longest file of a profile, in bytes: a prompt is part of every call. */
export const MAX_PROFILE_FILE_BYTES = 64 * 1024;

const CONFIG = 'config.json';
const PROMPT = 'system_prompt.md';
const SUBAGENT_PROMPT = 'subagent_system_prompt.md';
const FILES = [CONFIG, PROMPT, SUBAGENT_PROMPT] as const;

/** What profiles are measured by. */
export interface ProfileRules {
  /** The profile `default` when no folder says otherwise; persona and prompts of it stand in where a folder has none. */
  usual: Profile;
  /** Tools there are. */
  toolNames: readonly string[];
}

/** One folder. `profile` is undefined when it has faults; the same `source` always gives an equal profile. */
export interface ProfileRead {
  id: string;
  source: string;
  profile?: Profile | undefined;
  faults: string[];
}

/** All that lies in the folder of profiles. */
export interface ProfilesRead {
  reads: ProfileRead[];
  /** The folders in it, those that are no profile yet included. */
  folders: string[];
}

/** Reads every folder. One that holds none of a profile's files is no profile. Throws what the file system throws. */
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

/** A file's words, why it cannot be read, or undefined when it is not there. */
type Text = { words: string } | { fault: string } | undefined;
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
      return { fault: `is too long: ${size} bytes, and ${MAX_PROFILE_FILE_BYTES} are allowed` };
    }
    return { words: cleanText(await readFile(file, 'utf8')) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    // Neither the file nor, when this is no folder, anything below it.
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : { fault: `cannot be read (${code})` };
  }
}

function readProfile(id: string, texts: Texts, rules: ProfileRules): ProfileRead {
  const faults: string[] = [];
  if (!PROFILE_ID.test(id)) {
    faults.push(`profiles/${id}: a profile's name has 1 to 32 of the characters a-z, 0-9, "-" and "_"`);
  }
  const words = (name: (typeof FILES)[number]): string | undefined => {
    const text = texts[name];
    if (text !== undefined && 'fault' in text) faults.push(`profiles/${id}/${name}: ${text.fault}`);
    return text !== undefined && 'words' in text ? text.words : undefined;
  };
  const [config, systemPrompt, subagentSystemPrompt] = FILES.map(words);
  const source = JSON.stringify([config, systemPrompt, subagentSystemPrompt, faults]);
  const settings = readSettings(config ?? '{}', id, rules, (fault) =>
    faults.push(`profiles/${id}/${CONFIG}: ${fault}`),
  );
  if (settings === undefined || faults.length > 0) return { id, source, faults };
  const { persona, ...usual } = rules.usual;
  const profile: Profile = {
    ...settings,
    id,
    persona,
    systemPrompt: systemPrompt?.trim() ?? usual.systemPrompt,
    subagentSystemPrompt: subagentSystemPrompt?.trim() ?? usual.subagentSystemPrompt,
  };
  return { id, source, profile, faults };
}

function readSettings(
  config: string,
  id: string,
  { usual, toolNames }: ProfileRules,
  fault: (text: string) => void,
): ReturnType<typeof profileSchema.parse> | undefined {
  let given: unknown;
  try {
    given = JSON.parse(config);
  } catch (error) {
    fault(`is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
  const { success, data, error } = profileSchema.safeParse(given);
  if (!success) {
    for (const issue of error.issues) fault(`${issue.path.join('.') || 'the file'}: ${issue.message}`);
    return undefined;
  }
  for (const field of ['enabledTools', 'subagentTools'] as const) {
    for (const name of data[field].filter((tool) => !toolNames.includes(tool))) {
      fault(`${field}: there is no tool "${name.slice(0, 80)}"; the tools are ${toolNames.join(', ')}`);
    }
  }
  // What the default profile may do is said in the house's own config.json, unless its folder says it.
  const named = typeof given === 'object' && given !== null && 'enabledTools' in given;
  return id === 'default' && !named ? { ...data, enabledTools: usual.enabledTools } : data;
}

function tooMany(ids: readonly string[]): ProfileRead {
  const fault = `profiles: there may be ${MAX_PROFILES} folders; ${ids.length} more are not read, from "${ids[0] ?? ''}" on`;
  return { id: '', source: '', faults: [fault] };
}
