/** Reads `profiles/` in GATEWAY_HOME: each folder is a profile, validated as a whole; every error is reported by file and field. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { cleanText } from '../../lib/text.ts';
import { type Profile, PROFILE_ID, profileSchema } from '../../protocol/agent/profile.ts';
import {
  type FieldPath,
  type JsonText,
  problemAt,
  problemOfField,
  type ReadJson,
  schemaProblems,
} from '../../protocol/settings.ts';
import type { BuiltInProfiles } from './built-in.ts';
import { errorCode } from '../../protocol/errors.ts';
import { textRef, type TextRef } from '../../protocol/texts/say.ts';

/** Most profiles that are read. */
export const MAX_PROFILES = 100;
/** Longest file of a profile, in bytes: a prompt is part of every call. */
export const MAX_PROFILE_FILE_BYTES = 64 * 1024;

const CONFIG = 'config.json';
const PROMPT = 'system_prompt.md';
const SUBAGENT_PROMPT = 'subagent_system_prompt.md';
/** The files of a profile, in its folder. */
export const PROFILE_FILES = [CONFIG, PROMPT, SUBAGENT_PROMPT] as const;

/** The contents of these files; undefined for a file that does not exist. */
export type ProfileTexts = { readonly [name in (typeof PROFILE_FILES)[number]]?: string | undefined };

/** Defaults and names that profiles are checked against. Persona, prompts and tools of `usual` are used where a folder has none. */
export interface ProfileRules extends BuiltInProfiles {
  /** Names of the tools that exist. */
  toolNames: readonly string[];
  /** True for the name of a tool that may come later, from an MCP server. */
  mayCome?: (toolName: string) => boolean;
  /** Why no server can have a model of that name; undefined when one may. */
  modelProblem?: (model: string) => TextRef | undefined;
}

/** One folder. `profile` is undefined when it has errors. */
export interface ProfileRead {
  id: string;
  profile?: Profile | undefined;
  errors: TextRef[];
}

/** Content of the profiles folder. */
export interface ProfilesRead {
  reads: ProfileRead[];
  /** The folders in it, including those that are not a profile yet. */
  folders: string[];
}

/** Reads every folder. A folder without any of a profile's files is not a profile. Throws file system errors. */
export async function readProfiles(
  folder: string,
  rules: ProfileRules,
  readJson: ReadJson,
): Promise<ProfilesRead> {
  const entries = await readdir(folder, { withFileTypes: true });
  const ids = entries
    .filter((entry) => !entry.name.startsWith('.') && (entry.isDirectory() || entry.isSymbolicLink()))
    .map((entry) => entry.name)
    .toSorted();
  const reads: ProfileRead[] = [];
  for (const id of ids.slice(0, MAX_PROFILES)) {
    const texts = await readTexts(path.join(folder, id));
    if (texts !== undefined) reads.push(readProfile(id, texts, rules, readJson));
  }
  if (ids.length > MAX_PROFILES) reads.push(tooMany(ids.slice(MAX_PROFILES)));
  return { reads, folders: ids.slice(0, MAX_PROFILES).map((id) => path.join(folder, id)) };
}

/** The text of a file, the error of reading it, or undefined when it does not exist. */
type Text = { content: string } | { error: TextRef } | undefined;
type Texts = Record<(typeof PROFILE_FILES)[number], Text>;

async function readTexts(folder: string): Promise<Texts | undefined> {
  const texts: Texts = { [CONFIG]: undefined, [PROMPT]: undefined, [SUBAGENT_PROMPT]: undefined };
  for (const name of PROFILE_FILES) texts[name] = await readText(path.join(folder, name));
  return PROFILE_FILES.some((name) => texts[name] !== undefined) ? texts : undefined;
}

async function readText(file: string): Promise<Text> {
  try {
    const { size } = await stat(file);
    if (size > MAX_PROFILE_FILE_BYTES) {
      return { error: longText(size) };
    }
    return { content: cleanText(await readFile(file, 'utf8')) };
  } catch (error) {
    const code = errorCode(error) || 'unreadable';
    // The file does not exist, or its folder is not a folder.
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? undefined
      : { error: textRef('problem.unreadable', { code }) };
  }
}

/** The same for texts that are not stored yet. */
export function checkProfile(
  id: string,
  texts: ProfileTexts,
  rules: ProfileRules,
  readJson: ReadJson,
): ProfileRead {
  const textOf = (name: (typeof PROFILE_FILES)[number]): Text => {
    const content = texts[name];
    return content === undefined ? undefined : { content };
  };
  const all = {
    [CONFIG]: textOf(CONFIG),
    [PROMPT]: textOf(PROMPT),
    [SUBAGENT_PROMPT]: textOf(SUBAGENT_PROMPT),
  };
  return readProfile(id, all, rules, readJson);
}

/** Which of these texts are too long to be read. */
export function tooLong(id: string, texts: ProfileTexts): TextRef[] {
  return PROFILE_FILES.flatMap((name) => {
    const size = Buffer.byteLength(texts[name] ?? '');
    return size > MAX_PROFILE_FILE_BYTES ? [problemAt(`profiles/${id}/${name}`, longText(size))] : [];
  });
}

function longText(size: number): TextRef {
  return textRef('problem.too_long', { size, most: MAX_PROFILE_FILE_BYTES });
}

function readProfile(id: string, texts: Texts, rules: ProfileRules, readJson: ReadJson): ProfileRead {
  const errors: TextRef[] = [];
  if (!PROFILE_ID.test(id)) {
    errors.push(problemAt(`profiles/${id}`, textRef('problem.profile_id')));
  }
  const contentOf = (name: (typeof PROFILE_FILES)[number]): string | undefined => {
    const text = texts[name];
    if (text !== undefined && 'error' in text) errors.push(problemAt(`profiles/${id}/${name}`, text.error));
    return text !== undefined && 'content' in text ? text.content : undefined;
  };
  const [config, systemPrompt, subagentSystemPrompt] = PROFILE_FILES.map(contentOf);
  const json = readJson(config ?? '{}');
  errors.push(...jsonProblems(id, json.errors));
  const settings = readSettings(json.value, id, rules, (path, problem) => {
    errors.push(problemAt(`profiles/${id}/${CONFIG}${json.placeOf(path)}`, problemOfField(path, problem)));
  });
  if (settings === undefined || errors.length > 0) return { id, errors };
  const { persona, ...usual } = rules.usual;
  const profile: Profile = {
    ...settings,
    id,
    persona,
    systemPrompt: systemPrompt?.trim() ?? usual.systemPrompt,
    subagentSystemPrompt: subagentSystemPrompt?.trim() ?? usual.subagentSystemPrompt,
  };
  return { id, profile, errors };
}

/** The errors in the syntax of a profile's `config.json`. */
export function jsonProblems(id: string, errors: JsonText['errors']): TextRef[] {
  return errors.map(({ place, what: problem }) => problemAt(`profiles/${id}/${CONFIG}${place}`, problem));
}

function readSettings(
  value: unknown,
  id: string,
  { usual, toolNames, mayCome, modelProblem }: ProfileRules,
  report: (path: FieldPath, what: TextRef) => void,
): ReturnType<typeof profileSchema.parse> | undefined {
  const { success, data, error } = profileSchema.safeParse(value);
  if (!success) {
    for (const { path: at, what: text } of schemaProblems(error)) report(at, text);
    return undefined;
  }
  const names = (field: string): boolean => typeof value === 'object' && value !== null && field in value;
  for (const field of ['enabledTools', 'subagentTools'] as const) {
    if (!names(field)) continue;
    for (const [at, name] of data[field].entries()) {
      if (toolNames.includes(name) || mayCome?.(name) === true) continue;
      report(
        [field, at],
        textRef('problem.no_tool', { name: name.slice(0, 80), tools: toolNames.join(', ') }),
      );
    }
  }
  const problem = data.model === undefined ? undefined : modelProblem?.(data.model);
  if (problem !== undefined) report(['model'], problem);
  const chain = [...(data.model === undefined ? [] : [data.model]), ...data.fallbacks];
  for (const [at, name] of data.fallbacks.entries()) {
    if (chain.indexOf(name) === chain.length - data.fallbacks.length + at) continue;
    report(['fallbacks', at], textRef('problem.chain', { chain: chain.join(' → ') }));
  }
  // The tools of the default profile are set in the gateway's config.json.
  return {
    ...data,
    ...(!names('enabledTools') && { enabledTools: usual.enabledTools }),
    ...(id === 'default' && !names('delegatesTo') && { delegatesTo: usual.delegatesTo }),
  };
}

function tooMany(ids: readonly string[]): ProfileRead {
  const problem = textRef('problem.too_many_folders', {
    most: MAX_PROFILES,
    count: ids.length,
    first: ids[0] ?? '',
  });
  return { id: '', errors: [problemAt('profiles', problem)] };
}
