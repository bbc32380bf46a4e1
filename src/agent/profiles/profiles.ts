/** The current profiles: read at the start, and again when their files change (N-73). */
import { mkdir } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { ConfigError, toGatewayError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import {
  type ApplySettings,
  type FolderWatch,
  problemAt,
  type ReadJson,
  type WatchFolders,
} from '../../protocol/settings.ts';
import type { BuiltInProfiles } from './built-in.ts';
import { inEnglish, textRef, type TextRef } from '../../protocol/texts/say.ts';
import { withItems } from '../../lib/text.ts';
import {
  checkProfile,
  type ProfileRead,
  type ProfileRules,
  type ProfilesRead,
  type ProfileTexts,
  readProfiles,
} from './read-profiles.ts';

export interface ProfilesOptions {
  /** `$GATEWAY_HOME/profiles`; it is made when it is missing. */
  folder: string;
  /** Reads the `config.json` of a profile. */
  readJson: ReadJson;
  /** Reports changes in folders. */
  watch: WatchFolders;
  log: Log;
}

export interface Profiles {
  /** Reads the folder and watches it. Throws one `ConfigError` that names every error, because there is no earlier state to keep. */
  open(rules: ProfileRules): Promise<void>;
  /** Reads the folder for other rules and returns the function that applies them. Throws errors of the file system. */
  prepare(rules: ProfileRules): Promise<ApplySettings>;
  /** Empty before `open`; then `default` first, then the others by id, built-in ones included. A profile whose files changed is a new object, any other the same. */
  list(): readonly Profile[];
  /** The profile that files with these texts would be; nothing is stored. Throws before `open`. */
  check(id: string, texts: ProfileTexts): ProfileRead;
  /** The profiles that exist without files. Throws before `open`. */
  builtIn(): BuiltInProfiles;
  /** Reads the folder again now. Never throws. */
  reload(): Promise<void>;
  /** Current errors in the files, by file and field; the last valid content stays in use. */
  errors(): readonly TextRef[];
  close(): Promise<void>;
}

/** Creates the profiles; none is read before `open`. */
export function createProfiles({ folder, readJson, watch, log }: ProfilesOptions): Profiles {
  const loaded = new Map<string, Profile>();
  let list: readonly Profile[] = [];
  let current: ProfileRules | undefined;
  let watcher: FolderWatch | undefined;
  let errors: readonly TextRef[] = [];

  const apply = ({ reads, folders }: ProfilesRead, { usual, others: builtIn }: BuiltInProfiles): void => {
    for (const id of keepRead(loaded, reads)) log.info({ profile: id }, 'profile_loaded');
    list = keepUnchanged(list, inOrder(loaded, usual, builtIn));
    setErrors(reads.flatMap((read) => read.errors));
    watcher?.folders([folder, ...folders]);
  };
  const setErrors = (problems: readonly TextRef[]): void => {
    const texts = new Set(errors.map((problem) => inEnglish.text(problem)));
    const newTexts = problems.map((problem) => inEnglish.text(problem)).filter((error) => !texts.has(error));
    if (newTexts.length > 0) log.error({ errors: newTexts }, 'profiles_invalid');
    errors = problems;
  };
  let last: Promise<void> = Promise.resolve();
  const reload = async (): Promise<void> => {
    const rules = current;
    if (rules === undefined) return;
    try {
      const read = await readProfiles(folder, rules, readJson);
      if (rules === current) apply(read, rules);
    } catch (error) {
      const detail = toGatewayError(error).message;
      setErrors([problemAt('profiles', textRef('problem.folder_unreadable', { detail }))]);
    }
  };
  return {
    check: (id, texts) => checkProfile(id, texts, opened(current), readJson),
    builtIn: () => opened(current),
    reload: () => (last = last.then(reload)),
    async open(rules) {
      current = rules;
      watcher = watch(() => void (last = last.then(reload)));
      await openFolder(folder, watcher, async () => {
        await reload();
        return errors;
      });
    },
    async prepare(rules) {
      const read = await readProfiles(folder, rules, readJson);
      return () => {
        current = rules;
        apply(read, rules);
        // A file may have changed since it was read.
        last = last.then(reload);
      };
    },
    list: () => list,
    errors: () => errors,
    async close() {
      watcher?.close();
      await last;
    },
  };
}

function opened(rules: ProfileRules | undefined): ProfileRules {
  if (rules === undefined) throw new ConfigError('bad_profiles', 'The profiles are not read yet.');
  return rules;
}

/** Makes the folder and reads it for the first time; `read` returns the errors in it. Throws `ConfigError`, and watches no longer then. */
async function openFolder(
  folder: string,
  watcher: FolderWatch,
  read: () => Promise<readonly TextRef[]>,
): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    const errors = await read();
    if (errors.length > 0) throw cannotBeUsed(errors.map((problem) => inEnglish.text(problem)));
  } catch (error) {
    watcher.close();
    if (error instanceof ConfigError) throw error;
    throw cannotBeUsed([`profiles: ${toGatewayError(error).message}`]);
  }
}

/**
 * Brings what is kept up to date; returns the ids that are new or have changed. A file with an error leaves what was
 * kept.
 */
function keepRead(profiles: Map<string, Profile>, reads: ProfilesRead['reads']): string[] {
  for (const id of profiles.keys()) if (!reads.some((read) => read.id === id)) profiles.delete(id);
  const loaded: string[] = [];
  for (const { id, profile } of reads) {
    if (profile === undefined || isDeepStrictEqual(profiles.get(id), profile)) continue;
    profiles.set(id, profile);
    loaded.push(id);
  }
  return loaded;
}

/** `default` first, then the others by id; a file wins over a built-in profile of its id. */
function inOrder(
  byId: ReadonlyMap<string, Profile>,
  usual: Profile,
  builtIn: readonly Profile[],
): readonly Profile[] {
  const others = [
    ...builtIn.filter(({ id }) => !byId.has(id)),
    ...[...byId.values()].filter(({ id }) => id !== 'default'),
  ];
  return [byId.get('default') ?? usual, ...others.toSorted((a, b) => (a.id < b.id ? -1 : 1))];
}

/** The next list with the objects of the last one that did not change; the last list itself if nothing changed at all. */
function keepUnchanged(last: readonly Profile[], next: readonly Profile[]): readonly Profile[] {
  const same = next.map((profile) => last.find((other) => isDeepStrictEqual(other, profile)) ?? profile);
  return same.length !== last.length || same.some((profile, at) => profile !== last[at]) ? same : last;
}

function cannotBeUsed(errors: readonly string[]): ConfigError {
  return new ConfigError('bad_profiles', withItems('The profiles in GATEWAY_HOME cannot be used:', errors));
}
