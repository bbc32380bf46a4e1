/** The current profiles: read at the start, and again when their files change (N-73). */
import { mkdir } from 'node:fs/promises';
import { ConfigError, toGatewayError } from '../../contracts/errors.ts';
import type { Log } from '../../contracts/log.ts';
import type { Profile } from '../../contracts/profile.ts';
import { readProfiles } from './read-profiles.ts';
import type { ProfileRead, ProfileRules } from './read-profiles.ts';
import { watchFolders } from './watch-folders.ts';

export interface ProfilesOptions {
  /** `$GATEWAY_HOME/profiles`; it is made when it is missing. */
  folder: string;
  log: Log;
  /** Poll interval in milliseconds, beside the notifications of the file system. */
  pollMs?: number;
}

export interface Profiles {
  /** Reads the folder and watches it. Throws one `ConfigError` that names every error, because there is no earlier state to keep. */
  open(rules: ProfileRules): Promise<void>;
  /** Empty before `open`; then `default` first, then the others by id. A profile whose files changed is a new object, any other the same. */
  list(): readonly Profile[];
  /** Current errors in the files, by file and field; the last valid content stays in use. */
  errors(): readonly string[];
  close(): Promise<void>;
}

/** Creates the profiles; none is read before `open`. */
export function createProfiles({ folder, log, pollMs }: ProfilesOptions): Profiles {
  const kept = new Map<string, { source: string; profile: Profile }>();
  let list: readonly Profile[] = [];
  let watcher: ReturnType<typeof watchFolders> | undefined;
  let errors: readonly string[] = [];

  const apply = (reads: readonly ProfileRead[], usual: Profile): void => {
    for (const id of kept.keys()) if (!reads.some((read) => read.id === id)) kept.delete(id);
    for (const { id, source, profile } of reads) {
      if (profile === undefined || kept.get(id)?.source === source) continue;
      kept.set(id, { source, profile });
      log.info({ profile: id }, 'profile_loaded');
    }
    const others = [...kept.values()].map(({ profile }) => profile).filter(({ id }) => id !== 'default');
    const next = [
      kept.get('default')?.profile ?? usual,
      ...others.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    ];
    if (next.length !== list.length || next.some((profile, at) => profile !== list[at])) list = next;
    setErrors(reads.flatMap((read) => read.errors));
  };
  const setErrors = (found: readonly string[]): void => {
    const added = found.filter((error) => !errors.includes(error));
    if (added.length > 0) log.error({ errors: added }, 'profiles_invalid');
    errors = found;
  };

  let last: Promise<void> = Promise.resolve();
  const reload = async (rules: ProfileRules): Promise<void> => {
    try {
      const { reads, folders } = await readProfiles(folder, rules);
      apply(reads, rules.usual);
      watcher?.folders([folder, ...folders]);
    } catch (error) {
      setErrors([`profiles: the folder cannot be read (${toGatewayError(error).message})`]);
    }
  };
  return {
    async open(rules) {
      watcher = watchFolders(() => void (last = last.then(() => reload(rules))), log, pollMs);
      try {
        await mkdir(folder, { recursive: true });
        await reload(rules);
        if (errors.length > 0) throw cannotBeUsed(errors);
      } catch (error) {
        watcher.close();
        throw error instanceof ConfigError
          ? error
          : cannotBeUsed([`profiles: ${toGatewayError(error).message}`]);
      }
    },
    list: () => list,
    errors: () => errors,
    async close() {
      watcher?.close();
      await last;
    },
  };
}

function cannotBeUsed(errors: readonly string[]): ConfigError {
  const lines = errors.map((error) => `  - ${error}`).join('\n');
  return new ConfigError('bad_profiles', `The profiles in GATEWAY_HOME cannot be used:\n${lines}`);
}
