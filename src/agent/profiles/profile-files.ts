/** The files of profiles, read and changed for the form of the page: checked as a whole before anything is written. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  type Profile,
  PROFILE_ID,
  type ProfileChanged,
  type ProfileEdit,
  type ProfileFiles,
  type ProfileRemoved,
  type ProfileReport,
  profileSchema,
} from '../../protocol/agent/profile.ts';
import { errorCode, GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import type { Administration } from '../../protocol/operator/administration.ts';
import { problemAt, type ReadJson } from '../../protocol/settings.ts';
import { textRef, type TextRef, type TextTable } from '../../protocol/texts/say.ts';
import type { Profiles } from './profiles.ts';
import { jsonProblems, MAX_PROFILES, PROFILE_FILES, type ProfileTexts, tooLong } from './read-profiles.ts';

/** What a new profile has in its `config.json`. */
const EMPTY = '{}\n';
/** A prompt that a profile does not have itself. */
const OF_DEFAULT = null;

export interface ProfileFilesOptions {
  /** `$GATEWAY_HOME/profiles`. */
  folder: string;
  profiles: Profiles;
  readJson: ReadJson;
  /** The text with a field set or removed; comments stay. Throws `GatewayError('usage')`. */
  edited: (text: string, field: readonly string[], value: unknown) => string;
  /** Replaces a file as a whole. Throws `GatewayError('unwritable')`. */
  write: (file: string, text: string) => void;
  /** The JSON Schema of a profile, described by a table. */
  schema: (texts: TextTable) => ProfileReport['schema'];
  log: Log;
}

/** Creates the form's view of profiles. Reading and writing are one step of this process, so no edit through it is lost. */
export function createProfileFiles(
  options: ProfileFilesOptions,
): ProfileFiles & Pick<Administration, 'profiles'> {
  const { folder, profiles, log } = options;
  const store = async (id: string, previous: ProfileTexts, next: ProfileTexts): Promise<ProfileChanged> => {
    const problems = [...tooLong(id, next), ...profiles.check(id, next).errors];
    if (problems.length > 0) return { kind: 'refused', problems };
    for (const name of PROFILE_FILES) {
      const [file, text] = [path.join(folder, id, name), next[name]];
      if (text === previous[name]) continue;
      if (text === undefined) remove(file);
      else options.write(file, text);
    }
    log.info({ profile: id }, 'profile_changed');
    await profiles.reload();
    return { kind: 'changed', version: versionOf(next) };
  };
  const find = (id: string) => findProfile(options, id);
  return {
    profiles: () => ({ profiles: profiles.list(), errors: profiles.errors() }),
    profile: (id, texts) => report(options, id, texts),
    async createProfile(id) {
      if (!PROFILE_ID.test(id)) return refused(nameProblem(id, textRef('problem.name_form')));
      if (find(id) !== undefined) return refused(nameProblem(id, textRef('problem.name_taken')));
      if (foldersIn(folder) >= MAX_PROFILES)
        return refused(nameProblem(id, textRef('problem.no_room', { most: MAX_PROFILES })));
      return await store(id, {}, { 'config.json': EMPTY });
    },
    async changeProfile(id, version, edit) {
      const match = find(id);
      if (match === undefined) return { kind: 'unknown' };
      const { stored: storedTexts, texts } = match;
      if (versionOf(texts) !== version) return { kind: 'stale' };
      const { errors } = options.readJson(texts['config.json'] ?? EMPTY);
      if (errors.length > 0) return refused(...jsonProblems(id, errors));
      return await store(id, storedTexts, editedTexts(texts, edit, options.edited));
    },
    async removeProfile(id, version): Promise<ProfileRemoved> {
      const match = find(id);
      if (match === undefined) return { kind: 'unknown' };
      const { stored: storedTexts, texts, builtIn } = match;
      if (builtIn !== undefined && isEmpty(storedTexts)) return { kind: 'built_in' };
      if (versionOf(texts) !== version) return { kind: 'stale' };
      for (const name of PROFILE_FILES) remove(path.join(folder, id, name));
      removeEmpty(path.join(folder, id));
      log.info({ profile: id }, 'profile_removed');
      await profiles.reload();
      return { kind: 'removed', isBuiltIn: builtIn !== undefined };
    },
  };
}

interface Found {
  /** Its files as they are. */
  stored: ProfileTexts;
  /** The same; of a built-in profile without files, those that would make the same profile. */
  texts: ProfileTexts;
  builtIn: Profile | undefined;
}

function findProfile({ folder, profiles }: ProfileFilesOptions, id: string): Found | undefined {
  if (!PROFILE_ID.test(id)) return undefined;
  const texts = Object.fromEntries(
    PROFILE_FILES.map((name) => [name, textOf(path.join(folder, id, name))]),
  ) as ProfileTexts;
  const { usual, others } = profiles.builtIn();
  const builtIn = [usual, ...others].find((profile) => profile.id === id);
  if (!isEmpty(texts)) return { stored: texts, texts, builtIn };
  return builtIn && { stored: texts, texts: textsOf(builtIn, usual), builtIn };
}

function report(options: ProfileFilesOptions, id: string, table: TextTable): ProfileReport | undefined {
  const match = findProfile(options, id);
  if (match === undefined) return undefined;
  const { stored: storedTexts, texts, builtIn } = match;
  const { profile, errors } = options.profiles.check(id, texts);
  return {
    id,
    folder: path.join(options.folder, id),
    version: versionOf(texts),
    isBuiltIn: builtIn !== undefined,
    hasFiles: !isEmpty(storedTexts),
    schema: options.schema(table),
    written: options.readJson(texts['config.json'] ?? EMPTY).value,
    values: profile ?? {},
    systemPrompt: texts['system_prompt.md'] ?? OF_DEFAULT,
    subagentSystemPrompt: texts['subagent_system_prompt.md'] ?? OF_DEFAULT,
    errors,
  };
}

/** Files that make the same profile as a built-in one: what differs from the defaults, and its own prompts. */
function textsOf(builtIn: Profile, usual: Profile): ProfileTexts {
  // A folder `default` leaves the tools and the rest to the gateway's configuration.
  if (builtIn === usual) return {};
  const defaults = new Map<string, unknown>(Object.entries(profileSchema.parse({})));
  const { id: _id, persona: _persona, systemPrompt, subagentSystemPrompt, ...settings } = builtIn;
  const changes = Object.entries(settings).filter(
    ([name, value]) => name === 'enabledTools' || !isDeepStrictEqual(value, defaults.get(name)),
  );
  return {
    'config.json': `${JSON.stringify(Object.fromEntries(changes), undefined, 2)}\n`,
    'system_prompt.md': `${systemPrompt}\n`,
    ...(subagentSystemPrompt !== usual.subagentSystemPrompt && {
      'subagent_system_prompt.md': `${subagentSystemPrompt}\n`,
    }),
  };
}

function editedTexts(
  texts: ProfileTexts,
  { changes, systemPrompt, subagentSystemPrompt }: ProfileEdit,
  edited: ProfileFilesOptions['edited'],
): ProfileTexts {
  const prompt = (name: keyof ProfileTexts, value: string | null | undefined): string | undefined =>
    value === undefined ? texts[name] : (value ?? undefined);
  let config = texts['config.json'];
  for (const { path: field, value } of changes) config = edited(config ?? EMPTY, field.map(String), value);
  return {
    // Without any file the folder would be no profile.
    'config.json': config ?? EMPTY,
    'system_prompt.md': prompt('system_prompt.md', systemPrompt),
    'subagent_system_prompt.md': prompt('subagent_system_prompt.md', subagentSystemPrompt),
  };
}

function versionOf(texts: ProfileTexts): string {
  const all = PROFILE_FILES.map((name) => texts[name] ?? null);
  return createHash('sha256').update(JSON.stringify(all)).digest('base64url').slice(0, 22);
}

function isEmpty(texts: ProfileTexts): boolean {
  return PROFILE_FILES.every((name) => texts[name] === undefined);
}

function nameProblem(id: string, problem: TextRef): TextRef {
  return problemAt(textRef('problem.profile_name', { name: id.slice(0, 80) }), problem);
}

function refused(...problems: TextRef[]): ProfileChanged {
  return { kind: 'refused', problems };
}

function foldersIn(folder: string): number {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith('.')).length;
  } catch (error) {
    throw unwritable(folder, error);
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw unwritable(file, error);
  }
}

function remove(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch (error) {
    throw unwritable(file, error);
  }
}

/** The folder stays if it has other files, or is a link. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'ENOENT'].includes(errorCode(error) ?? ''))
      throw unwritable(folder, error);
  }
}

function unwritable(file: string, cause: unknown): GatewayError {
  const { message } = toGatewayError(cause);
  return new GatewayError('unwritable', `${file} cannot be read or written: ${message}`, { cause });
}
